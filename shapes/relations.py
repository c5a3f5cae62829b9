"""Relations between the sizes of arguments: stated once, they are facts of an environment, and checked at each call.

    >>> from shapes import ShapeEnv
    >>> from shapes.relations import Relations, dims, one_of
    >>> b, s = dims("b", "s", where="s % 16 == 0")
    >>> relations = Relations({"x": (b, 5 * b), "y": ("s", one_of(4, 8), None)})
    >>> env = ShapeEnv()
    >>> x, y = relations.declare(env).values()
    >>> x, y
    ((b, x.shape[1]), (s, y.shape[1], y.shape[2]))
    >>> env.ask(x[1] % x[0] == 0), env.ask(y[0] * y[1] % 64 == 0)
    (Always(x.shape[1] == 5*b), Always(y.shape[1] == 4 or y.shape[1] == 8, s % 16 == 0))
    >>> relations.check({"x": (3, 14), "y": (32, 4, 7)})
    Traceback (most recent call last):
    shapes.errors.ConstraintViolation: `x.shape[1] == 5*b` is stated, but is false with x.shape[1] = 14, b = 3
    ...

Each axis is a name, an expression over names (text or Python), a number, `one_of(...)`, or None. A name is the first
size that it is by itself, or is solved for from a size `a*name + c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partialmethod
from typing import Final, NoReturn, TypeAlias

from shapes.accepted import did_you_mean, shown, whole_number
from shapes.env import ShapeEnv
from shapes.environment.symbols import can_be_name
from shapes.errors import ConstraintViolation, Contradiction, ShapeError, refusal
from shapes.origin import OriginProvider, here
from shapes.size_names import names_in, renamed, with_places
from shapes.symbolic.numbers import SymInt
from solver.terms.expr import Expr

FIX: Final = "state what holds for every call, or leave the dimension out (None)"
Place: TypeAlias = tuple[str, int]
"""The name of an argument, and an axis of it."""


@dataclass(frozen=True, slots=True)
class Stated:
    """An expression over named sizes."""

    text: str
    names: tuple[Dim, ...] = ()

    def _with(self, sign: str, other: Stated | int | str, *, reflected: bool = False) -> Stated:
        if not isinstance(other, Stated | int | str):
            return NotImplemented
        text = other.text if isinstance(other, Stated) else str(other)
        operands = [text if text.isidentifier() or text.isdigit() else f"({text})"]
        operands.insert(1 if reflected else 0, self.text if self.text.isidentifier() else f"({self.text})")
        names = (*self.names, *(other.names if isinstance(other, Stated) else ()))
        return Stated(f"{operands[0]}{sign}{operands[1]}", names)

    __add__, __radd__ = partialmethod(_with, " + "), partialmethod(_with, " + ", reflected=True)
    __sub__, __rsub__ = partialmethod(_with, " - "), partialmethod(_with, " - ", reflected=True)
    __mul__, __rmul__ = partialmethod(_with, "*"), partialmethod(_with, "*", reflected=True)
    __floordiv__, __mod__ = partialmethod(_with, "//"), partialmethod(_with, " % ")


@dataclass(frozen=True, slots=True)
class Dim(Stated):
    """A named size with its bounds and conditions."""

    lo: int = 1
    hi: int | None = None
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values."""

    values: tuple[int, ...]


Statement: TypeAlias = "Stated | OneOf | str | int | None"
Statements: TypeAlias = Mapping[str, Sequence[Statement]]


def dims(*names: str, lo: int = 1, hi: int | None = None, where: str | Sequence[str] = ()) -> tuple[Dim, ...]:
    """Named sizes between `lo` and `hi`; `where` are conditions over them, such as "s % 16 == 0"."""
    call = f"dims({', '.join(map(shown, names))}"
    if not names or not all(isinstance(name, str) for name in names):
        _rejected(f"{call})", 'names, as in dims("b", "s")')
    words = [word for name in names for word in re.split(r"[\s,]+", name.strip())]
    if len(words) != len(set(words)) or not all(map(can_be_name, words)):
        _rejected(f"{call})", "names that differ, and are no words of the language")
    try:
        lo = whole_number("lo", lo, "a size")
        hi = None if hi is None else whole_number("hi", hi, "a size, or None")
    except ShapeError as error:
        _rejected(f"{call}, ...): {error}", "lo=1, say, the least size")
    if lo < 0 or hi is not None and lo > hi:
        _rejected(f"{call}, lo={lo}, hi={hi}): no size lies between", "a least and a greatest size")
    if not isinstance(where, str | list | tuple) or not all(isinstance(each, str) for each in where):
        _rejected(f"{call}, where={shown(where)})", 'conditions as text, as in where="s % 16 == 0"')
    conditions = (where,) if isinstance(where, str) else tuple(where)
    return tuple([Dim(word, (), lo, hi, conditions) for word in words])


