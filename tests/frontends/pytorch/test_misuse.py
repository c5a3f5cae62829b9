"""Invalid arguments of the frontend's public functions: an error that says what they take, where it is given."""

import copy
import io
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from frontends.pytorch import (
    Expected,
    Policy,
    compile,
    dims,
    mark_dynamic,
    mark_maybe_dynamic,
    mark_static,
    mark_unbacked,
    one_of,
    trace,
)
from frontends.pytorch.variants.marks import marks_of
from shapes import ShapeError


def f(x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return x * scale


@compile
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


WRONG: list[tuple[Callable[[torch.Tensor], object], str]] = [
    (lambda x: compile(3), r"compile\(3\): expected a function or a module"),
    (lambda x: compile("f"), r"compile\('f'\): expected a function"),
    (lambda x: compile(x), r"compile\(tensor.*: expected a function"),
    (lambda x: compile(Net), r"compile\(Net\): a class"),
    (lambda x: compile(f, dynamic="yes"), r"dynamic='yes': expected True, False, None, a function or relations"),
    (lambda x: compile(f, dynamic=1), r"dynamic=1: expected"),
    (lambda x: compile(f, dynamic=[0]), r"dynamic=\[0\]: expected"),
    (lambda x: compile(dynamic="yes"), r"dynamic='yes': expected"),
    (lambda x: compile(f, policy="strict"), r"policy='strict': expected a Policy"),
    (lambda x: compile(policy=2), r"policy=2: expected a Policy"),
    (lambda x: compile(f, fullgraph="no"), r"fullgraph='no': expected True or False"),
    (lambda x: compile(f, backend="gpu"), r"backend='gpu': the backends are eager, cpu, triton"),
    (lambda x: compile(backend="tritn"), r"backend='tritn': .*did you mean 'triton'"),
    (lambda x: compile(f, backend=None), r"backend=None: the backends are"),
    (lambda x: mark_dynamic([1], 0), r"mark_dynamic\(\[1\], ...\): expected a tensor"),
    (lambda x: mark_dynamic(x.numpy(), 0), r"expected a tensor"),
    (lambda x: mark_dynamic(x, 5), r"dim=5\): the tensor has 2 dimensions"),
    (lambda x: mark_dynamic(x, -3), r"dim=-3\): the tensor has 2 dimensions"),
    (lambda x: mark_dynamic(x, "0"), r"dim='0': expected a dimension"),
    (lambda x: mark_dynamic(x, True), r"dim=True: expected a dimension"),
    (lambda x: mark_dynamic(x, None), r"dim=None: expected a dimension"),
    (lambda x: mark_dynamic(x, [0, 1.0]), r"dim=1.0: expected a dimension"),
    (lambda x: mark_dynamic(x, 0, lo=5, hi=2), r"lo=5, hi=2\): no size lies between"),
    (lambda x: mark_dynamic(x, 0, lo="2"), r"lo='2': expected a size"),
    (lambda x: mark_dynamic(x, 0, hi=2.5), r"hi=2.5: expected a size"),
    (lambda x: mark_dynamic(x, 0, lo=100), r"the size is 3"),
    (lambda x: mark_dynamic(x, 0, strict="no"), r"strict='no': expected True or False"),
    (lambda x: mark_maybe_dynamic(3, 0), r"mark_maybe_dynamic\(3, ...\): expected a tensor"),
    (lambda x: mark_static("x"), r"mark_static\('x', ...\): expected a tensor"),
    (lambda x: mark_static(x, 1.5), r"dim=1.5: expected a dimension"),
    (lambda x: mark_unbacked(x, 0, lo="a"), r"lo='a': expected a size"),
    (lambda x: dims("s", "s"), r"names that differ"),
    (lambda x: compile(f, dynamic={"x": (*dims("s", lo=3, hi=4, where="s > 7"), None)}), r"contradicts itself"),
    (lambda x: one_of(-1), r"one_of\(-1\)"),
    (lambda x: Policy(recompile_limit=-1), r"recompile_limit=-1: expected"),
    (lambda x: Policy(variants=0), r"variants=0: expected"),
    (lambda x: Policy(variants="many"), r"variants='many': expected"),
    (lambda x: Policy(withheld=3), r"withheld=3: expected"),
    (lambda x: Policy(withheld={"consttant"}), r"the kinds of decisions are .*did you mean 'constant'"),
    (lambda x: Policy(guards=3), r"guards=3: expected an Expected"),
    (lambda x: Expected("a"), r"calls='a': expected a number"),
    (lambda x: Expected(1, 5), r"misses=5: expected"),
    (lambda x: compile(f, dynamic={"y": ("b", None)})(x), r"the tensors among the arguments are x"),
    (lambda x: compile(f, dynamic={"scal": ("b",)})(x, x), r"did you mean 'scale'"),
    (lambda x: compile(f, dynamic={"x": "b"}), r"x: 'b'(.|\n)*one for each dimension"),
    (lambda x: compile(f, dynamic={"x": (1.5, None)}), r"x: 1.5(.|\n)*an expression, a name, a number"),
    (lambda x: compile(f, dynamic={"x": ("b +", None)}), r"cannot read the relation stated for x.shape\[0\]"),
    (lambda x: compile(f, dynamic={"x": ("b*b", None)}), r"b is the size of no dimension"),
    (lambda x: compile(f, dynamic={"x": ("b",)})(x), r"x has 2 dimensions, but 1 are stated"),
    (lambda x: compile(f, dynamic=lambda *given: "yes")(x), r"gave 'yes' for x: expected True, False or a Choice"),
    (lambda x: trace(3, (x,)), r"fn=3: expected a function"),
    (lambda x: trace(f, x), r"args=tensor.*expected a tuple"),
    (lambda x: trace(f, 3), r"args=3: expected a tuple"),
    (lambda x: trace(f, (x,), 3), r"kwargs=3: expected"),
    (lambda x: trace(f, (x,), dynamic="yes"), r"dynamic='yes': expected"),
    (lambda x: doubled.coverage(3), r"ranges=3: expected"),
    (lambda x: (doubled(x), doubled.coverage({"x.shap[0]": 3})), r"the inputs are x.shape\[0\]"),
]


@pytest.mark.parametrize(("misuse", "message"), WRONG, ids=range(len(WRONG)))
def test_misuse(misuse: Callable[[torch.Tensor], object], message: str) -> None:
    """A mistake is an error at once, in the frontend's own words."""
    x = torch.ones(3, 4)
    doubled(x)
    with pytest.raises(ShapeError, match=f"(?s){message}"):
        misuse(x)
    assert not marks_of(x), "a mark that is refused leaves none"


def test_unknown_options_are_refused() -> None:
    """A misspelled option is an error."""
    for wrong in (lambda: compile(f, dynamics=True), lambda: dims("s", low=1), lambda: Policy(repeat=2)):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            wrong()


def test_numbers_of_numpy_are_numbers() -> None:
    """A dimension or a bound may be a number of NumPy's."""
    x = torch.ones(3, 4)
    mark_dynamic(x, np.int64(0), lo=np.int32(1), hi=np.int64(9))
    (mark,) = marks_of(x).values()
    assert (mark.choice.lo, mark.choice.hi) == (1, 9)
    assert compile(f, fullgraph=np.bool_(True))(x).shape == (3, 4)


# ------------------------------------------------------------------ copies, pickles


def saved(value: object) -> object:
    """Save an object by torch and load it again."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "torch": saved,
    "oldest pickle": lambda value: pickle.loads(pickle.dumps(value, 0)),
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("how", COPIES)
def test_copies_of_a_compiled_module(how: str, backend: str) -> None:
    """A copy of a compiled model is compiled, has its options, and shares only what it should."""
    x = torch.randn(3, 4)
    policy = Policy(recompile_limit=3)
    compiled = compile(Net(), backend=backend, dynamic={"x": ("b", 4)}, policy=policy)
    expected = compiled(x)
    again = COPIES[how](compiled)
    assert type(again) is type(compiled) and again.fn is not compiled.fn and again.variants == []
    assert again.policy == policy and again.backend == compiled.backend
    torch.testing.assert_close(again(x), expected)
    assert len(again.variants) == 1 and again.fallbacks == []
    with pytest.raises(ShapeError, match=r"`x.shape\[1\] == 4` is stated"):
        again(torch.ones(3, 5))
    if how != "copy":
        with torch.no_grad():
            again.linear.weight.zero_()
        torch.testing.assert_close(compiled(x), expected)


def test_copies_of_compiled_functions() -> None:
    """A compiled function is picklable where the function itself is."""
    for how in ("pickle", "torch", "deepcopy"):
        assert COPIES[how](doubled) is doubled
    x = torch.ones(3)
    later = compile(f, dynamic=True)
    again = COPIES["pickle"](later)
    assert again is not later and again.fn is f and again.dynamic is True
    assert again(x).tolist() == [2, 2, 2]
    method = compile(Net().forward)
    assert COPIES["pickle"](method)(torch.ones(2, 4)).shape == (2, 2)
    for local in (compile(lambda x: x * 2), compile(without_a_name())):
        assert copy.deepcopy(local) is local
        with pytest.raises(pickle.PicklingError, match="define it at the top of a module"):
            pickle.dumps(local)


def without_a_name() -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that no name finds."""

    def local(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return local


def test_a_module_that_holds_its_compiled_form() -> None:
    """A copy of a module that holds its compiled form holds that of the copy."""
    net = Net()
    net.__dict__["fast"] = compile(net)
    made = copy.deepcopy(net)
    assert made.fast.fn is made and made.fast is not net.fast
    made = copy.deepcopy(net.fast)
    assert made.fn.fast is made


def test_a_compiled_module_stays_compiled() -> None:
    """`compile(net).to(device)` is still compiled."""
    compiled = compile(Net())
    for change in (
        lambda: compiled.to("cpu"), lambda: compiled.double(), lambda: compiled.float(), lambda: compiled.eval(),
        lambda: compiled.train(), lambda: compiled.requires_grad_(False), lambda: compiled.apply(lambda module: None),
    ):  # fmt: skip
        assert change() is compiled
    assert compiled.training and not any(each.requires_grad for each in compiled.parameters())
    state = compiled.state_dict()
    assert list(state) == ["linear.weight", "linear.bias"]
    compiled.load_state_dict({name: torch.zeros_like(value) for name, value in state.items()})
    assert compiled(torch.ones(2, 4)).tolist() == [[0, 0], [0, 0]]
