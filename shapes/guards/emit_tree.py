"""Emission of a decision tree as Python: from arguments to the value of the first variant that accepts them.

    >>> from shapes.guards.arguments import Arguments
    >>> from shapes.guards.decision_tree import Variant, grow
    >>> from shapes.guards.lowering import Operations
    >>> from shapes.guards.emit_tree import tree_source
    >>> operations = Operations()
    >>> s = operations.leaf(0)
    >>> small, large = [operations.make(code, (s, operations.constant(64))) for code in ("lt", "ge")]
    >>> even = operations.make("eq", (operations.make("mod", (s, operations.constant(2))), operations.constant(0)))
    >>> variants = [Variant(0, (small, even), {}, frozenset([0])), Variant(1, (large,), {}, frozenset([0]))]
    >>> print(tree_source(operations, grow(operations, variants), Arguments.of({"s": 0})).text)
    def lookup(s):
        if s < 64:
            if s % 2 == 0:
                return value_0
            return default
        return value_1
    <BLANKLINE>

Inputs are read where every remaining variant expects them, or where one is tried that does; so variants for arguments
of different structure live side by side. A table with many branches becomes a dictionary of values, or of functions
for what is left to test.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from shapes.guards.arguments import Arguments, Prologue
from shapes.guards.decision_tree import Attempt, Attempts, Present, Required, Split, Table, Test, Tree
from shapes.guards.emit_python import CHOICE, COMPARISON, PythonPrinter, functions_of, indented, integer_text, reachable
from shapes.guards.lowering import Operation, Operations

CHAIN: Final = 3
"""A table with at most so many branches is a chain of comparisons."""


@dataclass(frozen=True, slots=True)
class TreeSource:
    """The printed functions and tables, the constants that they refer to by name, and the opaque functions."""

    text: str
    constants: dict[str, object]
    functions: dict[str, str]


def tree_source(
    operations: Operations, tree: Tree, arguments: Arguments, *, prologue: Prologue | None = None
) -> TreeSource:
    """`lookup`, a function of these arguments. Still to be given: `default`, and the results, `value_0` and on."""
    printer = TreePrinter(operations, tree, arguments)
    read = prologue.read if prologue is not None else {}
    loaded = frozenset([position for position, path in enumerate(arguments.paths) if path in read])
    body = printer.tree(tree, loaded)
    if printer.python.uses_power:
        body = ["try:", *indented(body), "except OverflowError:", "    return default"]
    parameters = arguments.names
    if prologue is not None:
        parameters = prologue.parameters
        body = [*prologue.statements, *body]
    parts = [*printer.parts, "\n".join([f"def lookup({', '.join(parameters)}):", *indented(body)])]
    return TreeSource("\n\n".join(parts) + "\n", printer.constants, functions_of(reachable(_conditions(tree))))


class TreePrinter:
    """Prints the nodes of a tree; every list of statements that it makes ends with a return."""

    def __init__(self, operations: Operations, tree: Tree, arguments: Arguments) -> None:
        self._operations = operations
        self._arguments = arguments
        self.python = PythonPrinter(operations, arguments)
        self.python.count(_conditions(tree))
        self.parts: list[str] = []
        """The text printed beside the function itself: functions for branches, and tables."""
        self.constants: dict[str, object] = {}

    def tree(self, tree: Tree, loaded: frozenset[int]) -> list[str]:
        match tree:
            case Required(conditions, tests, then):
                lines, loaded = self._load(_inputs(conditions, tests), loaded, "return default")
                if tests:
                    lines += [f"if not ({' and '.join([self._test(*test) for test in tests])}):", "    return default"]
                return lines + self.python.tests(conditions, "return default") + self.tree(then, loaded)
            case Split(condition, then, otherwise):
                return self._branch(condition, then, otherwise, loaded)
            case Table():
                return self._table(tree, loaded)
            case Present(inputs, then, otherwise):
                return self._present(inputs, then, otherwise, loaded)
            case Attempts(attempts):
                return self._attempts(attempts, loaded)

    def _load(self, wanted: Iterable[int], loaded: frozenset[int], otherwise: str) -> tuple[list[str], frozenset[int]]:
        """Statements that read inputs, and what is read after them."""
        missing = sorted(set(wanted) - loaded)
        return self._arguments.unpacking(missing, otherwise), loaded.union(missing)

    def _present(self, inputs: frozenset[int], then: Tree, otherwise: Tree, loaded: frozenset[int]) -> list[str]:
        """The branches of a question for present inputs, outside of the handler: Python limits how handlers nest."""
        name = f"there_{len(self.parts)}"
        self.parts.append(f"{name} = object()")
        first = self._arguments.locals[min(inputs)]
        lines, more = self._load(inputs, loaded, f"{first} = {name}")
        scope = self.python.scope()
        lines.append(f"if {first} is not {name}:")
        lines += indented(self.tree(then, more))
        self.python.restore(scope)
        return lines + self.tree(otherwise, loaded)

    def _branch(self, condition: Operation, then: Tree, otherwise: Tree, loaded: frozenset[int]) -> list[str]:
        lines, loaded = self._load(_inputs([condition]), loaded, "return default")
        lines += self.python.naming(condition)
        lines.append(f"if {self.python.text(condition, CHOICE)}:")
        scope = self.python.scope()
        self.python.established.add(condition)
        lines += indented(self.tree(then, loaded))
        self.python.restore(scope)
        self.python.established.refuse(condition)
        return lines + self.tree(otherwise, loaded)

    def _table(self, table: Table, loaded: frozenset[int]) -> list[str]:
        lines, loaded = self._load(_inputs([table.subject]), loaded, "return default")
        lines += self.python.naming(table.subject)
        subject = self.python.text(table.subject, COMPARISON)
        scope = self.python.scope()
        if len(table.branches) <= CHAIN:
            for value, tree in table.branches.items():
                lines.append(f"if {subject} == {self._constant(value)}:")
                self._know(table.subject, value)
                lines += indented(self.tree(tree, loaded))
                self.python.restore(scope)
            return lines + self.tree(table.otherwise, loaded)
        visible = [
            *self._arguments.names,
            *[self._arguments.locals[position] for position in sorted(loaded)],
            *self.python.names,
        ]
        parameters = ", ".join(dict.fromkeys(visible))
        answers = {value: self._answer(table.subject, value, tree, loaded) for value, tree in table.branches.items()}
        decided = None not in answers.values()
        entries = []
        for value, tree in table.branches.items():
            self._know(table.subject, value)
            result = answers[value] if decided else self._function(tree, loaded, parameters)
            entries.append(f"    {self._constant(value)}: {result},")
            self.python.restore(scope)
        name = f"table_{len(self.parts)}"
        self.parts.append("\n".join([f"{name} = {{", *entries, "}"]))
        find = [f"found = {name}.get({subject}, {name})"]
        if table.subject.code == "leaf" and not all(type(value) is int for value in table.branches):
            find = ["try:", *indented(find), "except TypeError:  # a value without a hash", f"    found = {name}"]
        leave = [f"if found is not {name}:", f"    return found{'' if decided else f'({parameters})'}"]
        return [*lines, *find, *leave, *self.tree(table.otherwise, loaded)]

    def _know(self, subject: Operation, value: Hashable) -> None:
        """Establish the value of the subject inside a branch."""
        if type(value) is int:
            self.python.established.add(self._operations.make("eq", (subject, self._operations.constant(value))))

    def _answer(self, subject: Operation, value: Hashable, tree: Tree, loaded: frozenset[int]) -> str | None:
        """The result of a branch in which nothing is left to test."""
        match tree:
            case Attempts((Attempt(variant, conditions, tests),)) if not tests and variant.inputs <= loaded:
                scope = self.python.scope()
                self._know(subject, value)
                decided = all(self.python.established.holds(condition) for condition in conditions)
                self.python.restore(scope)
                return f"value_{variant.number}" if decided else None
            case _:
                return None

    def _function(self, tree: Tree, loaded: frozenset[int], parameters: str) -> str:
        body = self.tree(tree, loaded)
        name = f"branch_{len(self.parts)}"
        self.parts.append("\n".join([f"def {name}({parameters}):", *indented(body)]))
        return name

    def _attempts(self, attempts: Iterable[Attempt], loaded: frozenset[int]) -> list[str]:
        lines: list[str] = []
        for attempt in attempts:
            scope = self.python.scope()
            here, _ = self._load(attempt.variant.inputs, loaded, "pass")
            inner = self._attempt(attempt)
            if here:
                here += ["else:", *indented(inner)]
            else:
                here = inner
            self.python.restore(scope)
            lines += here
            if inner[0].startswith("return") and here is inner:
                return lines
        return [*lines, "return default"]

    def _attempt(self, attempt: Attempt) -> list[str]:
        """Statements that return the value of the variant if it accepts, and otherwise go on."""
        lines = [f"return value_{attempt.variant.number}"]
        conditions = [condition for condition in attempt.conditions if not self.python.established.holds(condition)]
        opened: list[str] = []
        depth = 0
        chain = [self._test(*test) for test in attempt.tests]
        for condition in conditions:
            naming = self.python.naming(condition)
            if naming and chain:
                opened.append("    " * depth + f"if {' and '.join(chain)}:")
                depth += 1
                chain = []
            opened += ["    " * depth + line for line in naming]
            chain.append(self.python.text(condition, COMPARISON))
            self.python.established.add(condition)
        if chain:
            opened.append("    " * depth + f"if {' and '.join(chain)}:")
            depth += 1
        return [*opened, *["    " * depth + line for line in lines]]

    def _test(self, subject: Operation, value: Hashable) -> str:
        return f"{self.python.text(subject, COMPARISON)} == {self._constant(value)}"

    def _constant(self, value: Hashable) -> str:
        """The text of a value that an opaque test expects."""
        if type(value) is int:
            return integer_text(value)
        if value is None or type(value) in (bool, str):
            return repr(value)
        name = f"expected_{len(self.constants)}"
        self.constants[name] = value
        return name


def _inputs(conditions: Iterable[Operation], tests: Iterable[Test] = ()) -> list[int]:
    """The positions of the inputs that conditions and tests read."""
    subjects = [*conditions, *[subject for subject, _ in tests]]
    return [node.number for node in reachable(subjects) if node.code == "leaf"]


def _conditions(tree: Tree) -> list[Operation]:
    """Every operation that the text of a tree computes."""
    match tree:
        case Required(conditions, _, then):
            return [*conditions, *_conditions(then)]
        case Split(condition, then, otherwise):
            return [condition, *_conditions(then), *_conditions(otherwise)]
        case Present(_, then, otherwise):
            return [*_conditions(then), *_conditions(otherwise)]
        case Table(subject, branches, otherwise):
            below = [condition for branch in [*branches.values(), otherwise] for condition in _conditions(branch)]
            return [subject, *below]
        case Attempts(attempts):
            return [condition for attempt in attempts for condition in attempt.conditions]
