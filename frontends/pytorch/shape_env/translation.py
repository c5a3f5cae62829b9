"""Torch's symbols and expressions in our terms: readable words, integers, floats and propositions.

    >>> import sympy
    >>> from frontends.pytorch.shape_env.translation import Reading, shown, word
    >>> from solver.terms.interner import Interner
    >>> from torch.utils._sympy.functions import FloorDiv
    >>> terms = Interner()
    >>> s = sympy.Symbol("s0", integer=True)
    >>> reading = Reading(terms, lambda symbol: terms.symbol("x_size0"), lambda node: None)
    >>> prop, domain = reading.read(sympy.Ge(FloorDiv(s, 4) * 8, 16))
    >>> str(prop)
    'x_size0//4 >= 2'
    >>> shown("L['x'].size()[0]"), word("L['x'].size()[0]")
    ('x.shape[0]', 'x_size0')
    >>> shown("L['self']._modules['fc']._parameters['weight'].stride()[1]"), word("L['args'][0].size()[2]")
    ('self.fc.weight.stride()[1]', 'args_0_size2')

Floats are IEEE doubles (`solver.interop.sympy_floats`). What has no exact form is opaque, a sum of more than two
floats: a number of its own, the same one wherever the expression occurs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import sympy
from torch.fx.experimental.symbolic_shapes import SymT, symbol_is_type
from torch.utils._sympy import functions as torch_functions

from shapes.env import ShapeEnv
from shapes.environment.symbols import free_name
from shapes.symbolic.numbers import SymBool
from solver.errors import NotExpressible
from solver.floats import values as floats
from solver.floats.ordinals import pattern as pattern_of
from solver.interop import sympy_functions
from solver.interop.sympy import to_sympy
from solver.interop.sympy_floats import FloatReading
from solver.interop.sympy_reading import Value
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.choices import Choice

FUNCTIONS: Final = {"FloorDiv": "FloorDiv", "IntegerPower": "PowByNatural"}
PATTERNS: Final = 2**64 - 1
FAILURES: Final = (NotExpressible, TypeError, ValueError, LookupError, ArithmeticError)


class Reading(FloatReading):
    """One environment's translation.

    Args:
        symbol: our expression for a symbol of torch's; None for one that is no number, such as a nested size.
        opaque: our symbol for an expression that is not expressible; None for none.
    """

    def __init__(
        self,
        interner: Interner,
        symbol: Callable[[sympy.Symbol], Expr | None],
        opaque: Callable[[sympy.Basic], Expr | None],
    ) -> None:
        super().__init__(interner, {})
        self.symbol = symbol
        self.opaque = opaque

    def leaf(self, node: sympy.Basic) -> Value:
        if not isinstance(node, sympy.Symbol):
            return super().leaf(node)
        found = self.symbol(node)
        if found is None:
            raise NotExpressible(f"the symbol `{node}` is not a number")
        return floats.from_pattern(found) if is_float(node) else found

    def inner(self, node: sympy.Basic, read: Sequence[tuple[Value, Prop]]) -> tuple[Value, Prop]:
        try:
            return super().inner(node, read)
        except FAILURES:
            return self.unknown(node), self.interner.true

    def unknown(self, node: sympy.Basic) -> Value:
        """A fresh symbol for a node without an exact form."""
        found = self.opaque(node)
        if found is None:
            raise NotExpressible(f"`{node}` has no value")
        if isinstance(node, sympy.logic.boolalg.Boolean):
            return self.interner.eq(found, 1)
        return found if node.is_integer else floats.from_pattern(found)


def is_float(symbol: sympy.Symbol) -> bool:
    """Return True if a symbol of torch's is a float."""
    return bool(symbol_is_type(symbol, (SymT.FLOAT, SymT.UNBACKED_FLOAT)))


def is_unbacked(symbol: sympy.Symbol) -> bool:
    """Return True if a symbol of torch's is known only when the program runs."""
    return bool(symbol_is_type(symbol, (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)))


# ---------------------------------------------------------------------- symbols


def shown(source: str) -> str:
    """Torch's name of a place among the arguments, for people."""
    text = re.sub(r"^[LG]\['(\w+)'\]", r"\1", source)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", text)
    return re.sub(r"\.size\(\)\[(\d+)\]", r".shape[\1]", text)


def word(source: str) -> str:
    """A name for the symbol of a place, as a trace names it."""
    text = re.sub(r"\.shape\[(\d+)\]$", r"_size\1", shown(source))
    text = re.sub(r"\.stride\(\)\[(\d+)\]$", r"_stride\1", text)
    text = re.sub(r"\.storage_offset\(\)$", "_offset", text)
    text = re.sub(r"\W+_?", "_", text).strip("_") or "n"
    return f"n{text}" if text[0].isdigit() else text


def whole(bound: Any) -> int | None:
    """An end of a range of torch's; None for infinity."""
    return int(bound) if isinstance(bound, (int, sympy.Integer)) else None


