"""Relations between the sizes of arguments, stated by the caller, checked and used.

    >>> import torch
    >>> from frontends.pytorch import compile, dims, one_of
    >>> b, s = dims("b", "s")
    >>> @lambda f: compile(f, dynamic={"x": (b, 5 * b), "y": (s, one_of(4, 8))})
    ... def f(x, y):
    ...     return x.view(5, -1) if x.shape[1] % x.shape[0] == 0 else x
    >>> f(torch.randn(2, 10), torch.randn(3, 4)).shape, [str(guard) for guard in f.variants[0].guards]
    (torch.Size([5, 4]), ['5*x.shape[0] == x.shape[1]'])
    >>> f(torch.randn(3, 14), torch.randn(3, 4))
    Traceback (most recent call last):
    frontends.pytorch.errors.ConstraintViolation: x.shape[1] is 14, but is stated to be 5*b, which is 15 with b = 3
    ...

A relation is an expression over named sizes, as text or Python. It is assumed in the trace, so that branches on it need
no guard, and checked at every call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partialmethod
from itertools import pairwise
from keyword import iskeyword
from typing import Final, TypeAlias

import torch

from frontends.pytorch.errors import ConstraintViolation, refusal, rejected
from frontends.pytorch.recording.inputs import Choice
from frontends.pytorch.source_location import origin
from shapes.accepted import did_you_mean, shown, whole_number
from shapes.env import ShapeEnv
from shapes.environment.symbols import RESERVED
from shapes.errors import Contradiction, ShapeError
from shapes.origin import Origin
from solver.terms.expr import Atom, Expr

NAME: Final = re.compile(r"[A-Za-z_]\w*")
FIX: Final = "state what holds for every call, or leave the dimension out (None)"


@dataclass(frozen=True, slots=True)
class Stated:
    """An expression over named sizes."""

    text: str
    names: tuple[Dim, ...] = ()

    def _with(self, sign: str, other: Stated | int | str, *, reflected: bool = False) -> Stated:
        if not isinstance(other, Stated | int | str):
            return NotImplemented
        text = other.text if isinstance(other, Stated) else str(other)
        operands = [f"({text})" if NAME.fullmatch(text) is None and not text.isdigit() else text]
        own = self.text if NAME.fullmatch(self.text) else f"({self.text})"
        operands.insert(1 if reflected else 0, own)
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

    def condition(self, word: str) -> str:
        return " or ".join([f"{word} == {value}" for value in self.values])


Statement: TypeAlias = "Stated | OneOf | str | int | None"
Statements: TypeAlias = Mapping[str, Sequence[Statement]]


def dims(*names: str, lo: int = 1, hi: int | None = None, where: str | Sequence[str] = ()) -> tuple[Dim, ...]:
    """Named sizes between `lo` and `hi`; `where` are conditions over them, such as "s % 16 == 0"."""
    def wrong(what: str, fix: str) -> ConstraintViolation:
        return ConstraintViolation(refusal(f"dims({', '.join(map(shown, names))}{what}", fix, origin()))

    if not names or not all(isinstance(name, str) for name in names):
        raise wrong(")", 'names, as in dims("b", "s")')
    words = [word for name in names for word in re.split(r"[\s,]+", name.strip())]
    if len(words) != len(set(words)) or not all(map(_is_name, words)):
        raise wrong(")", "names that differ, and are no words of the language")
    try:
        lo = whole_number("lo", lo, "a size")
        hi = None if hi is None else whole_number("hi", hi, "a size, or None")
    except ShapeError as error:
        raise wrong(f", ...): {error}", "lo=1, say, the least size") from None
    if lo < 0 or hi is not None and lo > hi:
        raise wrong(f", lo={lo}, hi={hi}): no size lies between", "a least and a greatest size")
    if not isinstance(where, str | list | tuple) or not all(isinstance(each, str) for each in where):
        raise wrong(f", where={shown(where)})", 'conditions as text, as in where="s % 16 == 0"')
    conditions = (where,) if isinstance(where, str) else tuple(where)
    _check_conditions(words, lo, hi, conditions, wrong)
    return tuple([Dim(word, (), lo, hi, conditions) for word in words])


def _is_name(word: str) -> bool:
    return NAME.fullmatch(word) is not None and word not in RESERVED and not iskeyword(word)


def _check_conditions(
    words: Sequence[str],
    lo: int,
    hi: int | None,
    conditions: Sequence[str],
    wrong: Callable[[str, str], ConstraintViolation],
) -> None:
    """Reject conditions that cannot be parsed or satisfied; they may use names of other `dims` too."""
    env = environment([Dim(word, (), lo, hi) for word in words])
    for condition in conditions:
        for word in NAME.findall(condition):
            if word not in env.names and _is_name(word) and f"{word}(" not in condition.replace(" ", ""):
                env.symbol(word, lo=None)
        try:
            env.assume(condition)
        except Contradiction as error:
            raise wrong(f", where={condition!r}): what is stated contradicts itself: {error}", FIX) from None
        except ShapeError as error:
            raise wrong(f", where={condition!r}): {error}", 'a condition, as in where="s % 16 == 0"') from None


def one_of(*values: int) -> OneOf:
    """A size that is one of these."""
    try:
        sizes = [whole_number("value", value) for value in values]
    except ShapeError:
        sizes = [-1]
    if not sizes or min(sizes) < 0:
        rejected(f"one_of({', '.join(map(shown, values))})", "sizes, at least one")
    return OneOf(tuple(sorted(set(sizes))))


class Relations:
    """All stated relations of a function's arguments."""

    def __init__(self, statements: Statements, fn: object = None) -> None:
        self.place: Origin | None = origin()
        for name, of_input in statements.items():
            if not isinstance(of_input, list | tuple):
                fix = f"one for each dimension, as in {{{name!r}: ('b', None)}}"
                raise self._wrong(f"{name}: {shown(of_input)}", fix)
        self._check_names(list(statements), fn)
        self.statements = {name: tuple(of_input) for name, of_input in statements.items()}
        self.named: dict[str, Dim] = {}
        self.texts: dict[tuple[str, int], str] = {}
        for name, axis, stated in self._each():
            if isinstance(stated, Stated):
                self.texts[name, axis] = stated.text
                for dim in [stated, *stated.names]:
                    if isinstance(dim, Dim):
                        self.named[dim.text] = dim
            elif isinstance(stated, str):
                self.texts[name, axis] = stated
            elif not (stated is None or isinstance(stated, OneOf) or type(stated) is int and stated >= 0):
                raise self._wrong(f"{name}: {stated!r}", "an expression, a name, a number, one_of(...) or None")
        for text in self.texts.values():
            for word in NAME.findall(text):
                if word not in RESERVED:
                    self.named.setdefault(word, Dim(word))
        self.conditions = list(dict.fromkeys([each for dim in self.named.values() for each in dim.where]))
        self.homes: dict[str, tuple[str, int]] = {}
        """The source of the value of a name: the first size that it is by itself."""
        for place, text in self.texts.items():
            if text in self.named:
                self.homes.setdefault(text, place)
        self.env = environment(self.named.values())
        self.sizes: dict[tuple[str, int], Expr] = {}
        for (name, axis), text in self.texts.items():
            try:
                self.sizes[name, axis], _ = self.env.parse_expr(text)
            except ShapeError as error:
                what = f"cannot read the relation stated for {name}.shape[{axis}]: {error}"
                raise self._wrong(what, "an expression over the named sizes") from None
        self.solved = {name: self._solved(name) for name in self.named if name not in self.homes}
        self._check_consistent()

    def _check_names(self, names: Sequence[object], fn: object) -> None:
        """Reject names that are no arguments of the function."""
        parameters = parameters_of(fn)
        for name in names:
            if not isinstance(name, str):
                raise self._wrong(f"{shown(name)} is no name of an input", "the names of the function's parameters")
            if parameters is not None and name not in parameters:
                inner = [each for each in parameters if re.fullmatch(rf"{re.escape(each)}_\d+_*", name)]
                if not inner:
                    known = f"{', '.join(parameters) or 'none'}{did_you_mean(name, parameters)}"
                    what = f"a relation is stated for {name}, but the tensors among the arguments are {known}"
                    raise self._wrong(what, f"a parameter of the function; {FIX}")

    def _each(self) -> Iterable[tuple[str, int, Statement]]:
        for name, of_input in self.statements.items():
            for axis, stated in enumerate(of_input):
                yield name, axis, stated

    def _solved(self, name: str) -> tuple[tuple[str, int], int, int]:
        """Solve for a name that is no size itself: from a size `a*name + c`."""
        for place, text in self.texts.items():
            if set(NAME.findall(text)) - RESERVED == {name}:
                at = [int(self.sizes[place].evaluate(self._known({name: value}))) for value in range(4)]
                steps = {after - before for before, after in pairwise(at)}
                if len(steps) == 1 and (step := steps.pop()) > 0:
                    return place, step, at[0]
        fix = f"a dimension that is {name} by itself, or a*{name} + c"
        raise self._wrong(f"{name} is the size of no dimension", fix)

    def _check_consistent(self) -> None:
        """Reject contradictory relations."""
        try:
            for text in (*self.conditions, *[f"{text} >= 0" for text in self.texts.values()]):
                self.env.assume(text)
            self.env.check_consistent()
        except Contradiction as error:
            raise self._wrong(f"what is stated contradicts itself: {error}", FIX) from error
        except ShapeError as error:
            fix = "an expression over the named sizes"
            raise self._wrong(f"what is stated cannot be read: {error}", fix) from error

    def _known(self, values: Mapping[str, int]) -> dict[Atom, int]:
        """The values of names by their symbols."""
        return {atom: value for name, value in values.items() for atom in self.env.names[name].symbols}

    def _wrong(self, what: str, fix: str) -> ConstraintViolation:
        return ConstraintViolation(refusal(what, fix, self.place))

    # ------------------------------------------------------------------ for one trace

    def choice(self, name: str, axis: int) -> Choice | None:
        """The treatment of a size by its relation."""
        of_input = self.statements.get(name)
        stated = of_input[axis] if of_input is not None and 0 <= axis < len(of_input) else None
        if stated is None:
            return None
        if isinstance(stated, int):
            return Choice("static")
        text = self.texts.get((name, axis))
        dim = self.named.get(text) if text is not None else None
        if dim is None:
            return Choice("dynamic", lo=0)
        word = dim.text if self.homes[dim.text] == (name, axis) else None
        return Choice("dynamic", dim.lo, dim.hi, word=word)

    def check(self, shapes: Mapping[str, Sequence[int]], place: Origin | None) -> None:
        """Check the sizes of a call against the relations.

        Raises:
            ConstraintViolation: a size violates one.
        """

        def wrong(what: str) -> ConstraintViolation:
            return ConstraintViolation(refusal(what, f"other sizes, or {FIX}", place))

        for name, of_input in self.statements.items():
            if name not in shapes:
                known = ", ".join(shapes) or "none"
                raise wrong(f"a relation is stated for {name}, but the tensors among the arguments are {known}")
            if len(of_input) != len(shapes[name]):
                raise wrong(f"{name} has {len(shapes[name])} dimensions, but {len(of_input)} are stated")
        values: dict[str, int] = {}
        for word, (name, axis) in self.homes.items():
            values[word] = shapes[name][axis]
        for word, ((name, axis), step, start) in self.solved.items():
            size = shapes[name][axis]
            if (size - start) % step:
                raise wrong(f"{name}.shape[{axis}] is {size}, but is stated to be {self.texts[name, axis]}")
            values[word] = (size - start) // step
        for word, value in values.items():
            dim = self.named[word]
            if value < dim.lo or (dim.hi is not None and value > dim.hi):
                bounds = f"at least {dim.lo}" + (f" and at most {dim.hi}" if dim.hi is not None else "")
                raise wrong(f"{word} is {value}, but is stated to be {bounds}")
        for name, axis, stated in self._each():
            size = shapes[name][axis]
            if isinstance(stated, int) and size != stated:
                raise wrong(f"{name}.shape[{axis}] is {size}, but is stated to be {stated}")
            if isinstance(stated, OneOf) and size not in stated.values:
                shown = ", ".join([str(value) for value in stated.values])
                raise wrong(f"{name}.shape[{axis}] is {size}, but is stated to be one of {shown}")
        numbers = self._known(values)
        for (name, axis), text in self.texts.items():
            value, size = int(self.sizes[name, axis].evaluate(numbers)), shapes[name][axis]
            if value != size:
                stated = f"{text}, which is {value}{used_in(text, values)}"
                raise wrong(f"{name}.shape[{axis}] is {size}, but is stated to be {stated}")
        for condition in self.conditions:
            prop, domain = self.env.parse(condition)
            if not (domain.evaluate(numbers) and prop.evaluate(numbers)):
                raise wrong(f"`{condition}` is stated, but is false{used_in(condition, values)}")

    def propositions(self) -> tuple[str, ...]:
        """The relations over the words of sizes: the names of `dims`, and `x_size0` of an input `x`."""
        words = {place: f"{place[0]}_size{place[1]}" for place in self._places()}
        words.update({place: name for name, place in self.homes.items()})
        meaning = {
            name: f"(({words[place]} - {start})//{step})" for name, (place, step, start) in self.solved.items()
        }
        found = []
        for place, text in self.texts.items():
            if self.homes.get(text) != place:
                found.append(f"{words[place]} == {substituted(text, meaning)}")
        for name, axis, stated in self._each():
            if isinstance(stated, OneOf):
                found.append(stated.condition(words[name, axis]))
        for name, dim in self.named.items():
            if name in self.solved:
                found.append(f"{meaning[name]} >= {dim.lo}")
                if dim.hi is not None:
                    found.append(f"{meaning[name]} <= {dim.hi}")
        return (*found, *[substituted(condition, meaning) for condition in self.conditions])

    def _places(self) -> list[tuple[str, int]]:
        return [(name, axis) for name, axis, _ in self._each()]


def environment(dims: Iterable[Dim]) -> ShapeEnv:
    """An environment of named sizes with their bounds."""
    env = ShapeEnv(origin=lambda: None)
    for dim in dims:
        env.symbol(dim.text, lo=dim.lo, hi=dim.hi)
    return env


def parameters_of(fn: object) -> list[str] | None:
    """The names of a function's parameters; None if it has variadic ones."""
    if fn is None:
        return None
    try:
        signature = inspect.signature(fn.forward if isinstance(fn, torch.nn.Module) else fn)  # type: ignore[arg-type]  # else raises
    except (TypeError, ValueError):
        return None
    parameters = signature.parameters.values()
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters):
        return None
    return [each.name for each in parameters]


def used_in(text: str, values: Mapping[str, int]) -> str:
    """The text of the values of an expression's names."""
    used = [f"{word} = {values[word]}" for word in dict.fromkeys(NAME.findall(text)) if word in values]
    return f" with {', '.join(used)}" if used else ""


def substituted(text: str, meaning: Mapping[str, str]) -> str:
    """An expression with its names replaced."""
    return NAME.sub(lambda match: meaning.get(match[0], match[0]), text)
