"""Validation of public arguments: errors name the parameter, the value and what is accepted.

    >>> from shapes.accepted import one_of, whole_number
    >>> whole_number("lo", 3)
    3
    >>> one_of("effort", "fats", ("fast", "full"))
    Traceback (most recent call last):
    solver.errors.InvalidArgument: effort='fats': expected fast or full; did you mean 'fast'?

Integers of other libraries count as Python's own, `np.int64` for one; truths do not.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from operator import index
from pathlib import Path
from typing import SupportsIndex, TypeVar

from shapes.errors import InvalidArgument, ShapeError
from solver.syntax.short_text import shortened

Value = TypeVar("Value")


def whole_number(label: str, value: object, expected: str = "an integer") -> int:
    """The value as Python's integer.

    Raises:
        ShapeError: it is none.
    """
    if type(value) is int:
        return value
    if isinstance(value, SupportsIndex) and not is_truth(value):
        try:
            return index(value)
        except TypeError:
            pass
    raise ShapeError(f"{label}={shown(value)}: expected {expected}")


def by_name(label: str, values: object, named: Mapping[str, Value]) -> dict[str, Value]:
    """Values by name, from a mapping and from keywords.

    Raises:
        ShapeError: it is no mapping of names.
    """
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise ShapeError(f"{label}={shown(values)}: expected values by name, such as {{'s': 16}}")
    return {**values, **named}


def path_to_write(label: str, value: object) -> Path:
    """The path of a file to write.

    Raises:
        ShapeError: it is none.
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or not Path(value).name or "\0" in value:
        raise ShapeError(f"{label}={shown(value)}: expected the path of a file to write")
    return Path(value)


def is_truth(value: object) -> bool:
    """Return True for a bool, NumPy's included."""
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy"


def one_of(label: str, value: object, accepted: Iterable[str], *, but: str = "") -> str:
    """The value, if it is one of the accepted texts.

    Raises:
        InvalidArgument: it is none of them.
    """
    known = list(accepted)
    if isinstance(value, str) and value in known:
        return value
    *most, last = known
    listed = f"{', '.join(most)} or {last}" if most else last
    raise InvalidArgument(f"{label}={shown(value)}: expected {listed}{but}{did_you_mean(value, known)}")


def did_you_mean(value: object, known: Iterable[str]) -> str:
    """A question about the closest of the known names; empty where none is close."""
    close = difflib.get_close_matches(value, list(known), 1) if isinstance(value, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def shown(value: object) -> str:
    """A value in a message."""
    try:
        return shortened(repr(value))
    except Exception:  # whose class cannot even print it
        return f"an object of the class {type(value).__qualname__}"
