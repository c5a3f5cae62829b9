"""z3 over the integers: one solver for the session, two checks of at most 100 ms for each question."""

import operator

import z3

from benchmarks.baselines import ALWAYS, NEVER, OPEN, Answer
from benchmarks.baselines.phrase import ARITHMETIC, phrase

MILLISECONDS = 100


def real(value: z3.ArithRef) -> z3.ArithRef:
    return z3.ToReal(value) if value.is_int() else value


class Z3:
    def __init__(self) -> None:
        self.solver = z3.Solver()
        self.solver.set("timeout", MILLISECONDS)
        self.names: dict[str, z3.ArithRef] = {}
        self.divisors: list[z3.BoolRef] = []

        def divides(b: z3.ArithRef) -> None:
            self.divisors.append(b != 0)

        def floordiv(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
            divides(b)
            return z3.If(b > 0, a / b, -a / -b)

        def mod(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
            divides(b)
            return z3.If(b > 0, a % b, -(-a % -b))

        def truediv(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
            divides(b)
            return real(a) / real(b)

        self.words = ARITHMETIC | {
            "const": lambda value: z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value),
            "floordiv": floordiv,
            "mod": mod,
            "min": lambda a, b: z3.If(a <= b, a, b),
            "max": lambda a, b: z3.If(a >= b, a, b),
            "abs": lambda a: z3.If(a >= 0, a, -a),
            "and": z3.And,
            "or": z3.Or,
            "not": z3.Not,
            "decimal": z3.RealVal,
            "float": real,
            "truediv": truediv,
            "floor": z3.ToInt,
            "ceil": lambda a: -z3.ToInt(-a),
            "trunc": lambda a: z3.If(a >= 0, z3.ToInt(a), -z3.ToInt(-a)),
            **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
        }

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        symbol = self.names[name] = z3.Int(name)
        if lo is not None:
            self.solver.add(symbol >= lo)
        if hi is not None:
            self.solver.add(symbol <= hi)

    def assume(self, prop: str) -> None:
        self.solver.add(phrase(prop, self.words, self.names), *self.divisors)
        self.divisors.clear()

    def ask(self, prop: str) -> Answer:
        self.divisors.clear()
        question = phrase(prop, self.words, self.names)
        found = []
        for side in (question, z3.Not(question)):
            self.solver.push()
            self.solver.add(side, *self.divisors)
            found.append(self.solver.check())
            self.solver.pop()
        self.divisors.clear()
        match found:
            case [z3.sat, z3.sat]:
                return Answer("depends")
            case [_, z3.unsat] if found[0] != z3.unsat:
                return ALWAYS
            case [z3.unsat, _] if found[1] != z3.unsat:
                return NEVER
        return OPEN

    def checkpoint(self) -> None:
        self.solver.push()

    def rollback(self) -> None:
        self.solver.pop()

    def consistent(self) -> bool | None:
        found = self.solver.check()
        return True if found == z3.sat else False if found == z3.unsat else None

    def simplify(self, expr: str) -> str:
        return str(z3.simplify(phrase(expr, self.words, self.names)))

    def close(self) -> None:
        pass
