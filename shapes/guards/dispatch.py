"""Dispatch among guarded variants: which one accepts these sizes, without testing them one by one.

    >>> from shapes import ShapeEnv
    >>> from shapes.guards.dispatch import Dispatch
    >>> def variant(fact):
    ...     env = ShapeEnv()
    ...     env.symbol("n", lo=0)
    ...     env.assume(fact)
    ...     return env
    >>> dispatch = Dispatch(["x"])
    >>> for fact in ["n <= 15", "n >= 16 and n % 16 == 0", "n >= 16"]:
    ...     dispatch.add(variant(fact), fact, sources={"n": ("x", 0)})
    >>> dispatch.lookup((7,)), dispatch.lookup((32,)), dispatch.lookup((33,))
    ('n <= 15', 'n >= 16 and n % 16 == 0', 'n >= 16')
    >>> dispatch.lookup((-1,)) is None
    True

The first variant, in the order in which they were added, whose requirements hold is the answer. The lookup is one
generated function with a decision tree over the requirements of all (see `shapes.guards.decision_tree`), made when it
is needed first after an `add`. Requirements that are not about sizes are opaque: an input, by its path, equals a value,
as in `tests={("x", ".dtype"): "float32", ("x", ".ndim"): 3}`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, cast

from shapes.accepted import shown
from shapes.guards.arguments import Arguments, Path, Prologue, Source, Sources, access, local_names
from shapes.guards.codegen import Check, Outcome, is_check
from shapes.guards.decision_tree import Variant, grow
from shapes.guards.emit_python import python_scope, reachable
from shapes.guards.emit_tree import tree_source
from shapes.guards.lowering import COMPARISONS, Operation, Operations
from shapes.guards.variants import Entry, Found
from solver.errors import ShapeError
from solver.floats.ordinals import double

if TYPE_CHECKING:
    from shapes.guards.coverage import Ranges
    from solver.decide.verdict import Verdict
    from solver.terms.prop import Prop

Value = TypeVar("Value")

MISSING: Final = object()
"""The value of an input that the arguments do not have."""
COMMUTATIVE: Final = frozenset(("mul", "max", "min", "bitand"))


class Lookup(Protocol[Found]):
    """The generated function."""

    def __call__(self, *arguments: object, **named: object) -> Found | None: ...


class Guarded(Protocol):
    """An object that has guards to compile: a `ShapeEnv`."""

    def compile_guards(self, sources: Sources, *, arguments: Sequence[str] | None = None) -> Check: ...


class Dispatch(Generic[Value]):
    """Guarded variants over the same arguments.

    `lookup(*arguments)` is the value of the first variant that accepts them, or None. It is an attribute that is
    replaced when variants are added: read it from the dispatch each time.
    """

    __slots__ = (
        "_lock",
        "_paths",
        "_sizes",
        "_tested",
        "arguments",
        "entries",
        "lookup",
        "operations",
        "prologue",
        "source",
    )

    def __init__(self, arguments: Sequence[str], *, prologue: Prologue | None = None) -> None:
        if isinstance(arguments, str) or not isinstance(arguments, Sequence):
            raise ShapeError(f"arguments={shown(arguments)}: expected the names of the arguments, such as ['x', 'y']")
        self.arguments = tuple(arguments)
        self.prologue = prologue
        self.entries: list[Entry[Value]] = []
        self.operations = Operations()
        self.source = ""
        """The text of the lookup, once it has been made."""
        self._paths: dict[Path, int] = {}
        self._sizes: set[Path] = set()
        self._tested: set[Path] = set()
        self._lock = Lock()
        # what is never added to does not refer to itself
        self.lookup: Lookup[Value] = _nothing

    def add(
        self,
        accepts: Check | Guarded,
        value: Value,
        *,
        sources: Sources | None = None,
        tests: Mapping[Source, Hashable] | None = None,
    ) -> None:
        """Add a variant: a compiled check, or an environment with the sources of its symbols.

        Arguments that the check names are those of the dispatch with that name; those that it counts are in order.

        Raises:
            ShapeError: the arguments do not fit together, or a test is about an input that is a size.
        """
        if is_check(accepts):
            check = accepts
        else:
            named = self.arguments if _named(sources or {}) else None
            check = cast(Guarded, accepts).compile_guards(sources or {}, arguments=named)
        plan = check.plan
        order = self._order(plan.arguments)
        opaque = self._opaque(tests or {})
        sizes = [self._renamed(path, plan.arguments, order) for path in plan.arguments.paths]
        with self._lock:
            for path in {*self._sizes, *sizes} & {*self._tested, *opaque}:
                raise ShapeError(
                    f"{access(*path)} is a size, which guards are about: it cannot be tested by value as well"
                )
            self._sizes.update(sizes)
            self._tested.update(opaque)
            positions = [self._position(path) for path in sizes]
            expected = {self.operations.leaf(self._position(path)): wanted for path, wanted in opaque.items()}
            conditions = copied(plan.conditions, self.operations, positions)
            inputs = frozenset([*positions, *[leaf.number for leaf in expected]])
            variant = Variant(len(self.entries), tuple(conditions), expected, inputs)
            self.entries.append(Entry(check, value, opaque, variant, order, tuple(positions)))
            self.lookup = self._first_lookup

    def __copy__(self) -> Dispatch[Value]:
        return _restored(self.arguments, self.prologue, [(each.check, each.value, each.tests) for each in self.entries])

    def __deepcopy__(self, memo: dict[int, object]) -> Dispatch[Value]:
        """One of its own with copies of the values; checks never change and are shared."""
        entries = [(entry.check, deepcopy(entry.value, memo), entry.tests) for entry in self.entries]
        return _restored(self.arguments, self.prologue, entries)

    def __reduce__(self) -> tuple[object, ...]:
        """The variants as they were added; the lookup is generated again."""
        entries = [(entry.check, entry.value, entry.tests) for entry in self.entries]
        return _restored, (self.arguments, self.prologue, entries)

    def _opaque(self, tests: Mapping[Source, Hashable]) -> dict[Path, Hashable]:
        """Opaque tests by path, checked."""
        found: dict[Path, Hashable] = {}
        for source, wanted in tests.items():
            head, *steps = source if isinstance(source, tuple) else (source,)
            if isinstance(head, int) and 0 <= head < len(self.arguments):
                head = self.arguments[head]
            if head not in self.arguments:
                raise ShapeError(f"tests[{source!r}]: the arguments are {', '.join(self.arguments)}")
            try:
                hash(wanted)
            except TypeError:
                raise ShapeError(f"tests[{source!r}]={wanted!r}: expected a hashable value") from None
            if wanted != wanted:
                raise ShapeError(f"tests[{source!r}]={wanted!r} is not equal to itself")
            found[(head, *steps)] = wanted
        return found

    def _order(self, arguments: Arguments) -> tuple[int, ...]:
        """The index of each argument of a check among those of the dispatch."""
        if not arguments.by_name:
            if len(arguments.names) <= len(self.arguments):
                return tuple(range(len(arguments.names)))
        elif all(name in self.arguments for name in arguments.names):
            return tuple([self.arguments.index(name) for name in arguments.names])
        shown = ", ".join(self.arguments)
        raise ShapeError(f"a check of {', '.join(arguments.names)} does not fit a dispatch over {shown}")

    def _renamed(self, path: Path, arguments: Arguments, order: Sequence[int]) -> Path:
        return (self.arguments[order[arguments.names.index(str(path[0]))]], *path[1:])

    def _position(self, path: Path) -> int:
        return self._paths.setdefault(path, len(self._paths))

    def _first_lookup(self, *arguments: object, **named: object) -> Value | None:
        """Make the lookup, and use it."""
        with self._lock:
            paths = tuple(self._paths)
            read = self.prologue.read if self.prologue is not None else {}
            names = [read.get(path, name) for path, name in zip(paths, local_names(paths, self.arguments))]
            layout = Arguments(self.arguments, paths, tuple(names), {}, True)
            given = frozenset([position for position, path in enumerate(paths) if len(path) == 1 or path in read])
            tree = grow(self.operations, [entry.variant for entry in self.entries], given)
            made = tree_source(self.operations, tree, layout, prologue=self.prologue)
            scope = python_scope(made.functions)
            if self.prologue is not None:
                scope.update(self.prologue.scope)
            scope.update(made.constants)
            scope["default"] = None
            scope.update({f"value_{number}": entry.value for number, entry in enumerate(self.entries)})
            exec(compile(made.text, "<lookup>", "exec"), scope)
            self.source = made.text
            lookup = self.lookup = cast(Lookup[Value], scope.pop("lookup"))
        return lookup(*arguments, **named)

    def explain(self, *arguments: object) -> list[tuple[Value, Outcome]]:
        """For each variant, why it does or does not accept the arguments."""
        values: Mapping[str, object] = dict(zip(self.arguments, arguments))
        found = []
        for entry in self.entries:
            refused = self._refused(entry, values)
            if refused is None:
                names = entry.check.plan.arguments.names
                own = {name: arguments[place] for name, place in zip(names, entry.order)}
                found.append((entry.value, entry.check.plan.explain(own)))
            else:
                found.append((entry.value, Outcome(False, None, {}, refused)))
        return found

    def cause(self, values: Sequence[object]) -> tuple[str, Prop | None]:
        """The test that these arguments fail of the variant with the fewest such tests, the latest one on ties; and the
        guard if it is one."""
        given = dict(zip(self.arguments, values))
        failed = [self.failed_tests(entry, given) for entry in self.entries]
        if not failed:
            return "inputs of other kinds", None
        closest = min(range(len(failed)), key=lambda place: (len(failed[place]), -place))
        if failed[closest]:
            changed = [f"{''.join(map(str, path))} is {value}, was {wanted}" for path, value, wanted in failed[closest]]
            return "; ".join(changed), None
        plan = self.entries[closest].check.plan
        outcome = plan.explain(given)
        requirement, message = outcome.requirement, outcome.message
        for name, value in outcome.values.items():
            if any(str(path[0]).endswith("_bits") for path in plan.arguments.sources_of(name)):
                message = message.replace(f"{name}={value}", f"{name}={double(value)}")
        return message, None if requirement is None else requirement.prop

    def coverage(self, ranges: Ranges | None = None, *, tests: Mapping[Source, Hashable] | None = None) -> Verdict:
        """Decide whether some variant accepts all sizes in the ranges (by input, as text; 0 and up where none is
        given).

        Always, or sizes that no variant accepts (`false_at`), or GaveUp. Considered are the variants whose opaque tests
        are among `tests`.
        """
        from shapes.guards.coverage import coverage

        given = self._opaque(tests or {})
        considered = [entry for entry in self.entries if entry.tests.items() <= given.items()]
        return coverage(considered, [access(*path) for path in self._paths], ranges or {})

    def _refused(self, entry: Entry[Value], values: Mapping[str, object]) -> str | None:
        """The opaque test that the arguments fail, in words."""
        failed = self.failed_tests(entry, values)
        if not failed:
            return None
        path, actual, wanted = failed[0]
        if actual is MISSING:
            return f"the arguments have no {access(*path)}"
        return f"{access(*path)} is {actual!r}, not {wanted!r}"

    def failed_tests(
        self, entry: Entry[Value], values: Mapping[str, object]
    ) -> list[tuple[Path, object, Hashable]]:
        """The opaque tests of a variant that the arguments fail: the input, what it is, and what it should be."""
        layout = Arguments(self.arguments, tuple(entry.tests), (), {}, True)
        failed: list[tuple[Path, object, Hashable]] = []
        for position, (path, wanted) in enumerate(entry.tests.items()):
            try:
                actual = layout.read(position, values)
            except (TypeError, LookupError, AttributeError):
                actual = MISSING
            if actual is MISSING or actual != wanted:
                failed.append((path, actual, wanted))
        return failed


def _restored(
    arguments: Sequence[str],
    prologue: Prologue | None,
    entries: Sequence[tuple[Check, Value, Mapping[Path, Hashable]]],
) -> Dispatch[Value]:
    """A dispatch with these variants, in order."""
    dispatch: Dispatch[Value] = Dispatch(arguments, prologue=prologue)
    for check, value, tests in entries:
        dispatch.add(check, value, tests=dict[Source, Hashable](tests.items()))
    return dispatch


def combined(  # type: ignore[explicit-any]  # an entry in C takes a tuple
    dispatches: Sequence[Dispatch[Value]], entry: Callable[..., object] | None, *, is_rare: bool
) -> Callable[[Sequence[object]], Value | None]:
    """One lookup for inputs of several kinds, by an entry in C before all, which may give NotImplemented.

    Its code is generated now, unless it `is_rare` that something is looked up: where calls run in C.
    """
    if len(dispatches) == 1 and entry is None and not is_rare:
        dispatches[0].lookup(())
        return dispatches[0].lookup

    def lookup(args: Sequence[object]) -> Value | None:
        if entry is not None:
            found = entry(args, {})
            if found is not NotImplemented:
                return cast(Value, found)
        for each in dispatches:
            value = each.lookup(args)
            if value is not None:
                return value
        return None

    return lookup


def _nothing(*arguments: object, **named: object) -> None:
    """Find no variant: the lookup of a dispatch without variants."""


def _named(sources: Sources) -> bool:
    first = [source[0] if isinstance(source, list) else source for source in sources.values()]
    return any(isinstance(source[0] if isinstance(source, tuple) else source, str) for source in first)


def copied(conditions: Sequence[Operation], into: Operations, positions: Sequence[int]) -> list[Operation]:
    """Conditions as operations of another set, their inputs at other positions; what commutes is put in one order."""
    made: dict[Operation, Operation] = {}
    for node in reachable(conditions):
        operands = tuple([made[operand] for operand in node.operands])
        if node.code == "leaf":
            made[node] = into.leaf(positions[node.number])
        elif node.code == "sum":
            made[node] = into.sum(list(zip(node.coefficients, operands)), node.number)
        elif node.code in COMMUTATIVE or (node.code in COMPARISONS and node.code in ("eq", "ne")):
            made[node] = into.make(node.code, tuple(sorted(operands, key=_place)))
        else:
            made[node] = into.make(node.code, operands, number=node.number, name=node.name)
    return [made[condition] for condition in conditions]


def _place(operand: Operation) -> tuple[bool, bool, int]:
    """Constants come last, before them inputs."""
    return operand.code == "constant", operand.code == "leaf", operand.index
