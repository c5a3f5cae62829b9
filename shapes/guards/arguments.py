"""Sources of sizes: the paths at which generated code finds them among its arguments.

A source is a position, `0`, or a path into nested arguments: `("x", 0)` is element 0 of the argument named x, `("x",
".shape", 0)` goes through an attribute, `("x", ".stride()", 0)` through a call, `("batch", "mask", 0)` through a key. A
list of them says that a symbol has several sources, which must agree.

    >>> from shapes.guards.arguments import Arguments
    >>> arguments = Arguments.of({"b": [("x", 0), ("y", 0)], "s": ("x", 1)})
    >>> arguments.names
    ('x', 'y')
    >>> arguments.positions
    {'b': (0, 1), 's': (2,)}
    >>> print(*arguments.unpacking([0, 2]), sep="\\n")
    try:
        x_0 = x[0]
        x_1 = x[1]
    except (TypeError, LookupError, AttributeError):
        return False

Arguments without one of the inputs are not accepted: generated code says False, and `explain` says what was missing.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from shapes.accepted import shown
from shapes.size_names import Placed, places_of
from solver.errors import ShapeError

RESERVED: Final = re.compile(
    r"__|(abs|bounded_power|check|default|found|lookup|(function|value|branch|table|there|expected)_\d+"
    r"|TypeError|LookupError|AttributeError|OverflowError)$"
)
"""Names that generated code uses itself."""

Step = int | str
Path = tuple[Step, ...]
Source = int | str | Path
Sources = Mapping[str, Source | list[Source]]
MOST: Final = 100_000
"""Arguments of a check."""


@dataclass(frozen=True, slots=True)
class Prologue:
    """The code that reads arguments which are not parameters of the generated function.

    Attributes:
        parameters: of the generated function.
        statements: put the arguments into locals of their names, or do `return default`.
        read: inputs that the statements put into locals as well, with the names of these.
        scope: what the statements refer to by name.
    """

    parameters: tuple[str, ...]
    statements: tuple[str, ...]
    read: Mapping[Path, str]
    scope: Mapping[str, object]


class Accepts(Protocol):
    """Generated code that says whether it accepts some arguments."""

    def __call__(self, *arguments: object, **named: object) -> bool: ...


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of generated code and the inputs found in them; an input is known by its position in `paths`."""

    names: tuple[str, ...]
    paths: tuple[Path, ...]
    locals: tuple[str, ...]
    positions: dict[str, tuple[int, ...]]
    """The positions of the sources of each symbol."""
    by_name: bool
    """True if the sources name the arguments; otherwise they count them."""

    @staticmethod
    def of(sources: Sources, names: Sequence[str] | None = None) -> Arguments:
        """`names` fixes the parameters and their order; without it they follow from the sources."""
        if names is not None and (isinstance(names, str) or not _are_names(names)):
            raise ShapeError(f"arguments={shown(names)}: expected the names of the arguments, such as ['x', 'y']")
        by_symbol: dict[str, list[Path]] = {}
        for symbol, source in sources.items():
            several = source if isinstance(source, list) else [source]
            by_symbol[symbol] = [_path(symbol, one) for one in several]
            if not several:
                raise ShapeError(f"sources[{symbol!r}]=[]: a symbol needs at least one source")
        parameters = _parameters(by_symbol) if names is None else tuple(names)
        named = frozenset(parameters)
        paths: dict[Path, int] = {}
        positions: dict[str, tuple[int, ...]] = {}
        for symbol, several_paths in by_symbol.items():
            found = []
            for path in several_paths:
                resolved = (_parameter(symbol, path, parameters, named), *path[1:])
                found.append(paths.setdefault(resolved, len(paths)))
            positions[symbol] = tuple(dict.fromkeys(found))
        by_name = any(isinstance(path[0], str) for several in by_symbol.values() for path in several)
        return Arguments(parameters, tuple(paths), local_names(paths, parameters), positions, by_name)

    def sources_of(self, symbol: str) -> list[Path]:
        """The places of the value of a symbol."""
        return [self.paths[position] for position in self.positions[symbol]]

    @property
    def places(self) -> dict[str, str]:
        """The places of the symbols that are named after them."""
        return places_of([Placed(symbol, self.text(found[0])) for symbol, found in self.positions.items()])

    def text(self, position: int) -> str:
        """The source text of this input, as a person writes it: `x[0]`."""
        return access(*self.paths[position])

    def unpacking(self, positions: Iterable[int], otherwise: str = "return False") -> list[str]:
        """Statements that put nested inputs into locals, and do `otherwise` where one of them is not there."""
        nested = [position for position in positions if len(self.paths[position]) > 1]
        if not nested:
            return []
        lines = [f"    {self.locals[position]} = {self.text(position)}" for position in nested]
        return ["try:", *lines, "except (TypeError, LookupError, AttributeError):", f"    {otherwise}"]

    def read(self, position: int, values: Mapping[str, object]) -> object:
        """The input at a position, from values by parameter name.

        Raises:
            LookupError, TypeError, AttributeError: the arguments do not have this structure.
        """
        head, *steps = self.paths[position]
        value = values[str(head)]
        for step in steps:
            if _is_attribute(step):
                name = str(step)[1:]
                value = getattr(value, name.removesuffix("()"))
                if name.endswith("()"):
                    value = value()
            else:
                value = value[step]  # type: ignore[index]
        return value


