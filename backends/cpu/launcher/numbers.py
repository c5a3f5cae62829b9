"""Guards and sizes as three-address code, which the launcher interprets at each call.

    >>> from backends.cpu.launcher.numbers import CODES, SIZE, Steps
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> n, m = terms.symbol("n"), terms.symbol("m")
    >>> steps = Steps({n: (SIZE, 0, 0), m: (SIZE, 1, 0)})
    >>> steps.require(steps.lowering.proposition(terms.eq(n, m)))
    >>> wanted = steps.value(steps.lowering.expression(2 * n + 5))
    >>> steps.start
    (5,)
    >>> for code, *step in steps.all():
    ...     print(CODES[code], step)
    size [1, 1, 0, 0, 0]
    size [2, 0, 0, 0, 0]
    must_eq [1, 1, 2, 1, 0]
    multiply_add [3, 0, 2, 0, 2]
    >>> steps.places([wanted])
    (3,)

A step is `(code, target, a, b, c, factor)`: values are numbered, and the first ones are fixed. The codes are those of
`numbers.c`. Whatever leaves 64 bits is refused there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from shapes.guards.emit_c import ARITHMETIC, LARGEST, LEAST, MOST, NotNative, native_row
from shapes.guards.emit_python import SIGNS, reachable
from shapes.guards.lowering import COMPARISONS, Lowering, Operation, Operations
from solver.terms.expr import Expr
from solver.terms.operations import OPERATIONS

COMPARED: Final = ("eq", "ne", "lt", "le")
VALUES: Final = {
    **{name: row.c for name, row in OPERATIONS.items() if row.c},
    "all": "{v} = {0} && {1};",
    "any": "{v} = {0} || {1};",
    **{code: f"{{v}} = {{0}} {SIGNS[code]} {{1}};" for code in COMPARED},
}
"""The values that steps compute, in C: the operations of the table that have a C text, and conditions."""
REQUIRED: Final = {f"must_{code}": f"if (!({{0}} {SIGNS[code]} {{1}})) goto python;" for code in COMPARED}
"""Comparisons that must hold, in one step."""
CODES: Final = ("size", "stride", "integer", "threads", "multiply_add", *VALUES, "must", *REQUIRED)
"""The names of codes, in the order of `numbers.c`."""
CODE: Final = {name: code for code, name in enumerate(CODES)}
SIZE, STRIDE, INTEGER, THREADS = range(4)
"""The codes of leaves."""
SWAPPED: Final = {"gt": "lt", "ge": "le"}

Leaf = tuple[int, int, int]
"""The code of a leaf, the argument, and its axis."""
Step = tuple[int, int, int, int, int, int]


class Steps:
    """The steps of one program, each value computed once, right before it is needed first."""

    def __init__(self, symbols: Mapping[Expr, Leaf]) -> None:
        self.operations = Operations()
        self._leaves: dict[Leaf, int] = {}
        self.lowering = Lowering(self.operations, {symbol: self.leaf(leaf) for symbol, leaf in symbols.items()})
        self._constants: dict[int, int] = {}
        self._values: dict[Operation, int] = {}
        self._steps: list[Step] = []
        self._count = 0

    def leaf(self, leaf: Leaf) -> Operation:
        """The operation of a number of the arguments."""
        return self.operations.leaf(self._leaves.setdefault(leaf, len(self._leaves)))

    def require(self, condition: Operation) -> None:
        """Add a condition for the program to be called.

        Raises:
            NotNative: something in it has no form in 64 bits.
        """
        if condition.code == "all":
            for part in condition.operands:
                self.require(part)
            return
        code, operands = _mirrored(condition)
        if code in COMPARED:
            a, b = [self.value(operand) for operand in operands]
            self._steps.append((CODE[f"must_{code}"], a, a, b, a, 0))
        else:
            value = self.value(condition)
            self._steps.append((CODE["must"], value, value, value, value, 0))

    def value(self, wanted: Operation) -> int:
        """The provisional number of a value; `places` gives the final one.

        Raises:
            NotNative: something in it has no form in 64 bits.
        """
        nodes = reachable([wanted], known=self._values)
        if len(self._values) + len(nodes) > LARGEST:
            raise NotNative(f"more than {LARGEST} operations")
        for node in nodes:
            self._values[node] = self._made(node)
        return self._values[wanted]

    @property
    def start(self) -> tuple[int, ...]:
        """The constants."""
        return tuple(self._constants)

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self._constants) + self._count

    def all(self) -> tuple[Step, ...]:
        """The steps in order."""
        return tuple([self._encoded(code, target, (a, b, c), factor) for code, target, a, b, c, factor in self._steps])

    def _encoded(self, code: int, target: int, operands: tuple[int, int, int], factor: int) -> Step:
        a, b, c = self.places(operands) if code > THREADS else operands
        (place,) = self.places([target])
        return code, place, a, b, c, factor

    def places(self, values: Iterable[int]) -> tuple[int, ...]:
        """The final numbers of values: constants come first."""
        fixed = len(self._constants)
        return tuple([-1 - value if value < 0 else fixed + value for value in values])

    def _constant(self, number: int) -> int:
        """Constants have negative numbers."""
        if not LEAST <= number <= MOST:
            raise NotNative("a constant is beyond 64 bits")
        return -1 - self._constants.setdefault(number, len(self._constants))

    def _step(self, code: int, a: int, b: int | None = None, c: int | None = None, factor: int = 0) -> int:
        self._steps.append((code, self._count, a, a if b is None else b, a if c is None else c, factor))
        self._count += 1
        return self._count - 1

    def _made(self, node: Operation) -> int:
        """The value of an operation whose operands have one."""
        code, operands = _mirrored(node)
        values = [self._values[operand] for operand in operands]
        match code:
            case "leaf":
                leaf, argument, axis = list(self._leaves)[node.number]
                return self._step(leaf, argument, axis, 0)
            case "constant":
                return self._constant(node.number)
            case "true" | "false":
                return self._constant(int(code == "true"))
            case "sum":
                total = self._constant(node.number)
                for value, factor in zip(values, node.coefficients):
                    if not LEAST <= factor <= MOST:
                        raise NotNative("a coefficient is beyond 64 bits")
                    total = self._step(CODE["multiply_add"], total, value, factor=factor)
                return total
            case "all" | "any":
                joined, *rest = values
                for value in rest:
                    joined = self._step(CODE[code], joined, value)
                return joined
            case _:
                return self._step(CODE[code if code in COMPARED else native_row(node).name], *values)


def _mirrored(node: Operation) -> tuple[str, tuple[Operation, ...]]:
    """`b < a` for `a > b`."""
    if node.code in SWAPPED:
        return SWAPPED[node.code], node.operands[::-1]
    return node.code, node.operands


def with_operations(text: str) -> str:
    """The text of the extension module with the operations of the table, and what they call."""
    cases = []
    for name, c in (VALUES | REQUIRED).items():
        begin, end = ("long long result = 0; ", "\n                *to = result;") if name in VALUES else ("", "")
        step = f"{begin}{c.format('v[a]', 'v[b]', 'v[c]', v='result')}{end} break;"
        cases.append(f"            case OPERATION_{name}: {{ {step} }}")
    for mark, names in (("@OPERATIONS@", VALUES), ("@COMPARISONS@", REQUIRED)):
        text = text.replace(mark, ", ".join([f"OPERATION_{name}" for name in names]))
    return text.replace("@CASES@", "\n".join(cases)).replace("@ARITHMETIC@", ARITHMETIC)


assert COMPARISONS == {*COMPARED, *SWAPPED}
