"""Containers of arrays, as `PyTree` means them: dictionaries, lists and tuples around leaves; None has no leaf.

>>> from frontends.jaxtyping.trees import leaves, mapped, structure
>>> leaves({"b": (2, 3), "a": [(4,), None]})
[('a[0]', (4,)), ('b', (2, 3))]
>>> mapped([(2, 3), {"w": (4,)}], len)
[2, {'w': 1}]
>>> structure({"b": (2, 3)}) == structure({"b": (4,)}), structure([(2,)]) == structure(((2,),))
(True, False)

A tuple of integers is the shape of one array; `()` is an empty container.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shapes.symbolic.numbers import SymInt


def is_leaf(value: object) -> bool:
    """Return True for anything but a container; a tuple of sizes is the shape of a leaf."""
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(each, int | SymInt) for each in value)
    return value is not None and not isinstance(value, list | dict)


def leaves(tree: object, place: str = "") -> list[tuple[str, object]]:
    """The leaves with their places, keys of dictionaries in order."""
    if is_leaf(tree):
        return [(place, tree)]
    return [found for name, part in _parts(tree) for found in leaves(part, f"{place}{name}".lstrip("."))]


def mapped(tree: object, function: Callable[[object], object]) -> object:
    """The tree with each leaf replaced."""
    if is_leaf(tree):
        return function(tree)
    if isinstance(tree, dict):
        parts = {name: mapped(part, function) for name, part in _parts(tree)}
        return {key: parts[_key(key)] for key in tree}
    if isinstance(tree, list):
        return [mapped(part, function) for part in tree]
    if isinstance(tree, tuple):
        found = tuple([mapped(part, function) for part in tree])
        return type(tree)(*found) if hasattr(tree, "_fields") else found  # type: ignore[arg-type]
    return None


def structure(tree: object) -> object:
    """The containers of a tree: equal for trees that differ in leaves only."""
    if is_leaf(tree):
        return "*"
    if tree is None:
        return None
    return type(tree), tuple([(name, structure(part)) for name, part in _parts(tree)])


def _parts(tree: object) -> Iterator[tuple[str, object]]:
    if isinstance(tree, dict):
        keys = sorted(tree) if all(isinstance(key, str) for key in tree) else sorted(tree, key=repr)
        yield from [(_key(key), tree[key]) for key in keys]
    elif isinstance(tree, list | tuple):
        yield from [(f"[{index}]", part) for index, part in enumerate(tree)]


def _key(key: object) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


__all__ = ["is_leaf", "leaves", "mapped", "structure"]
