"""Callers' statements about sizes: marks of tensors, and relations between the sizes of arguments.

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
    frontends.pytorch.errors.ConstraintViolation: `x.shape[1] == 5*b` is stated, but is false with ...
    ...

A relation is an expression over named sizes, as text or Python. It is assumed in the trace, so that branches on it need
no guard, and checked at every call. Marks are read when a function is traced for the tensor; an existing variant that
accepts it is used unchanged:

    >>> from frontends.pytorch import mark_dynamic
    >>> f = compile(lambda x: x * 2)
    >>> x = torch.randn(3, 8)
    >>> mark_dynamic(x, 0, lo=1, hi=64)
    >>> f(x).shape, f(torch.randn(64, 8)).shape, len(f.variants)
    (torch.Size([3, 8]), torch.Size([64, 8]), 1)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partialmethod
from keyword import iskeyword
from typing import Final, TypeAlias

import torch

from frontends.pytorch.errors import ConstraintViolation, refusal, rejected
from frontends.pytorch.recording.inputs import Choice
from frontends.pytorch.source_location import origin
from shapes.accepted import did_you_mean, is_truth, shown, whole_number
from shapes.env import ShapeEnv
from shapes.environment.symbols import RESERVED
from shapes.errors import Contradiction, ShapeError
from shapes.origin import Origin
from solver.terms.expr import Expr

NAME: Final = re.compile(r"[A-Za-z_]\w*")
WORDS: Final = RESERVED | {"and", "or", "not"}
ATTRIBUTE: Final = "marked_sizes"
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


Statement: TypeAlias = "Stated | OneOf | str | int | None"
Statements: TypeAlias = Mapping[str, Sequence[Statement]]


def dims(*names: str, lo: int = 1, hi: int | None = None, where: str | Sequence[str] = ()) -> tuple[Dim, ...]:
    """Named sizes between `lo` and `hi`; `where` are conditions over them, such as "s % 16 == 0"."""
    call = f"dims({', '.join(map(shown, names))}"
    if not names or not all(isinstance(name, str) for name in names):
        rejected(f"{call})", 'names, as in dims("b", "s")')
    words = [word for name in names for word in re.split(r"[\s,]+", name.strip())]
    are_names = all(NAME.fullmatch(word) and word not in RESERVED and not iskeyword(word) for word in words)
    if len(words) != len(set(words)) or not are_names:
        rejected(f"{call})", "names that differ, and are no words of the language")
    try:
        lo = whole_number("lo", lo, "a size")
        hi = None if hi is None else whole_number("hi", hi, "a size, or None")
    except ShapeError as error:
        raise ConstraintViolation(refusal(f"{call}, ...): {error}", "lo=1, say, the least size", origin())) from None
    if lo < 0 or hi is not None and lo > hi:
        rejected(f"{call}, lo={lo}, hi={hi}): no size lies between", "a least and a greatest size")
    if not isinstance(where, str | list | tuple) or not all(isinstance(each, str) for each in where):
        rejected(f"{call}, where={shown(where)})", 'conditions as text, as in where="s % 16 == 0"')
    conditions = (where,) if isinstance(where, str) else tuple(where)
    return tuple([Dim(word, (), lo, hi, conditions) for word in words])


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
    """All stated relations of a function's arguments.

    Attributes:
        statements: by the name of an input, what is stated of each axis.
        words: by input and axis, the word of a size: a name of `dims`, or `x_size0` of an input `x`.
        propositions: the relations over these words.
    """

    def __init__(self, statements: Statements) -> None:
        self.place: Origin | None = origin()
        for name, of_input in statements.items():
            if not isinstance(name, str):
                raise self._wrong(f"{shown(name)} is no name of an input", "the names of the function's parameters")
            if not isinstance(of_input, list | tuple):
                fix = f"one for each dimension, as in {{{name!r}: ('b', None)}}"
                raise self._wrong(f"{name}: {shown(of_input)}", fix)
        self.statements = {name: tuple(of_input) for name, of_input in statements.items()}
        self.words: dict[tuple[str, int], str] = {}
        self._texts: dict[tuple[str, int], str] = {}
        self._named: dict[str, Dim] = {}
        for name, of_input in self.statements.items():
            for axis, stated in enumerate(of_input):
                self.words[name, axis] = f"{name}_size{axis}"
                if isinstance(stated, Stated):
                    self._texts[name, axis] = stated.text
                    self._named.update({dim.text: dim for dim in [stated, *stated.names] if isinstance(dim, Dim)})
                elif isinstance(stated, str):
                    self._texts[name, axis] = stated
                elif not (stated is None or isinstance(stated, OneOf) or type(stated) is int and stated >= 0):
                    raise self._wrong(f"{name}: {stated!r}", "an expression, a name, a number, one_of(...) or None")
        for text in self._texts.values():
            for word in names_in(text):
                self._named.setdefault(word, Dim(word))
        homes: dict[str, tuple[str, int]] = {}
        for place, text in self._texts.items():
            if text in self._named:
                # the first size that it is by itself has its value
                homes.setdefault(text, place)
        self.words.update({place: name for name, place in homes.items()})
        self.propositions = tuple(self._propositions(homes))
        self._env = environment(self.words.values())
        self._check_consistent()

    def _propositions(self, homes: Mapping[str, tuple[str, int]]) -> Iterator[str]:
        env = environment(self._named)
        sizes: dict[tuple[str, int], Expr] = {}
        for (name, axis), text in self._texts.items():
            try:
                sizes[name, axis], _ = env.parse_expr(text)
            except ShapeError as error:
                what = f"cannot read the relation stated for {name}.shape[{axis}]: {error}"
                raise self._wrong(what, "an expression over the named sizes") from None
        meaning = {name: self._solved(name, sizes) for name in self._named if name not in homes}
        for name, dim in self._named.items():
            yield f"{meaning.get(name, name)} >= {dim.lo}"
            if dim.hi is not None:
                yield f"{meaning.get(name, name)} <= {dim.hi}"
        for name, of_input in self.statements.items():
            for axis, stated in enumerate(of_input):
                word, text = self.words[name, axis], self._texts.get((name, axis), "")
                if isinstance(stated, OneOf):
                    yield " or ".join([f"{word} == {value}" for value in stated.values])
                elif isinstance(stated, int):
                    yield f"{word} == {stated}"
                elif text and word != text:
                    yield f"{word} == {substituted(text, meaning)}"
        for condition in dict.fromkeys([each for dim in self._named.values() for each in dim.where]):
            yield substituted(condition, meaning)

    def _solved(self, name: str, sizes: Mapping[tuple[str, int], Expr]) -> str:
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
            with self._env.speculate():
                for text in (*[f"{word} >= 0" for word in self.words.values()], *self.propositions):
                    self._env.assume(text)
                self._env.check_consistent()
        except Contradiction as error:
            raise self._wrong(f"what is stated contradicts itself: {error}", FIX) from error
        except ShapeError as error:
            fix = "an expression over the named sizes"
            raise self._wrong(f"what is stated cannot be read: {error}", fix) from error

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
        text, word = self._texts.get((name, axis), ""), self.words[name, axis]
        dim = self._named.get(text)
        if dim is None:
            return Choice("dynamic", lo=0)
        return Choice("dynamic", dim.lo, dim.hi, word=word if word == text else None)

    def check(self, shapes: Mapping[str, Sequence[int]], place: Origin | None) -> None:
        """Check the sizes of a call against the relations.

        Raises:
            ConstraintViolation: a size violates one.
        """

        def wrong(what: str) -> ConstraintViolation:
            return ConstraintViolation(refusal(what, f"other sizes, or {FIX}", place))

        for name, of_input in self.statements.items():
            if name not in shapes:
                known = f"{', '.join(shapes) or 'none'}{did_you_mean(name, shapes)}"
                raise wrong(f"a relation is stated for {name}, but the tensors among the arguments are {known}")
            if len(of_input) != len(shapes[name]):
                raise wrong(f"{name} has {len(shapes[name])} dimensions, but {len(of_input)} are stated")
        sizes = {word: shapes[name][axis] for (name, axis), word in self.words.items()}
        places = {word: f"{name}.shape[{axis}]" for (name, axis), word in self.words.items() if word not in self._named}
        for text in self.propositions:
            prop, domain = self._env.parse(text)
            numbers = {atom: sizes[str(atom)] for atom in prop.symbols | domain.symbols}
            if not (domain.evaluate(numbers) and prop.evaluate(numbers)):
                raise wrong(substituted(violated(text, sizes), places))


def violated(text: str, values: Mapping[str, object]) -> str:
    """The text of an error: a proposition is false for these values of its words."""
    used = [f"{word} = {values[word]}" for word in names_in(text)]
    return f"`{text}` is stated, but is false with {', '.join(used)}"


def names_in(text: str) -> list[str]:
    """The words of a relation."""
    return [name for name in dict.fromkeys(NAME.findall(text)) if name not in WORDS]


def environment(words: Iterable[str]) -> ShapeEnv:
    """An environment of sizes."""
    env = ShapeEnv(origin=lambda: None)
    for word in words:
        env.symbol(word, lo=None)
    return env


def substituted(text: str, meaning: Mapping[str, str]) -> str:
    """An expression with its names replaced."""
    return NAME.sub(lambda match: meaning.get(match[0], match[0]), text)


# ---------------------------------------------------------------------- marks


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark with its source location."""

    choice: Choice
    text: str
    place: Origin | None


