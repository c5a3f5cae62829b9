"""isl's integer sets: exact for Presburger arithmetic; products of symbols and division by a symbol are inexpressible.

An inexpressible fact is left out; from then on `depends` is not a sound answer, and none is given.
"""

from typing import Any

import islpy as isl

from benchmarks.baselines import ALWAYS, NEVER, OPEN, Answer, Inexpressible
from benchmarks.baselines.phrase import phrase

OPERATIONS = 200_000  # isl counts its own steps; past this many it raises instead of running on


class Isl:
    def __init__(self) -> None:
        self.context = isl.Context()
        self.context.set_max_operations(OPERATIONS)
        self.context.set_on_error(isl.on_error.CONTINUE)
        self.symbols: list[str] = []
        self.facts = isl.Set("{ [] }", context=self.context)
        self.complete = True
        self.words: dict[str, Any] = {}  # the vocabulary over the symbols so far; empty when one was added
        self.names: dict[str, isl.PwAff] = {}

    def number(self, value: int) -> isl.Val:
        return isl.Val(str(value), context=self.context)

    def vocabulary(self) -> dict[str, Any]:
        """The operations as piecewise affine functions over the symbols so far."""
        domain = isl.LocalSpace.from_space(self.facts.get_space())

        def constant(value: int) -> isl.PwAff | isl.Set:
            if isinstance(value, bool):
                return (isl.Set.universe if value else isl.Set.empty)(self.facts.get_space())
            return isl.PwAff.from_aff(isl.Aff.val_on_domain(domain, self.number(value)))

        def value_of(function: isl.PwAff) -> isl.Val:
            if not function.is_cst():
                raise Inexpressible("a product of symbols, or division by one")
            return function.max_val()

        def product(a: isl.PwAff, b: isl.PwAff) -> isl.PwAff:
            return b.scale_val(value_of(a)) if a.is_cst() else a.scale_val(value_of(b))

        def quotient(a: isl.PwAff, b: isl.PwAff) -> isl.PwAff:
            return a.scale_down_val(value_of(b)).floor()

        self.names = {
            name: isl.PwAff.from_aff(isl.Aff.var_on_domain(domain, isl.dim_type.set, position))
            for position, name in enumerate(self.symbols)
        }
        return {
            "const": constant,
            "add": isl.PwAff.add,
            "sub": isl.PwAff.sub,
            "neg": isl.PwAff.neg,
            "mul": product,
            "floordiv": quotient,
            "mod": lambda a, b: a.sub(product(b, quotient(a, b))),
            "min": isl.PwAff.min,
            "max": isl.PwAff.max,
            "abs": lambda a: a.max(a.neg()),
            "eq": isl.PwAff.eq_set,
            "ne": isl.PwAff.ne_set,
            "lt": isl.PwAff.lt_set,
            "le": isl.PwAff.le_set,
            "gt": isl.PwAff.gt_set,
            "ge": isl.PwAff.ge_set,
            "and": isl.Set.intersect,
            "or": isl.Set.union,
            "not": isl.Set.complement,
        }

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        position = len(self.symbols)
        self.symbols.append(name)
        self.facts = self.facts.add_dims(isl.dim_type.set, 1)
        if lo is not None:
            self.facts = self.facts.lower_bound_val(isl.dim_type.set, position, self.number(lo))
        if hi is not None:
            self.facts = self.facts.upper_bound_val(isl.dim_type.set, position, self.number(hi))
        self.words = {}

    def phrase(self, prop: str) -> isl.Set:
        self.context.reset_operations()
        self.words = self.words or self.vocabulary()
        return phrase(prop, self.words, self.names)

    def assume(self, prop: str) -> None:
        try:
            self.facts = self.facts.intersect(self.phrase(prop)).coalesce()
        except (Inexpressible, isl.Error):
            self.complete = False
            raise

    def ask(self, prop: str) -> Answer:
        inside = self.facts.intersect(self.phrase(prop))
        if inside.is_empty():
            return NEVER
        if self.facts.is_subset(inside):
            return ALWAYS
        return Answer("depends") if self.complete else OPEN

    def consistent(self) -> bool | None:
        return False if self.facts.is_empty() else True if self.complete else None

    def close(self) -> None:
        pass
