"""Views with symbolic sizes and strides against torch's: allowed for the same numbers, and on the same elements.

If one of these fails, a rule lets a view through that torch refuses (or the other way around), or gives it
other strides.
"""

import pytest
from hypothesis import HealthCheck, given, settings

from shapes import ShapeEnv
from shapes.errors import ShapeError, UndecidedGuard
from shapes.rules import rules
from shapes.symbolic.numbers import SymInt
from shapes.testing.agreement import flattened, recorded_facts
from shapes.testing.arguments import arguments_for
from shapes.testing.calls import Input

torch = pytest.importorskip("torch")
from shapes.testing.references.torch_eager import REFUSALS, tensor_of, torch_operator  # noqa: E402
from tests.effort import examples  # noqa: E402

VIEWS = [
    "view", "reshape", "view_as", "reshape_as", "flatten", "unflatten", "ravel", "transpose", "t", "T", "mT",
    "permute", "movedim", "expand", "expand_as", "broadcast_tensors", "squeeze", "unsqueeze", "atleast_2d",
    "atleast_3d", "contiguous", "view_as_complex", "getitem", "narrow", "select", "split", "chunk", "unbind",
    "tensor_split", "hsplit", "diagonal", "linalg.diagonal", "view_as_real", "real", "imag", "Tensor.unfold",
]  # fmt: skip


def places(sizes, strides, offset):
    """The strides of axes that have a second element. None where there is no element."""
    return None if 0 in sizes else (offset, [stride for size, stride in zip(sizes, strides) if size > 1])


def by_torch(name, call):
    args, kwargs = call.replaced(tensor_of)
    try:
        result = torch_operator(name)(*args, **kwargs)
    except REFUSALS:
        return None
    results = [result] if isinstance(result, torch.Tensor) else result
    return [places(one.shape, one.stride(), one.storage_offset()) for one in results]


def by_rule(name, call, *, hinted=False):
    env = ShapeEnv(origin=lambda: None)
    values = {}

    def symbol(value):
        made = env.symbol(f"n{len(values)}", hint=value if hinted else None)
        values[made.expr.atom] = value
        return made

    def symbolic(tensor):
        strides = tensor_of(tensor).stride()
        return Input(
            [symbol(size) for size in tensor],
            dtype=tensor.dtype,
            strides=[symbol(stride) for stride in strides],
            storage_offset=symbol(tensor.storage_offset),
        )

    def at(number):
        return number.expr.evaluate(values) if isinstance(number, SymInt) else number

    args, kwargs = call.replaced(symbolic)
    try:
        outputs = rules[name](env, *args, **kwargs)
    except UndecidedGuard:
        assert not hinted
        return by_rule(name, call, hinted=True)
    except ShapeError:
        return None
    if not all(fact.domain.evaluate(values) and fact.prop.evaluate(values) for fact in recorded_facts(env)):
        return None
    found = []
    for one in flattened(outputs):
        assert one.strides is not None
        found.append(places([at(n) for n in one], [at(n) for n in one.strides], at(one.storage_offset)))
    return found


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_reads_the_elements_that_torch_reads(name):
    @settings(
        max_examples=examples(20, thorough=300),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments_for(name))
    def agrees(call):
        inputs = list(call.inputs())
        if name == "getitem" and len(inputs) > 1:
            return  # what tensors pick is a copy
        if name == "expand" and any(isinstance(size, int) and size < -1 for size in call.args[1]):
            return  # torch checks sizes by how many elements there are: with none it takes any
        expected = by_torch(name, call)
        assert by_rule(name, call) == expected, (call, by_rule(name, call), expected)

    agrees()