def mark_dynamic(
    x: torch.Tensor, dim: int | Sequence[int], lo: int | None = None, hi: int | None = None, *, strict: bool = True
) -> None:
    """Make these sizes symbols between `lo` and `hi`; with `strict`, specializing one is an error.

    Raises:
        ConstraintViolation: the size is out of bounds, or has another mark.
    """
    _mark(x, dim, Choice("dynamic", lo, hi, strict), "mark_dynamic")


def mark_maybe_dynamic(x: torch.Tensor, dim: int | Sequence[int]) -> None:
    """Make these sizes symbols, unless the program specializes them."""
    _mark(x, dim, Choice("dynamic"), "mark_maybe_dynamic")


def mark_static(x: torch.Tensor, dim: int | Sequence[int] | None = None) -> None:
    """Make these sizes, or all, constants."""
    every = range(x.dim()) if isinstance(x, torch.Tensor) else ()
    _mark(x, every if dim is None else dim, Choice("static"), "mark_static")


def mark_unbacked(x: torch.Tensor, dim: int | Sequence[int], lo: int | None = None, hi: int | None = None) -> None:
    """Make these sizes unbacked symbols: an undecided branch on one is an error, never a guard."""
    _mark(x, dim, Choice("unbacked", lo, hi), "mark_unbacked")


