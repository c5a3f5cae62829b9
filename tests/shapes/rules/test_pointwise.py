"""Pointwise operators on symbolic sizes, and the dtypes of their results.

If one of these fails, a rule asks for more than it needs, or names a dtype that the operator does not give.
"""

import itertools
import operator

import pytest

from shapes import ShapeEnv
from shapes.rules import Refused, Shape, pointwise, rules
from shapes.rules.promotion import KIND, promoted
from tests.shapes.rules.expectations import told

TABLE = [
    ("mul", ("b s", "b s"), "Shape(b, s)", []),
    ("mul", ("b s 1", "8"), "Shape(b, s, 8)", []),
    ("mul", ("b", "8"), "Shape(8)", ["b == 8 or b == 1"]),
    ("mul", ("b", "s"), "Shape(s if b == 1 else b)", ["b == s or b == 1 or s == 1"]),
    ("where", ("b 1", "s", "b 1"), "Shape(b, s)", []),
    ("where", ("b s",), "(Shape(u0, dtype=int64), Shape(u0, dtype=int64))", []),
    ("add_", ("b s", "s"), "Shape(b, s)", []),
    ("add_", ("b s", "t"), "Shape(b, s)", ["s == t or t == 1"]),
    ("masked_fill_", ("b s", "b 1", 0.5), "Shape(b, s)", []),
    ("clamp", ("b s", "s"), "Shape(b, s)", []),
    ("exp", ("b s",), "Shape(b, s)", []),
    ("isnan", ("b s",), "Shape(b, s, dtype=bool)", []),
    ("allclose", ("b s", "s"), "None", []),
]


@pytest.mark.parametrize(("name", "arguments", "output", "guards"), TABLE)
def test_pointwise_operators_on_symbolic_sizes(name, arguments, output, guards):
    assert told(name, *arguments) == (output, guards)


def test_what_is_written_to_does_not_grow():
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s")
    with pytest.raises(Refused, match="the result has more axes"):
        rules["add_"](env, (s,), (b, s))
    with pytest.raises(Refused, match="the result is larger"):
        rules["add_"](env, (s, 1), (s, 4))


def test_dtypes_are_promoted_as_by_torch():
    """Fails where an operand's rank or kind counts for more, or less, than it does in torch."""
    torch = pytest.importorskip("torch")
    tensors = [Shape((2,) * rank, dtype=dtype) for dtype in KIND for rank in (0, 1) if dtype != "complex32"]

    def real(operand):
        return torch.zeros(tuple(operand), dtype=getattr(torch, operand.dtype)) if operand is not None else None

    for one, other in itertools.product(tensors, tensors):
        assert f"torch.{promoted(one, other)}" == str(torch.result_type(real(one), real(other))), (one, other)
    for one, number in itertools.product(tensors, (True, 2, 2.5, 2j)):
        assert f"torch.{promoted(one, number)}" == str(torch.result_type(real(one), number)), (one, number)


DTYPES = ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64")


@pytest.mark.parametrize("count", [1, 2])
def test_dtypes_of_results_are_those_of_torch(count):
    """Fails where a line of a table stands under the wrong result. Dtypes that torch refuses do not count."""
    torch = pytest.importorskip("torch")
    table = pointwise.UNARY if count == 1 else pointwise.BINARY
    for name in itertools.chain(*table.values()):
        homes = (torch, torch.nn.functional)
        function = next(f for f in (_found(home, name) for home in homes) if f is not None)
        for dtypes in itertools.product(DTYPES, repeat=count):
            try:
                actual = function(*[torch.ones(2, dtype=getattr(torch, dtype)) for dtype in dtypes]).dtype
            except (RuntimeError, TypeError):
                continue
            given = rules[name](ShapeEnv(), *[Shape((2,), dtype=dtype) for dtype in dtypes]).dtype
            assert given is None or f"torch.{given}" == str(actual), (name, dtypes)


def _found(home, name):
    try:
        return operator.attrgetter(name)(home)
    except AttributeError:
        return None
