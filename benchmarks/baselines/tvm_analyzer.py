"""TVM's integer analyzer, in C++: bounds of symbols, facts as constraint scopes, questions to `can_prove`.

Its variables are 64-bit, so it may decide a comparison with 2**63 - 1 that depends over the mathematical integers.
"""

import re
from typing import Any

from benchmarks.baselines import Answer, verdict_of
from benchmarks.baselines.phrase import ARITHMETIC, phrase

try:  # the modules were renamed; both layouts are in use
    from tvm import sym as arith
    from tvm import tirx as tir
except ImportError:
    from tvm import arith, tir  # type: ignore[no-redef]


def constant(value: int) -> Any:
    return tir.const(value, "bool" if isinstance(value, bool) else "int64")


WORDS = ARITHMETIC | {
    "const": constant,
    "neg": lambda a: constant(0) - a,
    "floordiv": tir.floordiv,
    "mod": tir.floormod,
    "min": tir.Min,
    "max": tir.Max,
    "abs": tir.abs,
    "eq": tir.EQ,
    "ne": tir.NE,
    "lt": tir.LT,
    "le": tir.LE,
    "gt": tir.GT,
    "ge": tir.GE,
    "and": tir.And,
    "or": tir.Or,
    "not": tir.Not,
}


class Tvm:
    def __init__(self) -> None:
        self.analyzer = arith.Analyzer()
        self.names: dict[str, Any] = {}
        self.scopes: list[Any] = []

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        symbol = self.names[name] = tir.Var(name, "int64")
        bound = arith.ConstIntBound
        self.analyzer.update(
            symbol, bound(bound.NEG_INF if lo is None else lo, bound.POS_INF if hi is None else hi), True
        )

    def assume(self, prop: str) -> None:
        scope = self.analyzer.constraint_scope(phrase(prop, WORDS, self.names))
        scope.__enter__()
        self.scopes.append(scope)

    def ask(self, prop: str) -> Answer:
        question = phrase(prop, WORDS, self.names)
        if self.analyzer.can_prove(question):
            return verdict_of(True)
        return verdict_of(False if self.analyzer.can_prove(tir.Not(question)) else None)

    def simplify(self, expr: str) -> str:
        printed = str(self.analyzer.simplify(phrase(expr, WORDS, self.names)))
        return re.sub(r"T\.int64\((-?\d+)\)", r"\1", printed).replace("T.", "")

    def close(self) -> None:
        while self.scopes:
            self.scopes.pop().__exit__(None, None, None)
