"""Read the dimensions of a jaxtyping annotation, as jaxtyping does.

    >>> from frontends.jaxtyping.dimensions import read_dimensions
    >>> read_dimensions("*batch #h 3 width-1")  # doctest: +NORMALIZE_WHITESPACE
    (Several(name='batch', broadcastable=False), Named(name='h', broadcastable=True),
     Fixed(size=3, broadcastable=False), Computed(text='width-1', broadcastable=False))
    >>> read_dimensions("_ rows=4 ...")
    (Anonymous(), Fixed(size=4, broadcastable=False), Several(name=None, broadcastable=False))

Spaces separate dimensions. `#` lets a size of 1 stand for any, `*` takes any number of dimensions, `_` binds no name,
and `rows=4` is 4. Anything that is neither a name nor a number is an expression over names that were bound before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shapes.accepted import shown
from shapes.errors import NotExpressible, ParseError, ShapeError


@dataclass(frozen=True, slots=True)
class Anonymous:
    """`_`: any size."""


@dataclass(frozen=True, slots=True)
class Named:
    """`batch`: the size of this name; the first one binds it."""

    name: str
    broadcastable: bool = False


@dataclass(frozen=True, slots=True)
class Fixed:
    """`3`: this size."""

    size: int
    broadcastable: bool = False


@dataclass(frozen=True, slots=True)
class Computed:
    """`batch*2+{n}`: the size that the expression has; braces read arguments of the call."""

    text: str
    broadcastable: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """`*batch` or `...`: any number of dimensions; those of one name are the same. The name is None for `...`."""

    name: str | None
    broadcastable: bool = False


Dimension = Anonymous | Named | Fixed | Computed | Several

MARKS: Final = "#*_?"
"""Broadcastable, several, anonymous, of a tree."""


def read_dimensions(text: str) -> tuple[Dimension, ...]:
    """The dimensions of a text such as `"batch channels"`.

    Raises:
        ParseError: jaxtyping does not accept the text.
        NotExpressible: a size depends on a place in a tree (`?name`).
    """
    if not isinstance(text, str):
        raise ShapeError(f"text={shown(text)}: expected dimensions as jaxtyping writes them, 'batch channels' for one")
    found: list[Dimension] = []
    column = 0
    for word in text.split():
        column = text.index(word, column)
        found.append(_dimension(word, text, column))
        if isinstance(found[-1], Several) and sum(isinstance(each, Several) for each in found) > 1:
            raise ParseError("only one dimension may stand for several (`*name` or `...`)", text, column)
        column += len(word)
    return tuple(found)


def _dimension(word: str, text: str, column: int) -> Dimension:
    def refused(why: str) -> ParseError:
        return ParseError(f"{why}: `{word}`", text, column)

    if "," in word and "(" not in word:
        raise refused("spaces separate dimensions, not commas")
    if word.endswith("#"):
        raise refused("`#` must come before its dimension")
    if "..." in word:
        if word != "...":
            raise refused("`...` stands alone")
        return Several(None)
    rest, marks = _marks(word, refused)
    broadcastable, several, anonymous = "#" in marks, "*" in marks, "_" in marks
    if "?" in marks:
        raise NotExpressible(f"`{word}` in `{text}`: its size depends on the place in a tree; give each leaf a name")
    if not rest or rest.isidentifier():
        if anonymous and broadcastable:
            raise refused("a dimension without a name cannot be broadcastable")
        if anonymous:
            return Several(None) if several else Anonymous()
        return Several(rest, broadcastable) if several else Named(rest, broadcastable)
    try:
        size = int(rest)
    except ValueError:
        if anonymous or several:
            raise refused("an expression is one dimension with a size") from None
        return Computed(rest, broadcastable)
    if anonymous or several:
        raise refused("a number is one dimension with a size")
    return Fixed(size, broadcastable)


def _marks(word: str, refused: Callable[[str], ParseError]) -> tuple[str, set[str]]:
    """The word without its marks and without what stands before `=`, and the marks."""
    marks: set[str] = set()
    while word:
        if word[0] in MARKS:
            if word[0] in marks:
                raise refused(f"`{word[0]}` occurs twice")
            marks.add(word[0])
            word = word[1:]
        elif word.count("=") == 1:
            word = word.split("=")[1]
        else:
            break
    return word, marks


__all__ = ["Anonymous", "Computed", "Dimension", "Fixed", "Named", "Several", "read_dimensions"]
