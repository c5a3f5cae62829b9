"""Calls in C: which ones a program is run for, and what is left to Python."""

import sys

import pytest
import torch

from backends.cpu.launcher.entry import EVERYTHING, Form, Leaf, Variant, made_entry
from backends.cpu.launcher.program import Description, Given, Made, Number, TensorArgument, make_native
from shapes.guards.emit_c import NotNative
from solver.terms.interner import Interner
from tests.backends.cpu.launcher.programs import program
from tests.threads import at_once

torch.manual_seed(0)
X, Y, Z = torch.randn(3, 5), torch.randn(3, 5), torch.randn(5)
TENSORS = tuple([Leaf("tensor", torch.Tensor, each.dim()) for each in (X, Y, Z)])


def variant(run, values, tensors=(), integers=(), **changes):
    """A variant that was traced as torch is at first."""
    usual = {"grad_mode": True, "default_dtype": torch.float32, "tensors": tensors, "integers": integers}
    return Variant(run, values, **(usual | changes))


def entry(*guards, **changes):
    """x * y + z."""
    made = variant(program(*guards), (False, False, False), (0, 1, 2), **changes)
    return made_entry([Form(TENSORS, [made])])


def identity(rank=1):
    """A program that gives its tensor back."""
    arguments = [TensorArgument("x", "float32", rank)]
    return make_native(Description(tensors=arguments, symbols={}, outputs=[Given(0)], launches=[], structure=None))


def number():
    """A program that gives its integer back."""
    n = Interner().symbol("n")
    described = Description(tensors=[], integers=["n"], symbols={n: ("n",)}, outputs=[Number(n)], launches=[])
    return make_native(described)


def test_result_is_that_of_the_program():
    """A call gets another program, or its arguments in another order."""
    torch.testing.assert_close(entry()((X, Y, Z), {}), X * Y + Z)


OTHER = {
    "too few": ((X, Y), {}),
    "too many": ((X, Y, Z, Z), {}),
    "by name": ((X, Y), {"z": Z}),
    "another dtype": ((X.double(), Y, Z), {}),
    "another rank": ((X[0], Y, Z), {}),
    "another size": ((X, Y, Z[:4]), {}),
    "a parameter": ((torch.nn.Parameter(X, requires_grad=False), Y, Z), {}),
    "a subclass": ((X.as_subclass(type("Own", (torch.Tensor,), {})), Y, Z), {}),
    "requires grad": ((X.clone().requires_grad_(), Y, Z), {}),
    "given twice": ((X, X, Z), {}),
    "meta": ((X.to("meta"), Y, Z), {}),
    "sparse": ((X.to_sparse(), Y, Z), {}),
    "negative": ((torch._neg_view(X), Y, Z), {}),
    "no tensor": (([1.0], Y, Z), {}),
}


CALLED = pytest.mark.parametrize("called", [False, True], ids=["first", "again"])
"""An entry compares the tensors of a call with those of an earlier one, if there was one."""


@CALLED
@pytest.mark.parametrize("name", OTHER)
def test_other_calls_are_left_to_python(name, called):
    """A call is run by a program that is not for it."""
    run = entry()
    assert not called or run((X, Y, Z), {}) is not NotImplemented
    assert run(*OTHER[name]) is NotImplemented


class Function(torch.overrides.TorchFunctionMode):
    pass


