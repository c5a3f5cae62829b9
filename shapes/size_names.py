"""Canonical names of sizes: one for each, whichever way a program or a compiler spells it.

>>> canonical("L['x'].size()[0]"), canonical("x.size(0)"), canonical("x.0"), canonical("s0")
('x.shape[0]', 'x.shape[0]', 'x.shape[0]', 's0')
>>> renamed("2 <= L['x'].size()[1] and min(n, 4) < L['y']['a'].stride()[0]", lambda name: f"<{name}>")
"2 <= <x.shape[1]> and min(<n>, 4) < <y['a'].stride(0)>"

A tensor `x` has the symbols `x_size0` and `x_size1`, unless its author names them. People read the sizes as the program
has them; a text that is asked may use either:

>>> places = {"x_size0": "x.shape[0]"}
>>> with_places("x_size0 >= 4 and n >= 4", places), with_symbols("x.shape[0] >= 4 and x.size(0) < n", lambda: places)
('x.shape[0] >= 4 and n >= 4', 'x_size0 >= 4 and x_size0 < n')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from solver.syntax.short_text import with_names

STEP: Final = r"""(?:\.[^\W\d]\w*(?:\(\d*\))?|\[(?:'[^']*'|"[^"]*"|\d+)\])"""
NAME: Final = re.compile(rf"(?<![\w.])(?P<head>[^\W\d]\w*){STEP}*(?:\.\d+)?(?!\w)(?!\s*\()")
WORDS: Final = frozenset({"and", "or", "not", "if", "else", "True", "False"})
LOCAL: Final = re.compile(r"""^L\[(['"])([^\W\d]\w*)\1\]""")
SHORT: Final = re.compile(r"\.(\d+)$")
INDEXED: Final = re.compile(r"\.(size|stride)\(\)\[(\d+)\]$")
CALLED: Final = re.compile(r"\.size\((\d+)\)$")
SHAPE: Final = re.compile(r"\.shape\[(\d+)\]$")
MARK: Final = "_size"
LAYOUT: Final = re.compile(r"\.(stride\(\d+\)|storage_offset\(\))$")


def canonical(text: str) -> str:
    """The one name of a size."""
    text = LOCAL.sub(r"\2", text.strip())
    text = SHORT.sub(r".shape[\1]", text)
    text = INDEXED.sub(lambda found: f".{found[1]}({found[2]})", text)
    return CALLED.sub(r".shape[\1]", text)


def renamed(text: str, name_of: Callable[[str], str]) -> str:
    """A proposition with every size that it mentions as `name_of` calls it, which is given canonical names."""
    return NAME.sub(lambda found: found[0] if found["head"] in WORDS else name_of(canonical(found[0])), text)


def names_in(text: str) -> list[str]:
    """The canonical names of the sizes that a text mentions, in order; a word before a parenthesis is a function.

    >>> names_in("min(b, s) % 2 == 0 and not t > 1e3")
    ['b', 's', 't']
    """
    found: dict[str, None] = {}

    def seen(name: str) -> str:
        found[name] = None
        return name

    renamed(text, seen)
    return list(found)


def is_layout(name: str) -> bool:
    """Return True for the name of a number of a tensor's layout, which is no size."""
    return LAYOUT.search(name) is not None


def is_size(name: str) -> bool:
    """Return True for the name of a number that is never negative: the size of an axis, or a plain name."""
    return SHAPE.search(name) is not None or name.isidentifier()


class HasPlace(Protocol):
    """A symbol, and the place where its value is found."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str | None: ...


class Placed(NamedTuple):
    """A symbol with its place."""

    name: str
    source: str


def places_of(symbols: Iterable[HasPlace]) -> dict[str, str]:
    """The places of the symbols that are named after theirs."""
    return {each.name: each.source for each in symbols if each.source is not None and is_named_after_place(each)}


def is_named_after_place(symbol: HasPlace) -> bool:
    """Return True if a symbol has the name of its place: `x_size0` for `x.shape[0]`."""
    if symbol.source is None or MARK not in symbol.name:
        return False
    axis = SHAPE.search(symbol.source)
    return axis is not None and symbol.name.endswith(f"{MARK}{axis[1]}")


def with_places(text: str, places: Mapping[str, str]) -> str:
    """A text for people."""
    return with_names(text, places) if MARK in text else text


def with_symbols(text: str, places: Callable[[], Mapping[str, str]]) -> str:
    """A text for the engine; the places are collected if it mentions one."""
    if ".shape[" not in text and ".size(" not in text:
        return text
    names = {canonical(place): name for name, place in places().items()}
    return renamed(text, lambda name: names.get(name, name))


__all__ = [
    "Placed",
    "canonical",
    "is_layout",
    "is_named_after_place",
    "is_size",
    "names_in",
    "places_of",
    "renamed",
    "with_places",
    "with_symbols",
]
