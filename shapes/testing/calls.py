"""Calls of an operator with concrete shapes: what the testing kit generates and hands to rules and references alike.

    >>> from shapes.testing.calls import Call, Input
    >>> call = Call((Input((2, 3)), Input((4,), dtype="int64", low=0, high=3)), {"dim": 1})
    >>> [tuple(tensor) for tensor in call.inputs()]
    [(2, 3), (4,)]
    >>> call
    Call((Input((2, 3)), Input((4,), dtype='int64', high=3)), {'dim': 1})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int


class Input(Shape):
    """A tensor of concrete sizes, and what a reference fills it with: integers from `low` to below `high`, given
    `values` in row-major order, or anything.
    """

    low: int
    high: int
    values: tuple[int | float | bool, ...] | None

    def __new__(
        cls,
        sizes: Iterable[Int] = (),
        *,
        dtype: str | None = None,
        strides: Iterable[Int] | None = None,
        storage_offset: Int = 0,
        low: int = 0,
        high: int = 1,
        values: Iterable[int | float | bool] | None = None,
    ) -> Input:
        self = super().__new__(cls, sizes, dtype=dtype, strides=strides, storage_offset=storage_offset)
        assert isinstance(self, Input)
        self.low, self.high = low, high
        self.values = None if values is None else tuple(values)
        return self

    def __repr__(self) -> str:
        usual = {"dtype": None, "strides": None, "storage_offset": 0, "values": None, "low": 0, "high": 1}
        given = {name: getattr(self, name) for name in usual}
        more = [f", {name}={value!r}" for name, value in given.items() if value != usual[name]]
        return f"Input({tuple(self)!r}{''.join(more)})"


@dataclass(frozen=True)
class Call:
    """Arguments of an operator: an `Input` wherever it takes a tensor, also inside lists."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object] = field(default_factory=dict)

    def inputs(self) -> Iterator[Input]:
        """The tensors, in order."""
        found: list[Input] = []
        self.replaced(lambda tensor: found.append(tensor))
        return iter(found)

    def replaced(self, by: Callable[[Input], object]) -> tuple[tuple[object, ...], dict[str, object]]:
        """Arguments with a replacement for each tensor."""

        def walk(value: object) -> object:
            if isinstance(value, Input):
                return by(value)
            if type(value) is list:
                return [walk(item) for item in value]
            if type(value) is tuple:
                return tuple([walk(item) for item in value])
            return value

        return tuple([walk(value) for value in self.args]), {name: walk(value) for name, value in self.kwargs.items()}

    def __repr__(self) -> str:
        return f"Call({self.args!r}{f', {dict(self.kwargs)!r}' if self.kwargs else ''})"

    def __str__(self) -> str:
        shown = [repr(value) for value in self.args] + [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"({', '.join(shown)})"