class Operators(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def in_a_transform(call):
    found = []
    torch.func.vmap(lambda x: found.append(call()) or x)(X)
    return found[0]


def within(context):
    def run(call):
        with context():
            return call()

    return run


AROUND = {
    "no gradients": within(torch.no_grad),
    "inference": within(torch.inference_mode),
    "autocast": within(lambda: torch.autocast("cpu")),
    "functions": within(Function),
    "operators": within(Operators),
    "a device": within(lambda: torch.device("cpu")),
    "transform": in_a_transform,
    "forward differentiation": within(torch.autograd.forward_ad.dual_level),
}


@CALLED
@pytest.mark.parametrize("name", AROUND)
def test_other_modes_are_left_to_python(name, called):
    """A program runs where operators mean something else, or where it was not traced."""
    run = entry()
    assert not called or run((X, Y, Z), {}) is not NotImplemented
    assert AROUND[name](lambda: run((X, Y, Z), {})) is NotImplemented
    assert run((X, Y, Z), {}) is not NotImplemented


GUARDED = {
    "modes": [lambda run, name=name: AROUND[name](lambda: run((X, Y, Z), {})) for name in AROUND],
    "requires_grad": [lambda run: run((X.clone().requires_grad_(), Y, Z), {})],
    "marks": [lambda run: run((torch._neg_view(X), Y, Z), {})],
}


@pytest.mark.parametrize("left_out", GUARDED)
def test_callers_leave_out_what_they_have_guarded(left_out):
    """An entry asks again, which takes longer than all else; or leaves out something else, too."""
    asks = [each for each in EVERYTHING if each != left_out]
    run = made_entry([Form(TENSORS, [variant(program(), (False, False, False), (0, 1, 2))])], asks=asks)
    for name, calls in GUARDED.items():
        for call in calls:
            assert (call(run) is not NotImplemented) == (name == left_out), name
    for name in ("another dtype", "another rank", "another size", "a subclass", "meta", "sparse", "no tensor"):
        assert run(*OTHER[name]) is NotImplemented


def test_calls_that_are_not_like_the_one_before():
    """An entry runs only calls like its first one, or takes what those require for what others do."""
    grad = X.clone().requires_grad_()
    programs = [variant(identity(2), (each,), (0,), grad_mode=mode) for mode in (True, False) for each in (False, True)]
    run = made_entry(
        [Form(TENSORS[:1], [each]) for each in programs] + [Form(TENSORS[2:], [variant(identity(), (False,), (0,))])]
    )
    with torch.inference_mode():
        inferred = torch.randn(2, 2)
    for _ in range(3):
        for given in (X, grad, Z, inferred):
            assert run((given,), {}) is given
            with torch.no_grad():
                assert (run((given,), {}) is given) == (given is not Z)
        assert run((Z.clone().requires_grad_(),), {}) is NotImplemented
        assert run((torch._neg_view(Z),), {}) is NotImplemented


def test_requirements_are_not_remembered_across_grad_modes():
    """Without a grad mode a tensor is like one that requires no gradient: a program loses it, or is not run."""
    grad = X.clone().requires_grad_()
    run = made_entry(
        [Form(TENSORS[:1], [variant(identity(2), (False,), (0,), grad_mode=mode) for mode in (True, False)])]
    )
    for _ in range(2):
        with torch.no_grad():
            assert run((grad,), {}) is NotImplemented
            assert run((X,), {}) is X
            assert run((grad,), {}) is NotImplemented
        assert run((grad,), {}) is NotImplemented
        assert run((X,), {}) is X


def test_tensors_among_values_are_compared():
    """The values of a call are passed to torch's check of its tensors."""
    leaves = (Leaf("value", float), TENSORS[0], Leaf("integer", int), TENSORS[2])
    made = program_of_two()
    run = made_entry([Form(leaves, [variant(made, (0.5, False, None, False), (1, 3))])])
    for _ in range(3):
        assert run((0.5, X, 7, Z), {}) is X
        assert run((0.5, torch._neg_view(X), 7, Z), {}) is NotImplemented
        assert run((0.25, X, 7, Z), {}) is NotImplemented


def program_of_two():
    """A program that gives the first of two tensors back."""
    arguments = [TensorArgument("x", "float32", 2), TensorArgument("y", "float32", 1)]
    return make_native(Description(tensors=arguments, symbols={}, outputs=[Given(0)], launches=[], structure=None))


def test_functions_are_not_seen_by_a_mode_that_the_caller_has_guarded():
    """A mode of the user is called for what the launcher asks."""
    run = made_entry([Form(TENSORS, [variant(program(), (False,) * 3, (0, 1, 2))])], asks=("requires_grad", "marks"))
    asked = []

    class Noting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func)
            return func(*args, **(kwargs or {}))

    with Noting():
        assert run((X, Y, Z), {}) is not NotImplemented
        assert run((torch._neg_view(X), Y, Z), {}) is NotImplemented
    assert [each for each in asked if each is not torch._neg_view] == []


def test_modes_that_a_variant_is_for():
    """A variant traced without gradients, or with another default, is never found."""
    run = entry(grad_mode=False, default_dtype=torch.float64)
    assert run((X, Y, Z), {}) is NotImplemented
    try:
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            assert run((X, Y, Z), {}) is not NotImplemented
        with torch.inference_mode():
            assert run((X, Y, Z), {}).is_inference()
    finally:
        torch.set_default_dtype(torch.float32)


def test_first_variant_that_accepts_is_taken():
    """Another variant runs than the first one, or none."""
    n = Interner().symbol("n")
    one, two = [
        make_native(
            Description(
                tensors=[TensorArgument("x", "float32", 1)],
                symbols={n: ("x", ".shape", 0)},
                outputs=[Number(n * factor)],
                launches=[],
                conditions=[n.interner.ge(n, least)],
                structure=None,
            )
        )
        for factor, least in ((10, 5), (100, 3))
    ]
    leaves = (Leaf("tensor", torch.Tensor, 1),)
    run = made_entry([Form(leaves, [variant(each, (False,), (0,)) for each in (one, two)])])
    assert [run((torch.ones(size),), {}) for size in (7, 4, 2)] == [70, 400, NotImplemented]


