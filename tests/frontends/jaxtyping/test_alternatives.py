"""Unions, trees and repeated arguments in jaxtyping's annotations: its verdicts on calls, and proofs of each."""

# ruff: noqa: F722, F821, UP037 - annotations hold dimensions, which are no names of Python

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

jaxtyping = pytest.importorskip("jaxtyping")
beartype = pytest.importorskip("beartype")
np = pytest.importorskip("numpy")

from frontends.jaxtyping import prove, signature_of  # noqa: E402
from tests.frontends.jaxtyping.verdicts import accepted, fits  # noqa: E402


def optional(x: "Optional[Float[A, 'n']]", y: "Float[A, 'n'] | Float[A, 'n m']", *, z: "Float[A, 'm'] | None" = None):
    return x


def union(x: "Union[Float[A, 'n 3'], Float[A, '3'], None]", y: "Float[A, '*b n']"):
    return x


def tree(x: "PyTree[Float[A, 'n']]", y: "Float[A, 'n']"):
    return x


def trees(x: "PyTree[Float[A, 'n'], 'T']", y: "PyTree[Float[A, 'm'], ' T ']"):
    return x


def repeated(x: "Float[A, 'n m']", *rest: "Float[A, 'm']"):
    return x


def a(*shape: int) -> Any:
    return np.zeros(shape)


FORMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (optional, [(None, a(3)), (a(3), a(3)), (a(3), a(4)), (None, a(3, 4)), (a(3), a(3, 4)), (a(4), a(3, 4)),
                (a(), a(3)), (None, None), (None, a(3, 4, 5))]),
    (union, [(None, a(2, 5)), (a(5, 3), a(2, 5)), (a(5, 4), a(5)), (a(3), a(7)), (a(4), a(7)), (a(5, 3), a(2, 6)),
             (a(), a(2)), (a(5, 3), None)]),
    (tree, [(a(3), a(3)), ([a(3), {"k": a(3)}], a(3)), ([a(3), {"k": a(4)}], a(3)), ((), a(9)), (None, a(9)),
            ({"b": (a(2), None), "a": [a(2)]}, a(2)), ({"b": (a(2), None), "a": [a(2)]}, a(3)), ([a(2, 2)], a(2))]),
    (trees, [(a(3), a(4)), ([a(3)], [a(4)]), ([a(3)], (a(4),)), ({"k": a(3)}, {"k": a(4)}), ({"k": a(3)}, {"l": a(4)}),
             ((a(3), None), (a(4), None)), ((a(3), None), (a(4), a(4))), ([a(3), a(3)], [a(1), a(2)]), (None, None)]),
    (repeated, [(a(2, 3),), (a(2, 3), a(3)), (a(2, 3), a(3), a(3)), (a(2, 3), a(2)), (a(2, 3), a(3), a(4)),
                (a(2, 3), a(3, 3))]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "calls"), FORMS, ids=[each[0].__name__ for each in FORMS])
def test_unions_trees_and_repeated_arguments_are_judged_as_jaxtyping_does(
    function: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    """The verdict of its own checker on calls with None, alternatives, containers, and several arguments."""
    scope: dict[str, Any] = {"A": np.ndarray, **{name: getattr(jaxtyping, name) for name in ("Float", "PyTree")}}
    scope.update(Optional=typing.Optional, Union=typing.Union)
    written = {name: eval(text, scope) for name, text in function.__annotations__.items()}
    parameters = inspect.signature(function).parameters.values()
    bare = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])
    exec(f"def made{bare}: return None", scope)
    made = scope["made"]
    made.__annotations__ = written
    checked = jaxtyping.jaxtyped(typechecker=beartype.beartype)(made)
    seen = set()
    for signature in (signature_of(function), signature_of(made)):
        assert list(signature.arguments) == list(written)
        for call in calls:
            bound = inspect.signature(function).bind(*call)
            bound.apply_defaults()
            ours = accepted(signature, bound.arguments, None, {})
            assert ours is fits(checked, *call), (signature, call)
            seen.add(ours)
    assert seen == {True, False}


def masked(x: "Float[A, 'b n']", mask: "Optional[Bool[A, 'n']]" = None) -> "Float[A, 'b n']":
    return x if mask is None else x + mask


def masked_rows(x: "Float[A, 'b n']", mask: "Optional[Bool[A, 'b']]" = None) -> "Float[A, 'b n']":
    return x if mask is None else x + mask


def joined(x: "Float[A, 'n']", *rest: "Float[A, 'm']") -> "Float[A, 'n']":
    return np.concatenate([x, *rest])


def summed(x: "Float[A, 'n']", *rest: "Float[A, 'n']") -> "Float[A, 'n']":
    return sum(rest, x)


def dense(params: "PyTree[Float[A, 'n n']]", x: "Float[A, 'b n']") -> "Float[A, 'b n']":
    return (x @ params["w"]) @ params["layers"][0]


def rows(x: "Float[A, 'n'] | Float[A, 'b n']") -> "Float[A, 'n'] | None":
    return x.sum(axis=0) if x.ndim == 2 else x


def first(x: "Float[A, 'n'] | Float[A, 'b n']") -> "Optional[Float[A, 'b']]":
    return None if x.ndim == 1 else x[0]


def pair(x: "PyTree[Float[A, 'n'], 'T']") -> "PyTree[Float[A, 'n'], 'T']":
    return {"b": x["a"], "a": x["b"] * 2}


def nested(x: "PyTree[Float[A, 'n'], 'T']") -> "PyTree[Float[A, 'n'], 'T']":
    return [x["a"], x["b"]]


TREE: dict[str, Any] = {"a": ..., "b": ...}
PROOFS: list[tuple[Callable[..., Any], dict[str, Any], str, str]] = [
    (masked, {}, "proven", "for mask of 'n'; mask=None"),
    (masked_rows, {}, "refuted", "(mask of 'b')"),
    (joined, {}, "refuted", "(1 of *rest)"),
    (joined, {"counts": {"rest": 0}}, "proven", "for 0 of *rest"),
    (summed, {}, "proven", "for 0 of *rest; 1 of *rest; 2 of *rest"),
    (dense, {"trees": {"params": {"w": ..., "layers": (...,)}}}, "proven", "params={'w': ..., 'layers': (...,)}"),
    (dense, {"trees": {"params": {"w": ...}}}, "unknown", "KeyError"),
    (rows, {}, "proven", "for x of 'n'; x of 'b n'"),
    (first, {}, "refuted", "(x of 'b n')"),
    (pair, {"trees": {"x": TREE}}, "proven", "for x={'a': ..., 'b': ...}"),
    (nested, {"trees": {"x": TREE}}, "refuted", "structure T: return is nested unlike x"),
]


@pytest.mark.parametrize(("function", "options", "answer", "text"), PROOFS)
def test_each_alternative_is_proven(
    function: Callable[..., Any], options: dict[str, Any], answer: str, text: str
) -> None:
    """All alternatives, trees and numbers of arguments are looked at, and the answer says which they were."""
    proof = prove(function, **options)
    assert (proof.answer, text in str(proof)) == (answer, True), str(proof)