def _path(symbol: str, source: Source) -> Path:
    path = source if isinstance(source, tuple) else (source,)
    if not path or any(isinstance(step, bool) or not isinstance(step, (int, str)) for step in path):
        raise ShapeError(f"sources[{symbol!r}]={source!r}: expected a position, or a path such as ('x', 0)")
    if isinstance(path[0], int) and path[0] < 0:
        raise ShapeError(f"sources[{symbol!r}]={source!r}: positions count from 0")
    if isinstance(path[0], int) and path[0] >= MOST:
        raise ShapeError(f"sources[{symbol!r}]={shown(source)}: positions end at {MOST - 1:,}")
    return path


def _are_names(names: object) -> bool:
    return isinstance(names, Sequence) and all(isinstance(name, str) for name in names)


def _parameters(by_symbol: Mapping[str, Sequence[Path]]) -> tuple[str, ...]:
    heads = [path[0] for paths in by_symbol.values() for path in paths]
    if all(isinstance(head, str) for head in heads):
        return tuple(dict.fromkeys([str(head) for head in heads]))
    if not all(isinstance(head, int) for head in heads):
        raise ShapeError(
            "some sources begin with a position and some with a name: give the names of all arguments, in order"
        )
    count = 1 + max([head for head in heads if isinstance(head, int)])
    names = [f"argument{position}" for position in range(count)]
    taken = set(names)
    for symbol, paths in by_symbol.items():
        if len(paths) > 1 or symbol in taken or not usable(symbol):
            continue
        for path in paths:
            if len(path) == 1 and isinstance(path[0], int) and names[path[0]].startswith("argument"):
                taken.discard(names[path[0]])
                taken.add(symbol)
                names[path[0]] = symbol
    return tuple(names)


def _parameter(symbol: str, path: Path, parameters: Sequence[str], named: frozenset[str]) -> str:
    head = path[0]
    if isinstance(head, int):
        if head < len(parameters):
            return parameters[head]
    elif head in named:
        return head
    raise ShapeError(f"sources[{symbol!r}]={path!r}: the arguments are {', '.join(parameters) or 'none'}")


def local_names(paths: Iterable[Path], parameters: Sequence[str]) -> tuple[str, ...]:
    """A local name for each input: that of its parameter, or of its path."""
    used = set(parameters)
    for parameter in parameters:
        if not usable(parameter):
            why = "generated code means something else by it" if RESERVED.match(parameter) else "no ASCII identifier"
            raise ShapeError(f"{parameter!r} cannot be the name of an argument: {why}")
    found = []
    for path in paths:
        name = str(path[0])
        if len(path) > 1:
            name = re.sub(r"\W+", "_", "_".join([str(step) for step in path]), flags=re.ASCII)
            while name in used or not usable(name):
                name += "_"
            used.add(name)
        found.append(name)
    return tuple(found)


def usable(name: str) -> bool:
    """Return True if a name can be a parameter of generated code; names that it uses itself cannot."""
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and not RESERVED.match(name)


def access(head: Step, *steps: Step) -> str:
    """A path as a person writes it, and as Python reads it."""
    return str(head) + "".join([str(step) if _is_attribute(step) else f"[{step!r}]" for step in steps])


def _is_attribute(step: Step) -> bool:
    return isinstance(step, str) and step.startswith(".") and step[1:].removesuffix("()").isidentifier()