class Symbols:
    """The symbols of one environment of torch's: ours for each of them.

    Attributes:
        ours: by torch's symbol; None for one that is no number.
        opaque: by torch's expression, the symbol of one without an exact form.
        choices: the treatment of the number at a source, by torch's name of the source.
    """

    def __init__(self, engine: ShapeEnv, torchs: Callable[[], Any]) -> None:
        self.engine = engine
        self.torchs = torchs
        self.ours: dict[sympy.Symbol, Expr | None] = {}
        self.opaque: dict[sympy.Basic, Expr] = {}
        self.choices: dict[str, Choice] = {}
        self.reading = Reading(engine.interner, self.of, self.opaque_of)

    def adopt(self, others: Symbols) -> None:
        """Begin with the symbols of an environment from which the engine was forked."""
        self.ours.update(others.ours)
        self.opaque.update(others.opaque)
        self.choices.update(others.choices)

    def of(self, symbol: sympy.Symbol) -> Expr | None:
        """Our symbol, declared now if it is new."""
        if symbol in self.ours:
            return self.ours[symbol]
        found = self.ours[symbol] = self._declared(symbol)
        return found

    def _declared(self, symbol: sympy.Symbol) -> Expr | None:
        torchs = self.torchs()
        value = torchs.backed_var_to_val.get(symbol)
        sources = [source.name for source in torchs.var_to_sources.get(symbol, ())]
        if value is not None and not isinstance(value, (sympy.Integer, sympy.Float)):
            return None  # a nested size
        choice = next((self.choices[name] for name in sources if name in self.choices), None)
        name = symbol.name if not sources else word(sources[0])
        if choice is not None and choice.word is not None:
            name = choice.word
        source = shown(sources[0]) if sources else None
        if is_float(symbol):
            return self._float(name, None if value is None else float(value), source)
        found = torchs.var_to_range.get(symbol)
        lo, hi = (None, None) if found is None else (whole(found.lower), whole(found.upper))
        hint = None if value is None else int(value)
        return self._integer(name, lo, hi, hint, source, choice is not None and choice.strict)

    def _integer(
        self, name: str, lo: int | None, hi: int | None, hint: int | None, source: str | None, strict: bool = False
    ) -> Expr:
        engine, name = self.engine, free_name(name, self.engine.names)
        if hint is None:
            return engine.unbacked(name, lo, hi, source=source).expr
        return engine.symbol(name, lo, hi, hint, source=source, strict=strict).expr

    def _float(self, name: str, hint: float | None, source: str | None) -> Expr:
        engine, name = self.engine, free_name(name, self.engine.names)
        if hint is None:
            return unbacked_float(engine, name, source)
        pattern = engine.symbol(name, 0, PATTERNS, pattern_of(hint), source=source).expr
        engine.interner.doubles.add(pattern.atom)
        # torch's guards reject NaN
        value = floats.from_pattern(pattern)
        engine.postulate(SymBool(engine, floats.compare("==", value, value), engine.interner.true))
        return pattern

    def opaque_of(self, node: sympy.Basic) -> Expr | None:
        """The symbol of an expression without an exact form; None for one that is no number."""
        found = self.opaque.get(node)
        if found is not None:
            return found
        if any(self.of(symbol) is None for symbol in node.free_symbols):
            return None
        torchs = self.torchs()
        value = None
        if not any(is_unbacked(symbol) for symbol in node.free_symbols):
            value = node.xreplace(torchs.backed_var_to_val)
            value = None if not (value.is_number or value in (sympy.true, sympy.false)) else value
        name = f"opaque{len(self.opaque)}"
        if isinstance(node, sympy.logic.boolalg.Boolean):
            found = self._integer(name, 0, 1, None if value is None else int(bool(value)), str(node))
        elif node.is_integer:
            range_ = torchs.bound_sympy(node)
            hint = int(value) if isinstance(value, sympy.Integer) else None
            found = self._integer(name, whole(range_.lower), whole(range_.upper), hint, str(node))
        else:
            found = unbacked_float(self.engine, free_name(name, self.engine.names), str(node))
        self.opaque[node] = found
        return found

    def in_torchs(self, prop: Prop) -> sympy.Basic:
        """A proposition of ours as torch writes it."""
        found = to_sympy(prop, protected=False)
        for ours, theirs in FUNCTIONS.items():
            found = found.replace(getattr(sympy_functions, ours), getattr(torch_functions, theirs))
        symbols = {sympy.Symbol(ours.atom.name, integer=True): symbol for symbol, ours in self.ours.items() if ours}
        return found.xreplace(symbols)


def unbacked_float(engine: ShapeEnv, name: str, source: str | None) -> Expr:
    """The bits of a float that is known only when the program runs."""
    engine.unbacked(name, kind="float", source=source)
    return engine.names[name]
