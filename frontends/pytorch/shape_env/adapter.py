"""A ShapeEnv of torch's whose questions our engine answers.

    >>> from torch._dynamo.source import ConstantSource
    >>> from torch.fx.experimental.symbolic_shapes import DimDynamic
    >>> from frontends.pytorch.shape_env.adapter import EngineShapeEnv
    >>> shapes = EngineShapeEnv()
    >>> n = shapes.create_symintnode(shapes.create_symbol(8, ConstantSource("n"), DimDynamic.DYNAMIC), hint=8)
    >>> bool(n % 4 == 0), bool((n * 3) % 4 == 0), [str(guard) for guard in shapes.engine.guards()]
    (True, True, ['n % 4 == 0'])

Symbols, sources and the text of guards stay torch's. What torch learns is told to the engine: new symbols with their
ranges and hints, guards and run-time asserts with the user's line, replacements, ranges. Its questions about what is
known are asked there; those under other axioms or ranges than what is known stay torch's. Facts only grow, so an answer
is kept for good, and an open question until the next fact.
"""

from __future__ import annotations

import contextlib
import copy
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import sympy
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeGuard,
    is_nested_int,
)
from torch.fx.experimental.symbolic_shapes import ShapeEnv as Torchs
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from frontends.pytorch.shape_env.comparing import Comparison
from frontends.pytorch.shape_env.data_sizes import DataSizes
from frontends.pytorch.shape_env.errors import SpecializedMark, UndecidedBranch, advise, undecided
from frontends.pytorch.shape_env.marking import PARAMETERS, TORCHS, Marking, Policies
from frontends.pytorch.shape_env.tensor_sources import (
    is_offset,
    is_size,
    least_value,
    made_ragged,
    outer_offset,
    takes_fallback,
    with_outer_sizes,
)
from frontends.pytorch.shape_env.translation import Symbols, is_float, is_unbacked, whole
from frontends.pytorch.source_location import user_line
from shapes.env import ShapeEnv
from shapes.environment.events import Guarded
from shapes.errors import ShapeError, SpecializedDynamic, Undefined
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always, GaveUp, Never
from solver.errors import NotExpressible
from solver.knowledge.facts import Facts, range_prop
from solver.terms.expr import Expr
from solver.terms.prop import Prop

BEYOND: Final = object()
"""The answer to a question that ours cannot settle: torch's is used."""


