"""Memoization of torch's arithmetic on symbolic numbers.

A tensor with symbolic sizes multiplies its sizes, compares strides with the products and sizes with 1, and so does the
next tensor of the same sizes: most operations of a compilation are repetitions. Here the resulting expression is cached
by the identities of the two operand expressions. Nothing else is: the hint is computed each time, and each result is a
new node, since tracers tell numbers apart by their nodes.

A result depends on the expressions and on the replacements of torch's `ShapeEnv`. Torch versions its replacements and
checks its own caches against the version (`ShapeEnv.replace`); this cache uses the same version. Two methods replace
symbols without a new version, one of them only within a block, for the graph of one size (`mark_dynamic(...,
specialize_on=...)`): both clear the cache at their begin and end. Not cached are remainders, which depend on ranges as
well; operations recorded by a proxy mode, under translation validation or provenance logging; and operands that are not
both integers or both truth values.

The outcome of a comparison is cached as torch does: by its hint, until torch's version of its facts changes. Truth
values without a hint are not cached.
"""

from __future__ import annotations

import contextlib
import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import sympy
import torch._logging._internal as records
import torch._ops as dispatch
import torch.fx.experimental._config as settings
import torch.fx.experimental.sym_node as torchs
from torch._C import _get_dispatch_mode, _TorchDispatchModeKey
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols

Node = torchs.SymNode
Implementation = Callable[..., Any]
Key = TypeVar("Key")
Answer = TypeVar("Answer")

ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "int_floordiv": operator.floordiv,
    "sym_max": max,
    "sym_min": min,
}
COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
CONNECTIVES: Final[dict[str, Callable[[bool, bool], bool]]] = {
    "and_": operator.and_,
    "or_": operator.or_,
    "sym_and": operator.and_,
    "sym_or": operator.or_,
}
PROXY: Final = _TorchDispatchModeKey.PROXY
LARGEST: Final = 1 << 16
"""The cache's limit for one kind of operation and environment; beyond it the cache is cleared."""


class Answers:
    """The cached results of one environment's operations, valid for one version of its replacements.

    Attributes:
        version: torch's version of the replacements.
        operations: for each operation, by the identities of the operands, the expression and whether torch knows it
            as a sum of distinct symbols; with the operands, which keeps their identities unique.
        replaced: expressions after replacement, by identity.
        integers: the integer value of an expression after replacement, or None, by identity.
        backed: whether an expression has no unbacked symbols after replacement, by identity.
        known: torch's version of its facts, for which `sides` are valid.
        sides: outcomes of comparisons, by identity, hint, torch's query and whether guards are suppressed.
    """

    __slots__ = ("backed", "integers", "known", "operations", "replaced", "sides", "version")

    def __init__(self) -> None:
        self.forget(0)

    def forget(self, version: int) -> None:
        self.version = version
        self.known = -1
        self.sides: dict[tuple[object, ...], tuple[object, Any]] = {}
        self.operations: dict[str, dict[tuple[object, ...], tuple[Any, bool, object, object]]] = {
            name: {} for name in (*ARITHMETIC, *COMPARISONS, *CONNECTIVES)
        }
        self.replaced: dict[int, tuple[object, Any]] = {}
        self.integers: dict[int, tuple[object, int | None]] = {}
        self.backed: dict[int, tuple[object, bool]] = {}


class Environments:
    """The cache of each environment, by identity, for its lifetime."""

    def __init__(self) -> None:
        self.answers: dict[int, Answers] = {}

    def of(self, environment: Any) -> Answers:
        """The valid cached answers."""
        found = self.answers.get(id(environment))
        if found is None:
            found = self.answers[id(environment)] = Answers()
            weakref.finalize(environment, self.answers.pop, id(environment), None).atexit = False
        version = environment._replacements_version_counter
        if found.version != version:
            found.forget(version)
        return found

    def forget(self, environment: Any) -> None:
        """Clear the cache, whatever torch's version is."""
        found = self.answers.get(id(environment))
        if found is not None:
            found.forget(environment._replacements_version_counter)


