"""torch's ShapeEnv: facts become guards or runtime asserts, questions are evaluated statically, nothing is guarded."""

import sympy
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._sympy import functions
from torch.utils._sympy.numbers import int_oo

from benchmarks.baselines import Answer, verdict_of
from benchmarks.baselines.phrase import ARITHMETIC, phrase


def mod(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    """torch has two remainders; the tracer takes the plain one where both sides are known nonnegative, and so do we."""
    nonnegative = all(side.is_nonnegative for side in map(sympy.sympify, (a, b)))
    return (functions.Mod if nonnegative else functions.PythonMod)(a, b)


WORDS = ARITHMETIC | {
    "const": sympy.sympify,
    "floordiv": functions.FloorDiv,
    "mod": mod,
    "min": functions.Min,
    "max": functions.Max,
    "abs": abs,
    "eq": sympy.Eq,
    "ne": sympy.Ne,
    "lt": sympy.Lt,
    "le": sympy.Le,
    "gt": sympy.Gt,
    "ge": sympy.Ge,
    "and": sympy.And,
    "or": sympy.Or,
    "not": sympy.Not,
    "decimal": sympy.Float,
    "float": functions.ToFloat,
    "truediv": functions.IntTrueDiv,
    "floor": functions.FloorToInt,
    "ceil": functions.CeilToInt,
    "trunc": functions.TruncToInt,
    "round": functions.RoundToInt,
    "sqrt": functions.OpaqueUnaryFn_sqrt,
}


class Torch:
    def __init__(self) -> None:
        self.env = ShapeEnv()
        self.names: dict[str, sympy.Symbol] = {}

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        if hint is None:
            symbol = self.env.create_unbacked_symint().node.expr
        elif lo is not None and lo >= 2 and hint >= 2:
            symbol = self.env.create_symbol(hint, ConstantSource(name), DimDynamic.DYNAMIC)
        else:
            symbol = self.env.create_unspecified_symbol(hint, ConstantSource(name), DimDynamic.DYNAMIC)
        if lo is not None or hi is not None:
            self.env.constrain_symbol_range(symbol, -int_oo if lo is None else lo, int_oo if hi is None else hi)
        self.names[name] = symbol

    def assume(self, prop: str) -> None:
        fact = phrase(prop, WORDS, self.names)
        if fact is not sympy.true:
            self.env.guard_or_defer_runtime_assert(fact, "recorded")

    def ask(self, prop: str) -> Answer:
        question = phrase(prop, WORDS, self.names)
        if question in (sympy.true, sympy.false):
            return verdict_of(bool(question))
        for expr, yes in ((question, True), (sympy.Not(question), False)):
            answer = self.env._maybe_evaluate_static(expr)
            if answer is not None:
                return verdict_of(bool(answer) is yes)
        return verdict_of(None)

    def simplify(self, expr: str) -> str:
        return str(self.env.simplify(phrase(expr, WORDS, self.names)))

    def close(self) -> None:
        pass
