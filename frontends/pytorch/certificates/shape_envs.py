"""Translate the guards of a torch ShapeEnv to propositions over the sizes of a program's inputs, each with its line.

    >>> import torch
    >>> from torch.fx.experimental.symbolic_shapes import ShapeEnv
    >>> from torch._dynamo.source import LocalSource
    >>> from torch._subclasses import FakeTensorMode
    >>> mode = FakeTensorMode(shape_env=ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(8, 3), static_shapes=False, source=LocalSource("x"))
    >>> bool(x.shape[0] % 4 == 0)
    True
    >>> read = Reader(mode.shape_env).read()
    >>> [each.text for each in read.conditions], dict(read.names)
    (['s77 % 4 == 0', 's77 >= 2', 's27 >= 2'], {'s77': 'x.shape[0]', 's27': 'x.shape[1]'})

The inputs are those of torch's own guard generation: branches, ranges of symbols, replacements, and sources. They
include Inductor's assumptions: index widths (`numel <= 2**31 - 1`), equal sizes and multiples are guarded during code
generation.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import ShapeEnv as TorchEnv
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.numbers import int_oo

from frontends.pytorch.dynamo.code_facts import place_of
from frontends.pytorch.shape_env.translation import is_float, is_unbacked
from frontends.pytorch.source_location import innermost, is_users
from shapes.certification.certificates import Condition, Conditions
from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.origin import Origin
from shapes.size_names import canonical, renamed
from solver.errors import NotExpressible
from solver.interop.sympy import from_sympy
from solver.syntax.parser import Parsed
from solver.syntax.printer import text_of, text_of_both

LINE: Final = re.compile(r"# (?P<file>[^\n#]+?):(?P<line>\d+) in (?P<function>[^\s()]+)")
TORCH: Final = os.path.dirname(torch.__file__) + os.sep
DYNAMO: Final = os.path.join(TORCH, "_dynamo") + os.sep
SPECIALIZED: Final = "sizes of 0 and 1 are specialized"
CONSTANT: Final = "a constant: it was never a symbol"
EQUAL: Final = "duck sizing: the sizes were equal when it was compiled"


class Reader:
    """Translates one ShapeEnv.

    Attributes:
        names: the canonical name of each of torch's symbols, by its text; given for symbols without sources.
        solved: the symbols that are no size of an input, by sizes that are derived from them.
        called: renames inputs.
        first_uses: the first line that uses a fake tensor.
    """

    def __init__(
        self,
        shapes: TorchEnv,
        names: Mapping[str, str] | None = None,
        called: Mapping[str, str] = {},
        first_uses: Mapping[int, Origin | None] = {},
    ) -> None:
        self.shapes = shapes
        self.called = called
        self.first_uses = first_uses
        self.env = ShapeEnv(origin=lambda: None)
        self.names = {
            str(symbol): self.name_of(self.sources_of(symbol)[0].name)
            for symbol in shapes.var_to_sources
            if self.sources_of(symbol) and not is_unbacked(symbol)
        }
        self.names |= dict(names or {})
        self.solved = solved(shapes.replacements.items(), self.names)
        for name in self.names:
            self.env.symbol(name, lo=None)

    def sources_of(self, symbol: sympy.Symbol) -> list[Any]:
        """The input sizes equal to a symbol; none for `n` of a derived dimension `4*n`, whose source is its name."""
        return [each for each in self.shapes.var_to_sources.get(symbol, ()) if not isinstance(each, ConstantSource)]

    def name_of(self, source: str) -> str:
        """The canonical name of a size from torch's source."""
        name = canonical(source)
        for theirs, ours in self.called.items():
            if name.startswith(theirs):
                return ours + name.removeprefix(theirs)
        return name

    # ------------------------------------------------------------------ guards

    def read(self, more: Sequence[Condition] = (), inputs: Sequence[str] = ()) -> Conditions:
        """All conditions; with `more` guards, and further `inputs`."""
        static, tracked = self._constants()
        asserts = [each for found in self.shapes.deferred_runtime_asserts.values() for each in found]
        known = set(self.names.values())
        integers = [name for name in known if not name.endswith("]") and name.isidentifier()]
        return Conditions(
            [*self.conditions(), *static, *more],
            names=self.names,
            integers=frozenset(integers),
            assumed=[
                *[f"run-time check {self.shown(each.expr)}" for each in asserts],
                *[self.shown(each.expr) for each in self.shapes.guards if is_left(each.expr)],
            ],
            inputs=frozenset([*known, *map(self.name_of, self.shapes.source_to_var), *inputs, *tracked]),
        )

    def _constants(self) -> tuple[list[Condition], list[str]]:
        """The static sizes of a program's inputs, and the names of all inputs."""
        static: list[Condition] = []
        names: list[str] = []
        for tracked in self.shapes.tracked_fakes or ():
            if not isinstance(tracked.fake, torch.Tensor):
                names.append(self.name_of(tracked.source.name))
                continue
            place = self.first_uses.get(id(tracked.fake))
            for axis, size in enumerate(tracked.fake.shape):
                source = f"{tracked.source.name}.size()[{axis}]"
                names.append(self.name_of(source))
                if isinstance(size, int) and source not in self.shapes.source_to_var:
                    static.append(Condition(f"{names[-1]} == {size}", place, CONSTANT, static=True))
        return static, names

    def conditions(self) -> Iterator[Condition]:
        """Guards in order, then replacements of symbols, then their ranges; duplicates keep the first line."""
        for guard in self.shapes.guards:
            if not is_left(guard.expr):
                yield self.condition(guard.expr, guard.sloc)
        for symbol, target in self.shapes.replacements.items():
            if self.is_known(symbol) and not is_float(symbol) and not any(map(is_unbacked, target.free_symbols)):
                sloc = self.shapes.replacements_slocs.get(symbol)
                yield replace(self.condition(sympy.Eq(symbol, target, evaluate=False), sloc), derived=True)
        for symbol in self.shapes.var_to_sources:
            if self.is_known(symbol) and not is_float(symbol):
                yield from self._equal(symbol)
                yield from self._range(symbol)

    def is_known(self, symbol: sympy.Symbol) -> bool:
        """Return True if a symbol is a size of an input, or follows from one."""
        return str(symbol) in self.names or symbol in self.solved

    def _equal(self, symbol: sympy.Symbol) -> Iterator[Condition]:
        names = list(dict.fromkeys([self.name_of(source.name) for source in self.sources_of(symbol)]))
        for first, other in zip(names[:1] * len(names), names[1:]):
            if other != self.names[str(symbol)]:
                yield Condition(f"{other} == {first}", self.first_use([symbol]), EQUAL)

    def _range(self, symbol: sympy.Symbol) -> Iterator[Condition]:
        known = self.shapes.var_to_range.get(symbol)
        if known is None or self.shapes.replacements.get(symbol, symbol).is_number:
            return
        slocs = self.shapes.var_to_range_sloc.get(symbol)
        for end, sign, which in ((known.lower, ">=", "lower"), (known.upper, "<=", "upper")):
            if end in (int_oo, -int_oo, sympy.oo, -sympy.oo) or (sign == ">=" and end == 0):
                continue
            if sign == "<=" and end >= 2**63 - 1:
                # no tensor has more elements
                continue
            sloc = getattr(slocs, which, None)
            origin, why = self.place(sloc, [symbol])
            if sloc is not None and "0/1 specialization" in str(sloc):
                why = SPECIALIZED
            yield Condition(f"{symbol.xreplace(self.solved)} {sign} {end}", origin, why, derived=True)

    def condition(self, expression: sympy.Basic, sloc: Any) -> Condition:
        """Translate a guard of torch; one without an exact form is reported as such."""
        symbols = sorted(expression.xreplace(self.solved).free_symbols, key=str)
        origin, why = self.place(sloc, symbols)
        if any(map(is_float, symbols)):
            return Condition(self.shown(expression), origin, why, fault="it is about a float and sizes")
        unknown = [symbol for symbol in symbols if str(symbol) not in self.names]
        if unknown:
            return Condition(self.shown(expression), origin, why, fault=f"{unknown[0]} is not a size of an input")
        try:
            parsed = from_sympy(expression.xreplace(self.solved), self.env.interner, self.env.names)
        except (NotExpressible, ShapeError) as error:
            return Condition(self.shown(expression), origin, why, fault=f"no exact form is known: {error}")
        if not isinstance(parsed, Parsed):
            return Condition(self.shown(expression), origin, why, fault="it is no proposition")
        plain = parsed.domain.kind == "true"
        text = text_of(parsed.prop) if plain else text_of_both(parsed.domain, parsed.prop)
        return Condition(text, origin, why, static=self.is_setting(symbols), derived=bool(why) or is_operators(sloc))

    def is_setting(self, symbols: Sequence[sympy.Symbol]) -> bool:
        """Return True if a guard is about integers other than arguments and sizes: attributes and globals."""
        names = [self.names[str(symbol)] for symbol in symbols]
        return all(not name.isidentifier() and ".shape[" not in name for name in names)

    def shown(self, expression: sympy.Basic) -> str:
        """The text of an expression of torch, with canonical names."""
        return renamed(str(expression), lambda name: self.names.get(name, name))

    # ------------------------------------------------------------------ lines

    def place(self, sloc: Any, symbols: Sequence[sympy.Symbol]) -> tuple[Origin | None, str]:
        """The program's line that caused a guard, and the internal caller, if any.

        Without a line from torch, the line that specialized its size, or first used it.
        """
        user = None if sloc is None else line_of(sloc.maybe_user_loc)
        if user is not None and is_users(user.file):
            return user, ""
        frame = None if sloc is None else sloc.framework_loc
        file = getattr(frame, "filename", None)
        if user is None and frame is not None and file is not None:
            user = Origin(file, frame.lineno, frame.name)
            if is_users(file):
                return user, ""
        asked = "" if user is None else f"{user.file.removeprefix(TORCH)}:{user.line} in {user.function}"
        return self.specialized(symbols) or self.first_use(symbols), asked

    def specialized(self, symbols: Sequence[sympy.Symbol]) -> Origin | None:
        """The program's line that specialized one of these sizes."""
        for symbol in symbols:
            for source in self.shapes.var_to_sources.get(symbol, ()):
                found = innermost(self.shapes.specialization_stacks.get(source, ()))
                if found is not None:
                    return found
        return None

    def first_use(self, symbols: Sequence[sympy.Symbol]) -> Origin | None:
        """The program's line that first used one of these sizes, or their tensor."""
        for symbol in symbols:
            slocs = self.shapes.var_to_range_sloc.get(symbol)
            for which in ("lower", "upper"):
                found = line_of(getattr(getattr(slocs, which, None), "maybe_user_loc", None))
                if found is not None and is_users(found.file):
                    return found
            name = self.names.get(str(symbol), "").partition(".shape[")[0]
            for tracked in self.shapes.tracked_fakes or ():
                found = self.first_uses.get(id(tracked.fake))
                if found is not None and self.name_of(tracked.source.name) == name:
                    return found
        return None