class EngineShapeEnv(Torchs):
    """Torch's environment, asked by torch; our `engine` answers.

    Attributes:
        engine: our environment.
        symbols: ours for each of torch's symbols.
        policies: choices that knowledge does not make.
        comparison: in shadow mode, the comparison with torch's answers.
    """

    def __init__(
        self, *args: Any, policies: Policies = TORCHS, comparison: Comparison | None = None, **named: Any
    ) -> None:
        self._begin(ShapeEnv(origin=user_line), policies, comparison)
        for name in ("specialize_zero_one", "duck_shape"):
            if getattr(policies, name) is not None:
                named[name] = getattr(policies, name)
        super().__init__(*args, **named)

    def _begin(self, engine: ShapeEnv, policies: Policies, comparison: Comparison | None) -> None:
        self.engine = engine
        me = weakref.ref(self)
        self.symbols = Symbols(self.engine, me)
        self.policies = policies
        self.comparison = comparison
        self.marking = Marking(policies, me, self.symbols)
        self._decided: dict[sympy.Basic, sympy.Basic] = {}
        self._open: dict[sympy.Basic, tuple[Facts, object]] = {}
        self._told: dict[sympy.Basic, Prop] = {}
        self.data_sizes = DataSizes(engine, me)
        self.operations: dict[tuple[object, ...], Any] = {}
        self._message = ""
        self._specializing = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> EngineShapeEnv:
        """An environment of its own that begins with everything known here."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        other._begin(self.engine.fork(), self.policies, self.comparison)
        other.symbols.adopt(self.symbols)
        other.marking.adopt(self.marking)
        other._decided, other._told = dict(self._decided), dict(self._told)
        for name, value in vars(self).items():
            if name not in vars(other):
                setattr(other, name, copy.deepcopy(value, memo))
        return other

    # ------------------------------------------------------------------ in our terms

    def _read(self, expr: sympy.Basic) -> tuple[Any, Prop]:
        try:
            return self.symbols.reading.read(expr)
        except NotExpressible:
            return None, self.engine.interner.true

    def expression(self, expr: sympy.Basic) -> Expr | None:
        """An integer expression of torch's as ours; None if it is none."""
        value, _ = self._read(expr)
        return value if isinstance(value, Expr) else None

    def proposition(self, expr: sympy.Basic) -> SymBool | None:
        """A proposition of torch's as ours, with its domain; None for anything else."""
        value, domain = self._read(expr)
        return SymBool(self.engine, value, domain) if isinstance(value, Prop) else None

    # ------------------------------------------------------------------ asking

    def answer(self, expr: sympy.Basic) -> Any:
        """The answer of the facts: a truth value or a number, None where it is open, or `BEYOND`."""
        found = self._decided.get(expr)
        if found is not None:
            return found
        facts = self.engine.known
        known = self._open.get(expr)
        if known is not None and known[0] is facts:
            return known[1]
        answer = self._answered(expr)
        if isinstance(answer, sympy.Basic):
            self._decided[expr] = answer
        else:
            self._open[expr] = (self.engine.known, answer)
        return answer

    def _answered(self, expr: sympy.Basic) -> Any:
        if expr.is_number or expr in (sympy.true, sympy.false):
            return expr
        value, domain = self._read(expr)
        try:
            if isinstance(value, Prop):
                match self.engine.verdict_on(value, domain):
                    case Always():
                        return sympy.true
                    case Never():
                        return sympy.false
                    case GaveUp():
                        return BEYOND
                return None
            if isinstance(value, Expr):
                lo, hi = self.engine.known.bounds(value)
                return sympy.Integer(lo) if lo is not None and lo == hi else None
        except ShapeError:
            pass
        return BEYOND

    def _maybe_evaluate_static(self, expr: sympy.Basic, **how: Any) -> sympy.Basic | None:
        theirs = super()._maybe_evaluate_static
        size_oblivious = how.get("size_oblivious", False)
        given = [value for name, value in how.items() if name != "size_oblivious"]
        if not isinstance(expr, sympy.Basic) or any(value is not None and value is not False for value in given):
            return theirs(expr, **how)
        if self.comparison is not None:
            torchs = theirs(expr, **how)
            if not size_oblivious:
                ours = self.answer(expr)
                self.comparison.add(str(expr), torchs, None if ours is BEYOND else ours)
            return torchs
        ours = self.answer(expr)
        if isinstance(ours, sympy.Basic):
            return ours
        if ours is BEYOND or size_oblivious or self._specializing:
            return theirs(expr, **how)
        return None

    _maybe_evaluate_static.cache_clear = Torchs._maybe_evaluate_static.cache_clear  # type: ignore[attr-defined]

    def _maybe_fast_eval_comparison(self, expr: sympy.Basic) -> None:
        """Nothing: torch's answers for some forms are asked of the engine like others."""

    def evaluate_expr(
        self,
        orig_expr: sympy.Basic,
        hint: int | bool | float | None = None,
        fx_node: Any = None,
        size_oblivious: bool = False,
        fallback_value: bool | None = None,
        *,
        forcing_spec: bool = False,
    ) -> sympy.Basic:
        if self.comparison is None and not self._translation_validation_enabled:
            found = self._decided.get(orig_expr)
            if found is not None:
                return found
            if fallback_value is not None and not size_oblivious:
                # torch's own cache keeps the fallback after the facts have decided
                answer = self.answer(orig_expr)
                if isinstance(answer, sympy.Basic):
                    return answer
            if self.policies.oblivious and fallback_value is not None:
                symbols = orig_expr.free_symbols
                sources = [source for symbol in symbols for source in self.var_to_sources.get(symbol, ())]
                if takes_fallback(orig_expr, sources, hint, fallback_value):
                    return sympy.true if fallback_value else sympy.false
        return super().evaluate_expr(
            orig_expr, hint, fx_node, size_oblivious, fallback_value, forcing_spec=forcing_spec
        )

    def _make_data_dependent_error(
        self, expr: sympy.Basic, unhinted_expr: sympy.Basic, **named: Any
    ) -> GuardOnDataDependentSymNode:
        torchs = super()._make_data_dependent_error(expr, unhinted_expr, **named)
        ours = undecided(self.engine, self.proposition(unhinted_expr), self.expression(unhinted_expr))
        if ours is None or _config.no_data_dependent_graph_break:
            return torchs
        ours.fix = advise(ours, self.symbols.ours)
        return UndecidedBranch(torchs, ours)

    # ------------------------------------------------------------------ learning

    def _learn(self, expr: sympy.Basic, message: str = "") -> None:
        """Learn a proposition that torch takes as true from here on."""
        question = self.proposition(expr)
        if question is not None:
            self._told[expr] = both = self.engine.interner.conjunction((question.domain, question.prop))
            self._commit(lambda fact: self.engine.expect_true(fact, message), both)

    def _postulate(self, fact: SymBool) -> None:
        if not isinstance(self.engine.verdict_on(fact.prop, fact.domain, "fast"), Always):
            self.engine.postulate(fact)

    def _commit(self, learn: Callable[[SymBool], None], prop: Prop) -> None:
        """Learn a fact in the engine, if it can."""
        try:
            learn(SymBool(self.engine, prop, self.engine.interner.true))
        except SpecializedDynamic as error:
            raise SpecializedMark(error) from None
        except (ShapeError, Undefined):
            pass

    def _maybe_guard_rel(self, expr: sympy.Expr) -> None:
        self._learn(expr, self._message)
        super()._maybe_guard_rel(expr)

    def _refine_ranges(self, expr: Any) -> None:
        # torch's solver asserts that sympy leaves a relation unevaluated
        with contextlib.suppress(AssertionError):
            super()._refine_ranges(expr)

    def guard_or_defer_runtime_assert(self, orig_expr: Any, msg: str, fx_node: Any = None) -> bool:
        before, self._message = self._message, msg
        try:
            return bool(super().guard_or_defer_runtime_assert(orig_expr, msg, fx_node))
        finally:
            self._message = before

    def _set_replacement(self, a: sympy.Symbol, tgt: sympy.Expr, msg: str) -> None:
        if tgt.is_number and any(map(is_offset, self.var_to_sources.get(a, ()))):
            # torch guards no offset that is a number; the range of a symbol it does
            return
        before = self.replacements.get(a)
        super()._set_replacement(a, tgt, msg)
        self.operations.clear()
        after = self.replacements.get(a)
        if after is None or after == before or msg == "find":
            return
        equality = sympy.Eq(a, after)
        if any(is_unbacked(symbol) for symbol in (a, *after.free_symbols)):
            question = self.proposition(equality)
            if question is not None and question.domain is self.engine.interner.true:
                self._commit(self._postulate, question.prop)
        else:
            self._learn(equality)

    def _update_var_to_range(self, symbol: sympy.Symbol, vr: Any, vr_sloc: Any = None, **named: Any) -> None:
        super()._update_var_to_range(symbol, vr, vr_sloc, **named)
        ours = self.symbols.ours.get(symbol)
        if ours is not None and not is_float(symbol):
            found = self.var_to_range[symbol]
            lo, hi = whole(found.lower), whole(found.upper)
            least, most = self.engine.known.bounds(ours)
            if (lo is not None and (least is None or least < lo)) or (hi is not None and (most is None or most > hi)):
                self._commit(self._postulate, range_prop(ours, lo, hi))

    @contextlib.contextmanager
    def patch_source_specialization(self, source: Any, check_fn: Callable[..., Any]) -> Iterator[None]:
        self._specializing += 1
        try:
            with super().patch_source_specialization(source, check_fn):
                self.operations.clear()
                yield
        finally:
            self._specializing -= 1
            self.operations.clear()

    def _constrain_unify(self, a: Any, b: Any) -> None:
        super()._constrain_unify(a, b)
        self.operations.clear()

    # ------------------------------------------------------------------ new symbols

    def create_symbol(self, val: Any, source: Any, *args: Any, **named: Any) -> sympy.Expr:
        named = self.marking.altered(val, source, {**dict(zip(PARAMETERS, args)), **named})
        if is_nested_int(val):
            # also of a parameter it is no number
            named["dynamic_dim"] = DimDynamic.DUCK
        least = None if self.specialize_zero_one else least_value(val, source, named)
        if least == 0:
            # to sympy a positive symbol is never 0
            named["positive"] = None
        elif least == 1 and val == 0:
            named.update(dynamic_dim=DimDynamic.STATIC, constraint_dim=None)
        found = super().create_symbol(val, source, **named)
        if isinstance(found, sympy.Symbol):
            if least is not None:
                self._update_var_to_range(found, ValueRanges(least, int_oo))
            self.symbols.of(found)
        self.marking.relate(source, found)
        return found

    def _create_symbolic_sizes_strides_storage_offset(
        self,
        ex_size: Sequence[Any],
        ex_stride: Any,
        ex_storage_offset: Any,
        is_dim_dynamic: Any,
        source: Any,
        **named: Any,
    ) -> Any:
        context = named["symbolic_context"] = self.marking.context(ex_size, source, named.get("symbolic_context"))
        sizes, strides, offset = super()._create_symbolic_sizes_strides_storage_offset(
            ex_size, ex_stride, ex_storage_offset, is_dim_dynamic, source, **named
        )
        return sizes, strides, outer_offset(self, source, context, ex_storage_offset, offset)

    def create_unbacked_symint(self, source: Any = None) -> Any:
        return self._declared(super().create_unbacked_symint(source))

    def create_unbacked_symfloat(self) -> Any:
        return self._declared(super().create_unbacked_symfloat())

    def create_unbacked_symbool(self) -> Any:
        return self._declared(super().create_unbacked_symbool())

    def _declared(self, number: Any) -> Any:
        for symbol in number.node._expr.free_symbols:
            self.symbols.of(symbol)
        return number

    # ------------------------------------------------------------------ guards

    def produce_guards_verbose(
        self,
        placeholders: Sequence[Any],
        sources: Sequence[Any],
        *args: Any,
        guards: list[ShapeGuard] | None = None,
        input_contexts: Sequence[Any] | None = None,
        **named: Any,
    ) -> Any:
        # deferred asserts on inputs are guards of ours, but not of torch's
        is_complete = self._translation_validation_enabled or self.prefer_deferred_runtime_asserts_over_guards
        if guards is None and self.comparison is None and not is_complete:
            guards = self.needed_guards()
        contexts, derived = with_outer_sizes(sources, input_contexts)
        with self._without_trivial_bounds():
            found = super().produce_guards_verbose(
                placeholders, sources, *args, guards=guards, input_contexts=contexts, **named
            )
        for each in found:
            each.exprs[:] = [text for text in each.exprs if not text.startswith(derived)]
        return found

    @contextlib.contextmanager
    def _without_trivial_bounds(self) -> Iterator[None]:
        """Leave out torch's guards that a size is at least 0."""
        before = dict(self.var_to_range)
        for symbol, sources in self.var_to_sources.items():
            found = before.get(symbol)
            if found is not None and found.lower == 0 and all(map(is_size, sources)):
                self.var_to_range[symbol] = ValueRanges(-int_oo, found.upper)
        try:
            yield
        finally:
            self.var_to_range.update(before)

    def needed_guards(self) -> list[ShapeGuard]:
        """Torch's guards without those that follow from the others, and those on ragged axes that the program makes:
        which of these are the same follows from the program."""
        kept = {guard.fact.prop for guard in self.engine.guards()}
        dropped = {event.fact.prop for event in self.engine.events if isinstance(event, Guarded)} - kept
        made = made_ragged(self)
        return [
            guard
            for guard in self.guards
            if self._told.get(guard.expr) not in dropped and made.isdisjoint(guard.expr.free_symbols)
        ]
