"""Sizes by the names of their symbols, found under the names that people read as well.

>>> sizes = NamedSizes({"x_size0": 4, "n": 8}, {"x_size0": "x.shape[0]"})
>>> sizes["x_size0"], sizes["x.shape[0]"], sizes
(4, 4, {'x.shape[0]': 4, 'n': 8})
"""

from __future__ import annotations

from collections.abc import Mapping


class NamedSizes(dict[str, int]):
    """An assignment whose symbols have two names each: `x_size0` for code, `x.shape[0]` for people."""

    def __init__(self, sizes: Mapping[str, int], names: Mapping[str, str]) -> None:
        super().__init__(sizes)
        self._shown = {name: names[name] for name in sizes if name in names}

    def __missing__(self, shown: str) -> int:
        for name, other in self._shown.items():
            if other == shown:
                return self[name]
        raise KeyError(shown)

    def __repr__(self) -> str:
        return repr(by_shown_name(self))

    def by_shown_name(self) -> dict[str, int]:
        return {self._shown.get(name, name): value for name, value in self.items()}

    def __reduce__(self) -> tuple[object, ...]:
        return NamedSizes, (dict(self), self._shown)


def by_shown_name(sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Sizes by the names that people read."""
    return sizes.by_shown_name() if isinstance(sizes, NamedSizes) else sizes
