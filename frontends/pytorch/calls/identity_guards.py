"""Identity guards: test in C whether all places hold the same objects as before.

    >>> from frontends.pytorch.calls.identity_guards import Held
    >>> factors, items = {"factor": 2.5}, [object()]
    >>> held = Held()
    >>> held.item(factors, "factor", factors["factor"])
    >>> held.contents(items, tuple(items))
    True
    >>> unchanged = held.test()
    >>> unchanged()
    True
    >>> factors["factor"] = 3.5
    >>> unchanged()
    False

A model has thousands of places, which take 80 us in Python. Most are in dictionaries, which have version tags: one word
is compared for each, in the order of addresses, which takes 2 us in C, or 12 us with a cold cache after kernels.
Without a C compiler the test always fails. A different object may still be an equal value: the caller decides that.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from gc import get_referents
from itertools import accumulate, chain
from pathlib import Path
from struct import calcsize
from types import CellType, MappingProxyType
from typing import Any, Final, cast

import torch

from backends.cpu.launcher import launcher
from shapes.guards.extension_modules import build
from shapes.guards.toolchain import Unavailable

WORDS: Final = "tcfpq"
"""Kinds of places compared by one word of an object: its class, a cell's content, a function's code."""


class Held:
    """The observed values of places: kinds, containers, keys and values."""

    def __init__(self) -> None:
        self._places: list[tuple[Any, ...]] = []

    def item(self, container: object, key: object, value: object) -> None:
        """Add `container[key]`, or a cell's content."""
        if type(container) is MappingProxyType:
            # the dictionary of a proxy, such as a class's attributes
            shown = get_referents(container)
            container = shown[0] if len(shown) == 1 and type(shown[0]) is dict else container
        plain = "d" if type(container) is dict and type(key) is str else "i"
        self._add("c" if type(container) is CellType else plain, container, key, value)

    def attribute(self, container: object, name: str, value: object) -> None:
        self._add("a", container, name, value)

    def place(self, kind: str, container: object, key: Any, value: Any) -> None:  # as the kind says
        """Add a place of any kind; see `frontends.pytorch.calls.reads`."""
        match kind:
            case "slot":
                self.attribute(container, key, value)
            case "class" | "keys":
                self._add({"class": "t", "keys": "k"}[kind], container, None, value)
            case "function":
                for part, each in zip("fpq", value, strict=True):
                    self._add(part, container, None, each)
            case _:
                self.item(container, key, value)

    def absent(self, container: dict[Any, Any], key: object) -> None:
        """Add the absence of a key in a dictionary."""
        self._add("x", container, key, None)

    def count(self, container: object, count: int) -> None:
        """Add the number of items."""
        self._add("n", container, None, count)

    def contents(self, container: object, items: tuple[object, ...]) -> bool:
        """Add all items of a list or a set, or all keys and values of a dictionary. False if the caller must compare
        it, such as a container with its own order."""
        if not isinstance(container, list | set | dict) or (isinstance(container, OrderedDict) and items):
            return False
        self._add("h", container, None, items)
        return True

    def _add(self, *place: Any) -> None:  # kind, container, key and value
        self._places.append(place)

    def test(self) -> Callable[[], bool]:
        """A test whether all of them are unchanged."""
        unchanged = _unchanged()
        if unchanged is None:
            return lambda: False
        # grouped by container, except places that are one word
        groups: dict[tuple[int, str], list[tuple[Any, ...]]] = {}
        for place in self._places:
            groups.setdefault((id(place[1]), place[0] if place[0] in WORDS else ""), []).append(place)
        # in the order of addresses, which is fastest
        runs = [groups[key] for key in sorted(groups)]
        kinds, *objects = zip(*chain(*runs)) if runs else ((), (), (), ())
        ends, scratch = array("i", accumulate(map(len, runs))), bytearray(2 * calcsize("P") * len(runs))
        return partial(unchanged, "".join(kinds).encode(), *objects, ends.tobytes(), scratch)


@cache
def _unchanged() -> Callable[..., bool] | None:
    built = build(Path(__file__).with_suffix(".c").read_text())
    return None if isinstance(built, Unavailable) else cast(Callable[..., bool], built)


class Layouts:
    """Captured tensors with their guarded metadata, which `.data = ...` may change."""

    def __init__(
        self, tensors: Sequence[torch.Tensor], layouts: Sequence[object], read: Callable[[torch.Tensor], object]
    ) -> None:
        """`layouts` are the expected results of `read`."""
        self._tensors, self._layouts, self._read = tuple(tensors), list(layouts), read
        self._seen: Callable[[], bool] | None = None

    def unchanged(self) -> bool:
        """Whether all match. A tensor unchanged since the last match is not read again."""
        if self._seen is not None and self._seen():
            return True
        if list(map(self._read, self._tensors)) != self._layouts:
            return False
        found = launcher()
        if not isinstance(found, Unavailable):
            try:
                self._seen = found.Layouts(self._tensors)
            except ValueError:
                # one that kernels do not read, such as a sparse one: not cached
                self._seen = None
        return True
