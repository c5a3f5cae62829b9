"""Whether places hold the very objects that they held, asked of all of them at once in C.

    >>> from frontends.pytorch.calls.unchanged import Held
    >>> factors, items = {"factor": 2.5}, [object()]
    >>> held = Held()
    >>> held.item(factors, "factor", factors["factor"])
    >>> held.contents(items, tuple(items))
    >>> unchanged = held.test()
    >>> unchanged()
    True
    >>> factors["factor"] = 3.5
    >>> unchanged()
    False

A model reads a thousand and more of them, which takes 80 us in Python and 15 in C. Where there is no C compiler nothing
is known to be unchanged. Another object may still be the same value: that is for the caller to find out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CellType
from typing import cast

from shapes.native import build
from shapes.toolchain import Unavailable

Test = Callable[[bytes, tuple[object, ...], tuple[object, ...], tuple[object, ...]], bool]


class Held:
    """What places held: their kinds, containers, keys and values."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._containers: list[object] = []
        self._keys: list[object] = []
        self._values: list[object] = []

    def item(self, container: object, key: object, value: object) -> None:
        """`container[key]`, or what is in a cell."""
        plain = "d" if type(container) is dict and type(key) is str else "i"
        self._add("c" if type(container) is CellType else plain, container, key, value)

    def attribute(self, container: object, name: str, value: object) -> None:
        self._add("a", container, name, value)

    def count(self, container: object, count: int) -> None:
        """How many items there are."""
        self._add("n", container, None, count)

    def contents(self, container: list | dict, items: tuple[object, ...]) -> None:
        """All items of a list, all keys and then all values of a dictionary."""
        self._add("h", container, None, items)

    def _add(self, kind: str, container: object, key: object, value: object) -> None:
        self._kinds.append(kind)
        self._containers.append(container)
        self._keys.append(key)
        self._values.append(value)

    def test(self) -> Callable[[], bool]:
        """Whether all of them are what they were."""
        kinds = "".join(self._kinds).encode()
        containers, keys, values = tuple(self._containers), tuple(self._keys), tuple(self._values)
        unchanged = _unchanged()
        if unchanged is None:
            return lambda: False
        return lambda: unchanged(kinds, containers, keys, values)


@cache
def _unchanged() -> Test | None:
    built = build(Path(__file__).with_suffix(".c").read_text())
    return None if isinstance(built, Unavailable) else cast(Test, built)


__all__ = ["Held"]
