"""Emission of conditions as one Python function.

    >>> from solver.terms.interner import Interner
    >>> from shapes.guards.arguments import Arguments
    >>> from shapes.guards.lowering import Lowering, Operations
    >>> from shapes.guards.emit_python import python_source
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> operations = Operations()
    >>> lowering = Lowering(operations, {b: operations.leaf(0), s: operations.leaf(1)})
    >>> propositions = (terms.ge(b, 1), terms.divides(64, b * s), terms.le(b * s, 4096))
    >>> conditions = [lowering.proposition(p) for p in propositions]
    >>> print(python_source(operations, conditions, Arguments.of({"b": 0, "s": 1})))
    def check(b, s):
        if not (b >= 1):
            return False
        t0 = b * s
        if not (t0 % 64 == 0 and t0 <= 4096):
            return False
        return True
    <BLANKLINE>

What is used twice becomes a local variable, computed right before the first test that needs it. A divisor is tested
only where nothing before has established that it is not zero. Deep and wide expressions are cut into statements, so
that Python's own parser can read them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, cast

from shapes.guards.arguments import Accepts, Arguments
from shapes.guards.lowering import COMPARISONS, Operation, Operations
from shapes.guards.ordering import Established
from solver.terms.functions import function as registered_function
from solver.terms.operations import bounded_power

DEEP: Final = 24
"""An expression nested deeper than this gets a name of its own."""
WIDE: Final = 40
"""A sum with more terms than this is computed in several statements, and no test chain is longer."""

SIGNS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "eq": "==", "ne": "!="}
ATOMIC, PRODUCT, SUM, BITS, COMPARISON, CHOICE = 6, 5, 4, 3, 2, 0
"""The precedence of the printed text of an operation; a lower one than its place needs gets parentheses."""
FORMS: Final = {
    "bitand": ("{} & {}", BITS, SUM),
    "relu": ("{0} if {0} > 0 else 0", CHOICE, BITS),
    "max": ("{0} if {0} > {1} else {1}", CHOICE, BITS),
    "min": ("{0} if {0} < {1} else {1}", CHOICE, BITS),
    "power": ("bounded_power({}, {})", ATOMIC, CHOICE),
    "abs": ("abs({})", ATOMIC, CHOICE),
    **{code: (f"{{}} {sign} {{}}", COMPARISON, BITS) for code, sign in SIGNS.items()},
}
"""The text of an operation, how tightly it binds, and what its operands need."""


def python_source(operations: Operations, conditions: Sequence[Operation], arguments: Arguments) -> str:
    """`check`, a function of these arguments that says whether all conditions hold, testing them in the given order."""
    printer = PythonPrinter(operations, arguments)
    printer.count(conditions)
    lines = [*printer.tests(conditions, "return False"), "return True"]
    if printer.uses_power:
        # a power beyond a million bits is refused, and with it the sizes
        lines = ["try:", *indented(lines), "except OverflowError:", "    return False"]
    body = [*arguments.unpacking(range(len(arguments.paths))), *lines]
    return "\n".join([f"def check({', '.join(arguments.names)}):", *indented(body)]) + "\n"


def python_function(source: str, conditions: Iterable[Operation], *, bound: bool = False) -> Accepts:
    """The function of a printed source; to be `bound`, with one more parameter for what it is bound to."""
    scope = python_scope(functions_of(reachable(conditions)))
    if bound:
        source = source.replace("def check(", "def check(__bound, ", 1)
    exec(compile(source, "<check>", "exec"), scope)
    # out of the scope, in which it would hold itself
    return cast(Accepts, scope.pop("check"))


def python_scope(functions: Mapping[str, str]) -> dict[str, object]:
    """The names that generated code refers to; `functions` as `functions_of` gives them."""
    scope: dict[str, object] = {"bounded_power": bounded_power}
    scope.update({local: registered_function(name).evaluate for name, local in functions.items()})
    return scope


class PythonPrinter:
    """Prints operations as Python text; keeps which values have a local name and what the tests printed so far
    establish."""

    def __init__(self, operations: Operations, arguments: Arguments) -> None:
        self._arguments = arguments
        self._names: dict[Operation, str] = {}
        self._wanted: set[Operation] = set()
        self._taken = set(arguments.locals) | set(arguments.names)
        self._serial = 0
        self.functions: dict[str, str] = {}
        self.uses_power = False
        self.established = Established(operations)

    def count(self, conditions: Iterable[Operation]) -> None:
        """Choose what gets a name: what is used more than once, and what would be nested too deep."""
        uses: dict[Operation, int] = {}
        nodes = reachable(conditions)
        self.functions = functions_of(nodes)
        for node in nodes:
            self.uses_power = self.uses_power or node.code == "power"
            for operand in node.operands:
                uses[operand] = uses.get(operand, 0) + (2 if _prints_twice(node, operand) else 1)
        for condition in dict.fromkeys(conditions):
            uses[condition] = uses.get(condition, 0) + 1
        depth: dict[Operation, int] = {}
        for node in nodes:
            if node.is_leaf:
                depth[node] = 0
                continue
            depth[node] = 1 + max([depth[operand] for operand in node.operands])
            if uses[node] > 1 or depth[node] > DEEP or (node.code == "sum" and len(node.operands) > WIDE):
                self._wanted.add(node)
                depth[node] = 0

    def scope(self) -> tuple[dict[Operation, str], Established]:
        """Save the facts known at this point of the text, and restore them after a branch."""
        return dict(self._names), self.established.copy()

    def restore(self, scope: tuple[dict[Operation, str], Established]) -> None:
        self._names, self.established = dict(scope[0]), scope[1].copy()

    @property
    def names(self) -> list[str]:
        """The local names in use."""
        return list(self._names.values())

    # ------------------------------------------------------------------ statements

    def tests(self, conditions: Sequence[Operation], otherwise: str) -> list[str]:
        """Statements that do `otherwise` when a condition fails."""
        lines: list[str] = []
        chain: list[str] = []

        def flush() -> None:
            if chain:
                lines.append(f"if not ({' and '.join(chain)}):")
                lines.append(f"    {otherwise}")
                chain.clear()

        for condition in conditions:
            naming = self.naming(condition)
            if naming or len(chain) == WIDE:
                flush()
            lines += naming
            chain.append(self.text(condition, COMPARISON))
            self.established.add(condition)
        flush()
        return lines

    def naming(self, condition: Operation) -> list[str]:
        """Statements that compute what a condition needs and what has a name of its own."""
        lines: list[str] = []
        for node in reachable([condition], known=self._names):
            if node in self._wanted and node not in self._names:
                name = self._fresh()
                if node.code == "sum" and len(node.operands) > WIDE:
                    for start in range(0, len(node.operands), WIDE):
                        stop = start + WIDE
                        part = self._sum(
                            node.operands[start:stop], node.coefficients[start:stop], node.number if not start else 0
                        )
                        lines.append(f"{name} {'+=' if start else '='} {part}")
                else:
                    lines.append(f"{name} = {self.text(node, CHOICE)}")
                self._names[node] = name
        return lines

    def _fresh(self) -> str:
        while True:
            name = f"t{self._serial}"
            self._serial += 1
            if name not in self._taken:
                return name

    # ------------------------------------------------------------------ expressions

    def text(self, node: Operation, place: int) -> str:
        """The text of an operation, in parentheses where its place needs them."""
        name = self._names.get(node)
        if name is not None:
            return name
        text, binding = self._text(node)
        return f"({text})" if binding < place else text

    def _text(self, node: Operation) -> tuple[str, int]:
        text = self.text
        match node.code:
            case "leaf":
                return self._arguments.locals[node.number], ATOMIC
            case "constant":
                return integer_text(node.number), ATOMIC if node.number >= 0 else SUM
            case "true" | "false":
                return node.code.capitalize(), ATOMIC
            case "sum":
                only = len(node.operands) == 1 and not node.number and node.coefficients[0] > 0
                return self._sum(node.operands, node.coefficients, node.number), PRODUCT if only else SUM
            case "mul":
                return f"{text(node.operands[0], PRODUCT)} * {text(node.operands[1], ATOMIC)}", PRODUCT
            case "floordiv" | "mod":
                return self._division(node)
            case "select":
                return self._select(node)
            case "call":
                return f"{self.functions[node.name]}({', '.join([text(a, CHOICE) for a in node.operands])})", ATOMIC
            case "all" | "any":
                return self._joined(node), CHOICE
            case code:
                form, binding, place = FORMS[code]
                return form.format(*[text(operand, place) for operand in node.operands]), binding

    def _sum(self, operands: Sequence[Operation], coefficients: Sequence[int], constant: int) -> str:
        pieces: list[str] = []
        for node, c in zip(operands, coefficients):
            sign = ("-" if c < 0 else "") if not pieces else (" - " if c < 0 else " + ")
            if abs(c) == 1:
                # a sign in front binds tighter than `%`: -(a % b) is not -a % b
                pieces.append(sign + self.text(node, ATOMIC if sign == "-" else PRODUCT))
            else:
                pieces.append(f"{sign}{integer_text(abs(c))} * {self.text(node, ATOMIC)}")
        if constant:
            pieces.append(f" {'-' if constant < 0 else '+'} {integer_text(abs(constant))}")
        return "".join(pieces)

    def _division(self, node: Operation) -> tuple[str, int]:
        n, d = node.operands
        sign, otherwise = ("//", "0") if node.code == "floordiv" else ("%", self.text(n, BITS))
        divided = f"{self.text(n, PRODUCT)} {sign} {self.text(d, ATOMIC)}"
        if self.established.nonzero(d):
            return divided, PRODUCT
        return f"{divided} if {self.text(d, BITS)} else {otherwise}", CHOICE

    def _select(self, node: Operation) -> tuple[str, int]:
        condition, a, b = node.operands
        before = self.established
        test = self.text(condition, COMPARISON)
        self.established = before.copy()
        self.established.add(condition)
        first = self.text(a, BITS)
        self.established = before.copy()
        self.established.refuse(condition)
        second = self.text(b, BITS)
        self.established = before
        return f"{first} if {test} else {second}", CHOICE

    def _joined(self, node: Operation) -> str:
        """`and` or `or`: each part is evaluated only where those before it have held, or have not."""
        before = self.established
        self.established = before.copy()
        pieces = []
        for part in node.operands:
            pieces.append(self.text(part, COMPARISON))
            if node.code == "all":
                self.established.add(part)
            else:
                self.established.refuse(part)
        self.established = before
        return (" and " if node.code == "all" else " or ").join(pieces)


def functions_of(nodes: Iterable[Operation]) -> dict[str, str]:
    """The names of opaque functions in generated code, by their own."""
    names = dict.fromkeys([node.name for node in nodes if node.code == "call"])
    return {name: f"function_{number}" for number, name in enumerate(names)}


def _prints_twice(node: Operation, operand: Operation) -> bool:
    """Return True if an operand may be printed in two places."""
    match node.code:
        case "relu" | "max" | "min":
            return True
        case "mod":
            return node.operands[1].code != "constant"
        case "floordiv":
            return operand is node.operands[1]
        case _:
            return False


def reachable(roots: Iterable[Operation], *, known: Container[Operation] = ()) -> list[Operation]:
    """The operations that the roots are computed from, operands first; not below those that are known."""
    stack = list(dict.fromkeys([root for root in roots if root not in known]))
    seen = set(stack)
    found: list[Operation] = []
    while stack:
        node = stack.pop()
        found.append(node)
        for operand in node.operands:
            if operand not in seen and operand not in known:
                seen.add(operand)
                stack.append(operand)
    return sorted(found, key=lambda node: node.index)


def indented(lines: Iterable[str]) -> list[str]:
    return ["    " + line for line in lines]


def integer_text(value: int) -> str:
    """A literal of any size: hexadecimal where Python refuses to print decimal digits."""
    return str(value) if value.bit_length() <= 128 else hex(value)


assert set(SIGNS) == COMPARISONS