def solved(
    sizes: Iterable[tuple[sympy.Symbol, sympy.Expr]], names: Collection[str]
) -> dict[sympy.Symbol, sympy.Expr]:
    """For the `n` of a derived dimension, which is not a size, the number that a size determines: n is (x - 1)//4
    where x is 4*n + 1. There is such an n if and only if both are equal for this one, which is a guard too."""
    found: dict[sympy.Symbol, sympy.Expr] = {}
    for size, expression in sizes:
        for symbol in itertools.filterfalse(is_unbacked, expression.free_symbols):
            factor = expression.coeff(symbol)
            rest = sympy.expand(expression - factor * symbol)
            if factor.is_Integer and factor > 0 and rest.is_Integer and str(size) in names and str(symbol) not in names:
                found.setdefault(symbol, FloorDiv(size - rest, factor))
    return found


def first_use(node: torch.fx.Node) -> Origin | None:
    """The program's line that first uses an input of a graph."""
    return next(filter(None, map(place_of, node.users)), None)


def is_operators(sloc: Any) -> bool:
    """Return True if an operator caused a guard, not a branch of the program: Dynamo evaluates these itself."""
    file = getattr(getattr(sloc, "framework_loc", None), "filename", None)
    return file is not None and not is_users(file) and not file.startswith(DYNAMO)


def is_left(expression: sympy.Basic) -> bool:
    """Return True if a guard is excluded: it is about floats only, or checked at run time."""
    symbols = expression.free_symbols
    return any(map(is_unbacked, symbols)) or (bool(symbols) and all(map(is_float, symbols)))


def line_of(text: str | None) -> Origin | None:
    """The source location at the end of torch's text, with the full path if possible."""
    found = None if text is None else LINE.search(text)
    if found is None:
        return None
    return Origin(full_path(found["file"]), int(found["line"]), found["function"])


def full_path(file: str) -> str:
    """The full path of a loaded file from its suffix."""
    candidates = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    for each in candidates:
        if isinstance(each, str) and each.endswith(file):
            return each
    return file
