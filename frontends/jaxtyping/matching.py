"""Match shapes with annotated dimensions, in jaxtyping's order: conditions on sizes, and sizes by name.

    >>> from frontends.jaxtyping.dimensions import read_dimensions
    >>> from frontends.jaxtyping.matching import Matching
    >>> matching = Matching()
    >>> [each.holds for each in matching.conditions(read_dimensions("b n"), (3, 4), "x")]
    [True]
    >>> [each.text for each in matching.conditions(read_dimensions("n b+1"), (5, 4), "y") if each.holds is not True]
    ['dimension n: y.shape[0] is 5, x.shape[1] is 4']

The same walk matches numbers, where conditions are truths of Python, and symbolic sizes, where they are propositions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from frontends.arithmetic import OPERATIONS, Walk
from frontends.jaxtyping.dimensions import Anonymous, Computed, Dimension, Fixed, Named, Several
from shapes.errors import NotExpressible, ParseError, ShapeError, Undefined
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_max, sym_min, sym_not, sym_or
from shapes.symbolic.numbers import SymInt

BRACES: Final = re.compile(r"\{([^{}]*)\}")
CALLS: Final[Mapping[str, Callable[..., Int]]] = {  # type: ignore[explicit-any]  # each its own
    "min": sym_min,
    "max": sym_max,
    "abs": abs,
}
LIKE_NAMES: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of sizes that the annotations make; `text` names the dimension, the places and the sizes."""

    holds: Truth
    text: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The size of a name, where it was bound, and when: a size of 1 does not bind a broadcastable name."""

    size: Int
    place: str
    certain: Truth = True


@dataclass(frozen=True, slots=True)
class BoundShape:
    """The sizes of a `*name`, and where they were bound."""

    sizes: tuple[Int, ...]
    place: str
    broadcastable: bool


class Matching:
    """The names that are bound so far. `values` are arguments of the call by name, for `{n}`."""

    def __init__(self, values: Mapping[str, object] = {}) -> None:
        self.values = values
        self.sizes: dict[str, Bound] = {}
        self.shapes: dict[str, BoundShape] = {}
        self.structures: dict[str, tuple[object, str]] = {}
        """The structures of trees by name, and where they were bound."""

    def structured(self, name: str, structure: object, place: str) -> Condition:
        """The condition under which a tree has the structure of this name."""
        bound, where = self.structures.setdefault(name, (structure, place))
        return Condition(bound == structure, f"structure {name}: {place} is nested unlike {where}")

    def conditions(self, dimensions: Sequence[Dimension], shape: Sequence[Int], place: str) -> Iterator[Condition]:
        """The conditions under which a shape has these dimensions. Each is followed by what it binds."""
        index = next((i for i, each in enumerate(dimensions) if isinstance(each, Several)), None)
        found = f"{place} has {len(shape)} dimension{'' if len(shape) == 1 else 's'}"
        if index is None:
            yield Condition(len(shape) == len(dimensions), f"{found}, annotated with {len(dimensions)}")
            if len(shape) == len(dimensions):
                for axis, dimension in enumerate(dimensions):
                    yield from self.condition(dimension, shape[axis], f"{place}.shape[{axis}]")
            return
        after = len(dimensions) - index - 1
        yield Condition(len(shape) >= index + after, f"{found}, annotated with at least {index + after}")
        if len(shape) < index + after:
            return
        end = len(shape) - after
        for axis in (*range(index), *range(end, len(shape))):
            dimension = dimensions[axis] if axis < index else dimensions[axis - end + index + 1]
            yield from self.condition(dimension, shape[axis], f"{place}.shape[{axis}]")
        several = dimensions[index]
        assert isinstance(several, Several)
        if several.name is not None:
            yield from self._several(several.name, several.broadcastable, tuple(shape[index:end]), place)

    def condition(self, dimension: Dimension, size: Int, place: str) -> Iterator[Condition]:
        """The condition under which one size is this dimension."""
        match dimension:
            case Named(name, broadcastable):
                yield from self._named(name, broadcastable, size, place)
            case Fixed(expected, broadcastable):
                fits = size == expected
                text = f"dimension {expected}: {place} is {size}"
                yield Condition(sym_or(fits, size == 1) if broadcastable else fits, text)
            case Computed(text, broadcastable):
                if broadcastable and isinstance(size, int) and size == 1:
                    return
                value = self.compute(text)
                fits = size == value
                said = f"dimension {text}: {place} is {size}, the expression is {value}{self._places(text)}"
                yield Condition(sym_or(fits, size == 1) if broadcastable else fits, said)
            case Anonymous() | Several():
                pass

    def _named(self, name: str, broadcastable: bool, size: Int, place: str) -> Iterator[Condition]:
        bound = self.sizes.get(name)
        one: Truth = broadcastable and size == 1
        if bound is None:
            self._bind(name, Bound(size, place, sym_not(one)))
            return
        fits = sym_or(one, sym_not(bound.certain), size == bound.size)
        yield Condition(fits, f"dimension {name}: {place} is {size}, {bound.place} is {bound.size}")
        if bound.certain is not True:
            kept = sym_ite(one, bound.size, size)
            self._bind(name, Bound(kept, place, sym_or(bound.certain, sym_not(one))))

    def _bind(self, name: str, bound: Bound) -> None:
        if bound.certain is not False:
            self.sizes[name] = bound

    def _several(self, name: str, broadcastable: bool, shape: tuple[Int, ...], place: str) -> Iterator[Condition]:
        bound = self.shapes.get(name)
        if bound is None:
            self.shapes[name] = BoundShape(shape, place, broadcastable)
            return
        text = f"dimensions *{name}: those of {place} are {_shown(shape)}, those of {bound.place} {_shown(bound.sizes)}"
        if not (bound.broadcastable or broadcastable):
            yield from [Condition(holds, text) for holds in _same(shape, bound.sizes)]
            return
        both = _broadcast(shape, bound.sizes)
        kept = shape if not broadcastable else bound.sizes if not bound.broadcastable else both
        yield from [Condition(holds, text) for holds in (*_compatible(shape, bound.sizes), *_same(both, kept))]
        if bound.broadcastable:
            self.shapes[name] = BoundShape(both, place, broadcastable)

    def compute(self, text: str) -> Int:
        """The value of an expression over the names that are bound.

        Raises:
            ShapeError: it is none, or reads a name that is not bound.
        """
        arguments: dict[str, SymInt] = {}
        written = BRACES.sub(lambda match: self._argument(match[1], text, arguments), text)
        symbol, refused = partial(self._symbol, text, arguments), partial(_refused, text, arguments)
        walk = Walk(symbol, CALLS, tuple(OPERATIONS), refused)
        try:
            tree = ast.parse(written, mode="eval").body
            for node in ast.walk(tree):
                # jaxtyping writes -3 into `{n}**2`, which is -9
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _is_argument(node.left, arguments):
                    raise NotExpressible(f"`{text}`: write `({BRACES.findall(text)[0]})**...` as a product of sizes")
            found: Int = walk.read(tree)
            return found
        except SyntaxError as error:
            raise ParseError(f"expected an expression: {error.msg}", text, 0) from None
        except RecursionError:
            raise ParseError("nested too deeply", text, 0) from None
        except ZeroDivisionError as error:
            raise Undefined(f"dimension `{text}`: {error}") from None

    def _symbol(self, text: str, arguments: Mapping[str, SymInt], name: str) -> Int:
        if name in arguments:
            return arguments[name]
        bound = self.sizes.get(name)
        if bound is None or bound.certain is not True:
            known = ", ".join([each for each, size in self.sizes.items() if size.certain is True]) or "none"
            when = "bound only where it is not 1" if bound else "not bound before"
            raise ShapeError(f"dimension `{text}`: {name} is {when}; bound are {known}")
        return bound.size

    def _argument(self, path: str, text: str, arguments: dict[str, SymInt]) -> str:
        """The text that stands for an argument in an expression."""
        first, *rest = path.split(".")
        if not LIKE_NAMES.fullmatch(path) or first not in self.values:
            known = ", ".join(self.values) or "none"
            raise ShapeError(f"dimension `{text}`: there is no argument {path}; values are known for {known}")
        value = self.values[first]
        for attribute in rest:
            value = getattr(value, attribute, None)
        if isinstance(value, SymInt):
            name = f"__argument{len(arguments)}"
            arguments[name] = value
            return name
        if isinstance(value, int | str):
            return str(value)
        raise ShapeError(f"dimension `{text}`: {path} is {value!r}, expected an integer")

    def _places(self, text: str) -> str:
        names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", BRACES.sub("", text)))
        known = [(name, self.sizes[name]) for name in names if name in self.sizes]
        return f" ({', '.join([f'{name} is {bound.size} at {bound.place}' for name, bound in known])})" if known else ""


def _is_argument(node: ast.expr, arguments: Mapping[str, SymInt]) -> bool:
    return isinstance(node, ast.Name) and node.id in arguments


def _refused(text: str, arguments: Mapping[str, SymInt], node: ast.expr) -> ShapeError:
    part = "an argument" if _is_argument(node, arguments) else f"`{ast.unparse(node)}`"
    return NotExpressible(
        f"dimension `{text}`: {part} is not read; `+ - * // % **`, min, max and abs of names and integers are"
    )


def _same(one: Sequence[Int], other: Sequence[Int]) -> list[Truth]:
    return [False] if len(one) != len(other) else [a == b for a, b in zip(one, other)]


def _compatible(one: Sequence[Int], other: Sequence[Int]) -> list[Truth]:
    return [sym_or(a == b, a == 1, b == 1) for a, b in zip(reversed(one), reversed(other))]


def _broadcast(one: Sequence[Int], other: Sequence[Int]) -> tuple[Int, ...]:
    """The shape that both broadcast to, where they are compatible."""
    longest, shortest = (one, other) if len(one) >= len(other) else (other, one)
    start = len(longest) - len(shortest)
    return (*longest[:start], *[sym_ite(a == 1, b, a) for a, b in zip(longest[start:], shortest)])


def _shown(sizes: Sequence[Int]) -> str:
    return f"({', '.join([str(size) for size in sizes])})"


__all__ = ["Condition", "Matching"]