VALUES = [
    *(True, False, 0.0, -0.0, float("nan"), 1.5, 2j, complex(0.0, -0.0), "a", b"a", None, ...),
    *(torch.float32, torch.device("cpu"), torch.strided, torch.contiguous_format),
]
ANEW = {float: lambda value: float.fromhex(value.hex()), torch.device: lambda value: torch.device(str(value))}
"""The ways to make an equal value that is another object."""


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_told_apart(value):
    """A program runs for another value than the one it was traced for: True for 1, 0.0 for -0.0."""
    leaves = (Leaf("tensor", torch.Tensor, 1), Leaf("value", type(value)))
    run = made_entry([Form(leaves, [variant(identity(), (False, value), (0,))])])
    x = torch.ones(3)
    same = ANEW.get(type(value), lambda value: value)(value)
    assert run((x, same), {}) is x
    for other in [*VALUES, 1, 0, 1.0, torch.device("meta"), "b", torch.float64, torch.sparse_coo, x]:
        is_same = type(other) is type(value) and repr(other) == repr(value)
        assert (run((x, other), {}) is x) == is_same, other


def test_objects_are_told_by_identity():
    """A program runs for an object that is equal, but another."""
    mine = [1]
    leaves = (Leaf("tensor", torch.Tensor, 1), Leaf("object", list))
    run = made_entry([Form(leaves, [variant(identity(), (False, mine), (0,))])])
    x = torch.ones(3)
    assert run((x, mine), {}) is x and run((x, [1]), {}) is NotImplemented


def test_integers_are_of_their_own_class():
    """Fails when True is taken for an integer, or a large integer is cut off."""
    run = made_entry([Form((Leaf("integer", int),), [variant(number(), (None,), (), (0,))])])
    assert run((7,), {}) == [7]
    for other in (True, 7.0, 2**63, None, torch.tensor(7)):
        assert run((other,), {}) is NotImplemented


def test_many_arguments():
    """Fails when a tensor that is given twice among many is not seen."""
    tensors = [torch.full((3,), float(place)) for place in range(100)]
    run = made_entry([Form((TENSORS[2],) * 100, [variant(identity(), (False,) * 100, (70,))])])
    assert run(tuple(tensors), {}) is tensors[70]
    for place in (0, 71, 99):
        given = [*tensors[:place], tensors[70], *tensors[place + 1 :]]
        assert run(tuple(given), {}) is NotImplemented
    assert run(tuple(tensors[:99]), {}) is NotImplemented


def test_a_function_with_other_code():
    """An entry runs what a function did before its code was replaced."""

    def function(x):
        return x

    run = made_entry([Form((TENSORS[2],), [variant(identity(), (False,), (0,))])], function=function)
    assert run((Z,), {}) is Z
    function.__code__ = (lambda x: -x).__code__
    assert run((Z,), {}) is NotImplemented


def test_what_no_entry_is_for():
    """Arguments that C cannot read are given to it anyway."""
    own = type("Own", (torch.Tensor,), {})
    for form in [
        Form((Leaf("tensor", own, 1),), [variant(identity(), (False,), (0,))]),
        Form((Leaf("value", str),), [variant(identity(), ("a",), (0,))]),
        Form((TENSORS[2],), [variant(identity(), (False,), (1,))]),
        Form((TENSORS[2],), [variant(identity(), (False,), ())]),
        Form((TENSORS[2],), [variant(identity(), (False, False), (0,))]),
        Form((TENSORS[2],) * 5000, [variant(identity(), (False,) * 5000, (0,))]),
    ]:
        with pytest.raises(NotNative):
            made_entry([form])


def test_calls_of_another_form_are_errors():
    """An entry reads what is no tuple of arguments as one."""
    run = entry()
    for given in [(X, {}), ([X, Y, Z], {}), ((X, Y, Z),), ((X, Y, Z), None)]:
        with pytest.raises(TypeError):
            run(*given)


def test_nothing_is_kept():
    """Each call leaves a reference behind."""
    run, three = entry("rows == 3"), torch.randn(2, 5)
    counted = (X, Y, Z, three, torch.float32, NotImplemented, None)
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(10_000):
        run((X, Y, Z), {})
        assert run((three, three.clone(), Z), {}) is NotImplemented
    after = [sys.getrefcount(each) for each in counted]
    assert max(abs(a - b) for a, b in zip(after, before)) < 20


def test_threads_call_at_once():
    """Calls from several threads mix up their arguments."""
    n, one = (terms := Interner()).symbol("n"), terms.constant(1)
    run = make_native(
        Description(
            tensors=[TensorArgument("x", "float32", 1)],
            symbols={n: ("x", ".shape", 0)},
            outputs=[Given(0), Made("float32", (n,), (one,))],
            launches=[],
        )
    )
    call = made_entry([Form((TENSORS[2],), [variant(run, (False,), (0,))])])
    wrong = []

    def work(seed):
        for size in range(1, 2000):
            x = torch.empty(size % 50 + seed)
            found = call((x,), {})
            if found[0] is not x or found[1].shape != x.shape:
                wrong.append(size)

    at_once(work)
    assert not wrong