def marks_of(x: torch.Tensor) -> dict[int, Mark]:
    """The marks of a tensor, by axis."""
    return getattr(x, ATTRIBUTE, {})


def _mark(x: torch.Tensor, dims: int | Sequence[int], choice: Choice, function: str) -> None:
    if not isinstance(x, torch.Tensor):
        rejected(f"{function}({shown(x)}, ...): expected a tensor", "the tensor itself, not what holds it")
    asked: object = dims
    several = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    try:
        numbers = [whole_number("dim", dim, "a dimension, or several") for dim in several]
        low = None if choice.lo is None else whole_number("lo", choice.lo, "a size, or None")
        high = None if choice.hi is None else whole_number("hi", choice.hi, "a size, or None")
    except ShapeError as error:
        what = f"{function}(...): {error}"
        raise ConstraintViolation(refusal(what, f"{function}(x, 0), say", origin())) from None
    if not is_truth(choice.strict):
        what = f"{function}(...): strict={shown(choice.strict)}: expected True or False"
        rejected(what, "strict=False, or leave it out")
    choice = replace(choice, lo=low, hi=high)
    marks = dict(marks_of(x))
    for dim in numbers:
        if not -x.dim() <= dim < x.dim():
            rejected(f"{function}(dim={dim}): the tensor has {x.dim()} dimensions", "a dimension that it has")
        axis, size = dim % x.dim(), x.shape[dim]
        lo, hi = choice.lo, choice.hi
        bounds = ", ".join([f"{label}={bound}" for label, bound in (("lo", lo), ("hi", hi)) if bound is not None])
        given = f"{', '.join([f'dim={dim}', bounds] if bounds else [f'dim={dim}'])})"
        if lo is not None and hi is not None and lo > hi:
            rejected(f"{function}({given}: no size lies between", f"lo={hi}, hi={lo}")
        if (lo is not None and size < lo) or (hi is not None and size > hi):
            rejected(f"{function}({given}: the size is {size}", "bounds that hold for every tensor that you pass")
        known = marks.get(axis)
        if known is not None and known.choice.kind != choice.kind:
            where = f" ({known.place})" if known.place is not None else ""
            rejected(f"{function}({given}: it is marked otherwise by {known.text}{where}", "one of the two marks")
        marks[axis] = Mark(choice, f"{function}({given}", origin())
    setattr(x, ATTRIBUTE, marks)
