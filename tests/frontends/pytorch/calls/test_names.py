"""Parameters, arguments and keys whose names mean something to generated code: Python's, torch's, and its own."""

import ast
import builtins
import itertools
import keyword

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.calls.compiled import Compiled
from shapes import ShapeError
from shapes.guards.dispatch import Dispatch

BUILTINS = [
    name for name in dir(builtins) if name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"
]
WORDS = [
    *keyword.softkwlist, "self", "cls", "torch", "guard", "args", "kwargs", "fn", "arg0", "arg1", "arg_0", "x_identity",
    "x_size0", "_x_size0", "x_0", "__x", "__x__", "ñ", "x0", "n0", "m0", "k0", "f0", "v0", "w0", "r0", "z", "out",
    "kept", "double", "int64_t", "restrict", "static", "void", "PyObject", "main", "size", "shape", "dtype", "device",
]  # fmt: skip


def identifiers(text: str) -> set[str]:
    """The names in generated code: what it defines, reads and is given."""
    found = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    found |= {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
    return found | {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


def generated_names() -> list[str]:
    """Every name in the code that is generated for a function of many kinds of arguments, with many variants."""

    def f(x, n, mode, pair, options, *, scale=2.0, owner=None):
        if x.shape[0] % 3 == 0 and pair[0].shape[0] + n > 12:
            return {"y": x * n, "mode": mode}
        return x * options["w"] + pair[1].sum() * scale

    compiled = compile(f, dynamic=True)
    owner = object()
    for size, n, mode in itertools.product((3, 4, 6, 8), (2, 3, 9), ("a", "b", None)):
        x = torch.ones(size, 2)
        compiled(x, n, mode, (x, x), {"w": x}, owner=owner)
    assert len(compiled.variants) > 8
    names: set[str] = set()
    for signature in compiled.signatures.values():
        for lookups in signature.forms.values():
            names |= identifiers(lookups.dispatch.source)
            for entry in lookups.dispatch.entries:
                names |= {*entry.value.__code__.co_varnames, *entry.value.__code__.co_names}  # type: ignore[attr-defined]
    for variant in compiled.variants:
        names |= {*variant.graph.forward.__code__.co_varnames, *variant.graph.forward.__code__.co_names}
    assert {"default", "_args"} <= names
    return sorted(name for name in names if name.isidentifier() and not keyword.iskeyword(name))


def chunks(names: list[str], length: int) -> list[list[str]]:
    return [names[start : start + length] for start in range(0, len(names), length)]


def same_as_eager(function: object, calls: list[tuple[list[object], dict[str, object]]], backend: str) -> Compiled:
    """The function compiled, after calls that are compared with eager ones; none of them fell back."""
    compiled = compile(function, dynamic=True, backend=backend)  # type: ignore[arg-type]
    for args, kwargs in calls:
        expected, found = function(*args, **kwargs), compiled(*args, **kwargs)  # type: ignore[operator]
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert compiled.fallbacks == [] and compiled.broken is None
    assert compiled.explain()
    return compiled


def with_names(names: list[str], backend: str) -> None:
    """Functions that have these names as parameters, for tensors, numbers and texts, and as keys."""
    product = " * ".join(names)
    tests = " and ".join(f"{name}.shape[0] > 3" for name in names)
    scope: dict[str, object] = {}
    lines = [
        f"def tensors({', '.join(names)}, other_value):",
        f"    return ({product}) * 2 if {tests} else {names[0]} + other_value",
        f"def by_name(other_value, *, {', '.join(names)}):",
        f"    return other_value * {names[-1]}.shape[0] + {names[0]}",
        f"def integers({', '.join(names)}, other_value):",
        f"    return other_value * ({' + '.join(names)})",
        f"def objects(other_value, {', '.join(names)}):",
        f"    return other_value if {names[0]} == 'a' else other_value * 2",
        "def keys(other_value, **other_names):",
        "    return {name: value * other_value for name, value in other_names.items()}",
        "def dictionary(other_value):",
        "    return {name: value * 2 for name, value in other_value.items()}",
    ]
    exec("\n".join(lines), scope)
    sizes = (3, 4, 5)
    xs = [torch.arange(2.0 * size).reshape(size, 2) for size in sizes]
    same_as_eager(scope["tensors"], [([x] * (len(names) + 1), {}) for x in xs], backend)
    same_as_eager(scope["tensors"], [([], dict.fromkeys([*names, "other_value"], x)) for x in xs], backend)
    same_as_eager(scope["by_name"], [([x], dict.fromkeys(names, x)) for x in xs], backend)
    same_as_eager(scope["integers"], [([*range(k, k + len(names)), x], {}) for k, x in enumerate(xs, 2)], backend)
    same_as_eager(scope["objects"], [([x, *(["a"] * len(names))], {}) for x in xs], backend)
    same_as_eager(scope["objects"], [([x, *([len] * len(names))], {}) for x in xs], backend)
    same_as_eager(scope["keys"], [([x], dict.fromkeys(names, x)) for x in xs], backend)
    same_as_eager(scope["dictionary"], [([dict.fromkeys([*names, "a b", "class"], x)], {}) for x in xs], backend)


@pytest.mark.parametrize("names", chunks(BUILTINS, 20), ids=lambda names: names[0])
def test_names_of_builtins(names: list[str]) -> None:
    """If it fails, a parameter called `len` or `type` breaks the code that takes a call apart."""
    with_names(names, "eager")


def test_names_of_generated_code() -> None:
    """If it fails, a parameter has a name that generated code means something else by."""
    for names in chunks(sorted({*generated_names(), *WORDS} - set(BUILTINS)), 20):
        with_names(names, "eager")


def test_names_with_kernels() -> None:
    """If it fails, a call in C is described with names that its checks cannot have."""
    for names in chunks(["len", "type", "default", "found", "self", "x0", "n0", "min", "double", "_args", "ñ"], 6):
        with_names(names, "cpu")


def test_messages_have_the_programs_names() -> None:
    """If it fails, a cause is about a name that the program does not have."""

    def f(len, type, *, ñ=1.0):
        return len * 2 + type * ñ

    compiled = compile(f)
    x = torch.ones(3)
    compiled(x, x)
    compiled(torch.ones(4), torch.ones(4))
    compiled(x.double(), x)
    compiled(x, x, ñ=2.0)
    causes = [variant.cause for variant in compiled.variants]
    once = "no tensor is given twice, before len and type are the same tensor"
    assert causes[1] == f"{once}; len.size(0) is 4, was 3; type.size(0) is 4, was 3"
    assert causes[2] == "len.dtype is torch.float64, was torch.float32"
    assert compiled.fallbacks == [] and causes[3:] == ["ñ is 2.0, another one than before"]
    stated = compile(f, dynamic={"len": ("b",), "type": ("b",)})
    stated(x, x)
    stated(torch.ones(5), torch.ones(5))
    assert len(stated.variants) == 1


def test_closures_and_globals_of_such_names() -> None:
    """If it fails, what a function reads besides its arguments is looked up by names that mean something else."""
    for name in ("len", "type", "default", "captured_state", "_variant", "torch_", "found", "state"):
        scope: dict[str, object] = {}
        text = f"def made():\n    {name} = 2.0\n    def f(x):\n        return x * {name}\n    return f\n"
        exec(text + f"{name} = 3.0\ndef g(x):\n    return x * {name}\n", scope)
        for function in (scope["made"](), scope["g"]):  # type: ignore[operator]
            same_as_eager(function, [([torch.ones(size)], {}) for size in (3, 4)], "eager")


@pytest.mark.parametrize("name", ["default", "found", "value_0", "branch_1", "check", "abs", "__x", "if", "ñ", "a b"])
def test_arguments_of_a_dispatch(name: str) -> None:
    """If it fails, an argument of a look-up hides what its code means by that name, and the answer is wrong."""
    dispatch: Dispatch[int] = Dispatch([name])
    with pytest.raises(ShapeError, match="cannot be the name of an argument"):
        from shapes import ShapeEnv

        env = ShapeEnv()
        env.symbol("n")
        dispatch.add(env, 1, sources={"n": (name, 0)})
        dispatch.lookup((3,))