def kept(table: dict[Key, Answer], key: Key, answer: Answer) -> Answer:
    """Cache an answer, in an empty table where this one is full."""
    if len(table) >= LARGEST:
        table.clear()
    table[key] = answer
    return answer


def operations(environments: Environments) -> dict[str, Any]:
    """Replacements for attributes of torch's SymNode, by name."""
    found: dict[str, Any] = {
        "expr": property(replaced_expression(environments, Node.expr.fget)),
        "maybe_as_int": integer(environments, Node.maybe_as_int),
        "wrap_int": wrapped(Node.wrap_int),
        "expect_true": expected(environments, Node.expect_true),
        "guard_or_false": with_default(Node.guard_or_false, False),
        "guard_or_true": with_default(Node.guard_or_true, True),
    }
    for table, given, result in (
        (ARITHMETIC, int, int),
        (COMPARISONS, int, bool),
        (CONNECTIVES, bool, bool),
    ):
        for name, operation in table.items():
            found[name] = once(environments, name, getattr(Node, name), operation, given, result)
    return found


def evaluations(environments: Environments) -> dict[str, Any]:
    """Replacements for attributes of torch's ShapeEnv, by name."""
    return {"evaluate_sym_node": evaluated(environments, ShapeEnv.evaluate_sym_node)}


def withdrawals(environments: Environments) -> dict[str, Any]:
    """Replacements for the methods of torch's ShapeEnv that replace symbols without a new version."""
    specialized, unified = ShapeEnv.patch_source_specialization, ShapeEnv._constrain_unify

    @contextlib.contextmanager
    def patch_source_specialization(self: Any, *specialization: Any) -> Iterator[None]:
        try:
            with specialized(self, *specialization):
                environments.forget(self)
                yield
        finally:
            environments.forget(self)

    def constrain_unify(self: Any, *numbers: Any) -> None:
        unified(self, *numbers)
        environments.forget(self)

    return {"patch_source_specialization": patch_source_specialization, "_constrain_unify": constrain_unify}


def is_recorded() -> bool:
    """Whether a proxy mode records operations."""
    return _get_dispatch_mode(PROXY) is not None or dispatch._mode_stack_state_for_pre_dispatch.get(0) is not None


def node_of(expression: Any, environment: Any, kind: type, hint: object, summation: bool) -> Any:
    """A new node, equal to what torch's constructor makes when there is nothing to compute or validate."""
    node = Node.__new__(Node)
    node._expr = expression
    node.shape_env = environment
    node.pytype = kind
    node._optimized_summation = summation
    node._expr_ver = -1
    node._expr_cache = None
    node._hint = hint
    node.constant = None
    node.fx_node = False
    return node


def once(
    environments: Environments, name: str, original: Implementation, operation: Implementation, *kinds: type
) -> Implementation:
    """A memoized operation on two numbers of one kind.

    Args:
        kinds: the kind of the operands, and that of the result.
    """
    given, result = kinds

    def found_or_computed(self: Any, other: Any) -> Any:
        environment = self.shape_env
        if (
            type(other) is not Node
            or other.shape_env is not environment
            or self.pytype is not given
            or other.pytype is not given
            or environment is None
            or environment._translation_validation_enabled
            or records.GET_DTRACE_STRUCTURED
            or is_recorded()
        ):
            return original(self, other)
        x, y = self._hint, other._hint
        if x is None or y is None:
            hint = None
        elif type(x) is given and type(y) is given:
            hint = operation(x, y)
        else:
            return original(self, other)
        answers = environments.of(environment)
        table = answers.operations[name]
        a, b = self._expr, other._expr
        key = (id(a), id(b), self._optimized_summation, other._optimized_summation)
        found = table.get(key)
        if found is not None:
            return node_of(found[0], environment, result, hint, found[1])
        node = original(self, other)
        if type(node) is Node and node.pytype is result and environments.of(environment).operations[name] is table:
            kept(table, key, (node._expr, node._optimized_summation, a, b))
        return node

    return found_or_computed