def one_of(*values: int) -> OneOf:
    """A size that is one of these."""
    try:
        sizes = [whole_number("value", value) for value in values]
    except ShapeError:
        sizes = [-1]
    if not sizes or min(sizes) < 0:
        _rejected(f"one_of({', '.join(map(shown, values))})", "sizes, at least one")
    return OneOf(tuple(sorted(set(sizes))))


def _rejected(what: str, fix: str) -> NoReturn:
    raise ConstraintViolation(refusal(what, fix, here())) from None


class Relations:
    """All stated relations between the sizes of some arguments; `origin` finds the line that errors name.

    Attributes:
        statements: by the name of an argument, what is stated of each axis.
        words: by argument and axis, the word of a size: a name of `dims`, or `x_size0` of an argument `x`.
        propositions: the relations over these words.
    """

    def __init__(self, statements: Statements, origin: OriginProvider = here) -> None:
        self._origin = origin
        for name, of_argument in statements.items():
            if not isinstance(name, str):
                raise self._wrong(f"{shown(name)} is no name of an input", "the names of the function's parameters")
            if not isinstance(of_argument, list | tuple):
                fix = f"one for each dimension, as in {{{name!r}: ('b', None)}}"
                raise self._wrong(f"{name}: {shown(of_argument)}", fix)
        self.statements = {name: tuple(of_argument) for name, of_argument in statements.items()}
        self._stated = {
            (name, axis): each for name, of_axes in self.statements.items() for axis, each in enumerate(of_axes)
        }
        self._texts: dict[Place, str] = {}
        self._named: dict[str, Dim] = {}
        for place, stated in self._stated.items():
            if isinstance(stated, Stated):
                self._texts[place] = stated.text
                self._named.update({dim.text: dim for dim in [stated, *stated.names] if isinstance(dim, Dim)})
            elif isinstance(stated, str):
                self._texts[place] = stated
            elif not (stated is None or isinstance(stated, OneOf) or type(stated) is int and stated >= 0):
                fix = "an expression, a name, a number, one_of(...) or None"
                raise self._wrong(f"{place[0]}: {stated!r}", fix)
        for text in self._texts.values():
            for word in names_in(text):
                self._named.setdefault(word, Dim(word))
        homes: dict[str, Place] = {}
        for place, text in self._texts.items():
            if text in self._named:
                # the first size that it is by itself has its value
                homes.setdefault(text, place)
        self.words = {(name, axis): f"{name}_size{axis}" for name, axis in self._stated}
        self.words.update({place: name for name, place in homes.items()})
        self.propositions = tuple(self._propositions(homes))
        self._env = ShapeEnv(origin=lambda: None)
        self._check_consistent()

    def _propositions(self, homes: Mapping[str, Place]) -> Iterator[str]:
        env = ShapeEnv(origin=lambda: None)
        sizes: dict[Place, Expr] = {}
        for (name, axis), text in self._texts.items():
            try:
                for word in names_in(text):
                    if word not in env.names:
                        env.symbol(word, lo=None)
                sizes[name, axis], _ = env.parse_expr(text)
            except ShapeError as error:
                what = f"cannot read the relation stated for {name}.shape[{axis}]: {error}"
                raise self._wrong(what, "an expression over the named sizes") from None
        meaning = {name: self._solved(name, sizes) for name in self._named if name not in homes}

        def spelled(text: str) -> str:
            return renamed(text, lambda name: meaning.get(name, name))

        for name, dim in self._named.items():
            yield f"{spelled(name)} >= {dim.lo}"
            if dim.hi is not None:
                yield f"{spelled(name)} <= {dim.hi}"
        for place, stated in self._stated.items():
            word, text = self.words[place], self._texts.get(place, "")
            if isinstance(stated, OneOf):
                yield " or ".join([f"{word} == {value}" for value in stated.values])
            elif isinstance(stated, int):
                yield f"{word} == {stated}"
            elif text and word != text:
                yield f"{word} == {spelled(text)}"
        yield from dict.fromkeys([spelled(each) for dim in self._named.values() for each in dim.where])

    def _solved(self, name: str, sizes: Mapping[Place, Expr]) -> str:
        """Solve for a name that is no size itself: from a size `a*name + c`."""
        for place, size in sizes.items():
            if [str(atom) for atom in size.symbols] == [name]:
                (atom,) = size.symbols
                start, *others = [int(size.evaluate({atom: value})) for value in range(4)]
                step = others[0] - start
                if step > 0 and others == [start + step, start + 2 * step, start + 3 * step]:
                    return f"(({self.words[place]} - {start})//{step})"
        fix = f"a dimension that is {name} by itself, or a*{name} + c"
        raise self._wrong(f"{name} is the size of no dimension", fix)

    def _check_consistent(self) -> None:
        """Reject contradictory relations."""
        try:
            self.declare(self._env)
            self._env.check_consistent()
        except Contradiction as error:
            raise self._wrong(f"what is stated contradicts itself: {error}", FIX) from error
        except ShapeError as error:
            fix = "an expression over the named sizes"
            raise self._wrong(f"what is stated cannot be read: {error}", fix) from error

    def _wrong(self, what: str, fix: str) -> ConstraintViolation:
        return ConstraintViolation(refusal(what, fix, self._origin()))

    # ------------------------------------------------------------------ use

    def declare(self, env: ShapeEnv) -> dict[str, tuple[SymInt, ...]]:
        """Declare the sizes in an environment and assume the relations; the sizes of each argument."""
        made = {
            (name, axis): env.symbol(word, source=f"{name}.shape[{axis}]") for (name, axis), word in self.words.items()
        }
        for text in self.propositions:
            env.assume(text)
        return {
            name: tuple([made[name, axis] for axis in range(len(of_axes))]) for name, of_axes in self.statements.items()
        }

    def named(self, name: str, axis: int) -> Dim | int | None:
        """A size with its word and bounds; a number if it is stated to be one, and None where nothing is stated."""
        stated = self._stated.get((name, axis))
        if stated is None or isinstance(stated, int):
            return stated
        text = self._texts.get((name, axis), "")
        return replace(self._named.get(text, Dim(text, lo=0)), text=self.words[name, axis])

    def check(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Check the sizes of a call against the relations.

        Raises:
            ConstraintViolation: a size violates one.
        """

        def wrong(what: str) -> ConstraintViolation:
            return self._wrong(what, f"other sizes, or {FIX}")

        for name, of_axes in self.statements.items():
            if name not in shapes:
                known = f"{', '.join(shapes) or 'none'}{did_you_mean(name, shapes)}"
                raise wrong(f"a relation is stated for {name}, but the tensors among the arguments are {known}")
            if len(of_axes) != len(shapes[name]):
                raise wrong(f"{name} has {len(shapes[name])} dimensions, but {len(of_axes)} are stated")
        sizes = {word: shapes[name][axis] for (name, axis), word in self.words.items()}
        places = {word: f"{name}.shape[{axis}]" for (name, axis), word in self.words.items() if word not in self._named}
        for text in self.propositions:
            prop, domain = self._env.parse(text)
            numbers = {atom: sizes[str(atom)] for atom in prop.symbols | domain.symbols}
            if not (domain.evaluate(numbers) and prop.evaluate(numbers)):
                raise wrong(with_places(violated(text, sizes), places))


def violated(text: str, values: Mapping[str, object]) -> str:
    """The text of an error: a proposition is false for these values of its words."""
    used = [f"{word} = {values[word]}" for word in names_in(text)]
    return f"`{text}` is stated, but is false with {', '.join(used)}"


__all__ = ["Dim", "OneOf", "Relations", "Stated", "Statement", "Statements", "dims", "one_of", "violated"]