def replaced_expression(environments: Environments, original: Implementation) -> Implementation:
    """A node's expression after replacement."""

    def expression(self: Any) -> Any:
        environment = self.shape_env
        if environment is None:
            return original(self)
        version = environment._replacements_version_counter
        if version == 0:
            return self._expr
        if self._expr_ver == version and self._expr_cache is not None:
            return self._expr_cache
        replaced = environments.of(environment).replaced
        before = self._expr
        found = replaced.get(id(before))
        if found is not None:
            self._expr_ver, self._expr_cache = version, found[1]
            return found[1]
        after = original(self)
        if environments.of(environment).replaced is replaced:
            kept(replaced, id(before), (before, after))
        return after

    return expression


def integer(environments: Environments, original: Implementation) -> Implementation:
    """The integer value of a node, or None."""

    def as_integer(self: Any) -> Any:
        environment = self.shape_env
        if environment is None:
            return original(self)
        integers = environments.of(environment).integers
        expression = self._expr
        found = integers.get(id(expression))
        if found is None:
            found = kept(integers, id(expression), (expression, original(self)))
        return found[1]

    return as_integer


def evaluated(environments: Environments, original: Implementation) -> Implementation:
    """The outcome of a comparison or the value of an integer, with a guard if torch's facts do not decide it."""

    def side(self: Any, node: Any, size_oblivious: bool = False, fallback_value: bool | None = None) -> Any:
        expression, hint = node.expr, node._hint
        if (
            type(hint) not in (bool, int)
            or node.fx_node is not False
            or self.should_record_events
            or self._translation_validation_enabled
            or records.GET_DTRACE_STRUCTURED
        ):
            return original(self, node, size_oblivious, fallback_value)
        if expression is sympy.true or expression is sympy.false:
            return expression
        answers = environments.of(self)
        if answers.known != self._version_counter:
            answers.known = self._version_counter
            answers.sides.clear()
        key = (id(expression), hint, size_oblivious, fallback_value, self._suppress_guards_tls())
        found = answers.sides.get(key)
        if found is not None:
            self._expr_sym_node_id = id(node)
            return found[1]
        result = original(self, node, size_oblivious, fallback_value)
        if answers.known == self._version_counter:
            kept(answers.sides, key, (expression, result))
        return result

    return side


def expected(environments: Environments, original: Implementation) -> Implementation:
    """A requirement: a guard, or a runtime assert with unbacked symbols."""

    def expect_true(self: Any, file: str, line: int) -> Any:
        environment = self.shape_env
        if self._hint is None or environment is None or environment.prefer_deferred_runtime_asserts_over_guards:
            return original(self, file, line)
        backed = environments.of(environment).backed
        expression = self._expr
        found = backed.get(id(expression))
        if found is None:
            found = kept(backed, id(expression), (expression, not free_unbacked_symbols(self.expr)))
        return self.guard_bool(file, line) if found[1] else original(self, file, line)

    return expect_true


def with_default(original: Implementation, default: bool) -> Implementation:
    """A guard, or a default if unbacked symbols leave it undecided."""

    def guard(self: Any, file: str, line: int) -> bool:
        environment = self.shape_env
        if self.pytype is not bool or environment is None or settings.backed_size_oblivious:
            return original(self, file, line)
        return bool(environment.evaluate_sym_node(self, False, default))

    return guard


def wrapped(original: Implementation) -> Implementation:
    """Nodes of integers."""
    integers: dict[int, sympy.Integer] = {}

    def wrap_int(self: Any, number: int) -> Any:
        environment = self.shape_env
        if type(number) is not int or environment is None or environment._translation_validation_enabled:
            return original(self, number)
        expression = integers.get(number)
        if expression is None:
            expression = kept(integers, number, sympy.Integer(number))
        node = node_of(expression, environment, int, number, False)
        node.constant = number
        return node

    return wrap_int


__all__ = ["Answers", "Environments", "evaluations", "operations", "withdrawals"]
