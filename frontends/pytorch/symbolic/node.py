"""Symbolic numbers for torch: a `torch.SymInt` wraps a `Node`, which wraps a `shapes.SymInt`.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.node import Nodes
    >>> env = ShapeEnv(origin=lambda: None)
    >>> nodes = Nodes(env)
    >>> b, s = [nodes.wrap(size) for size in env.sizes("b s", hints=(4, 128), lo=1)]
    >>> torch.empty(b, s, 3, device="meta").transpose(0, 2).sum(1).shape
    torch.Size([3, b])
    >>> env.guards()
    ()

`Node` implements torch's SymNode protocol; C++ calls its methods directly. A trace repeats the same queries, so each
operation and answer is memoized by identity: nodes live as long as their table, so the node itself is the key.
"""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import sympy
import torch
from torch.fx.experimental.sym_node import SymNode
from torch.utils._sympy.symbol import SymT, make_symbol

from frontends.pytorch.symbolic import formulas
from frontends.pytorch.symbolic.values import AnyValue, Computing, Value, symbols_of
from shapes.environment import layout
from shapes.errors import Contradiction, FalseAtHint
from shapes.symbolic import choices
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.decide.verdict import Always, Never

if TYPE_CHECKING:
    from shapes.env import ShapeEnv
    from solver.knowledge.facts import Facts

TorchValue: TypeAlias = Any
"""A number as torch has it, symbolic (`torch.SymInt` and the like) or plain: torch's own classes are Any here."""

UNDEFINED: Final = {ZeroDivisionError: "division by zero", ValueError: "negative shift count"}
"""Python's messages for undefined numbers."""
RECENT: Final = 6
"""The number of recent results that are cached."""
WRAPPERS: Final = {int: torch.SymInt, float: torch.SymFloat, bool: torch.SymBool}


def value_of(number: TorchValue) -> AnyValue:
    """Unwrap a number of torch's.

    Raises:
        TypeError: it is symbolic and belongs to another environment.
    """
    if isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool):
        node = number.node
        if isinstance(node, Node):
            return node.value
        raise TypeError(f"{number!r}: a symbolic number of another trace")
    return number


def ours(number: object) -> bool:
    """Return True if a number is symbolic in a trace of ours."""
    return isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool) and isinstance(number.node, Node)


def _arrangement(holds: Callable[..., choices.Truth]) -> Callable[..., Node]:
    """A query about sizes and strides. Torch asks it only to choose a faster path, so it adds no guard."""

    def method(self: Node, sizes: Sequence[Node], strides: Sequence[Node]) -> Node:
        memo = self.nodes.memo
        key = (holds, *sizes, None, *strides)
        found = memo.get(key)
        if found is None:
            truth = holds([size.value for size in sizes], [stride.value for stride in strides])
            found = memo[key] = LayoutNode(self.nodes, truth) if isinstance(truth, SymBool) else self.nodes.node(truth)
        return found

    return method


class Node(Computing, SymNode):
    """One symbolic number: torch's SymNode, over a number of ours."""

    def __init__(self, nodes: Nodes, value: Value) -> None:
        self.nodes = nodes
        self.shape_env = nodes
        self.value: AnyValue = value
        self.is_plain = isinstance(value, int | float)
        self.constant = value if self.is_plain else None
        self.pytype = bool if isinstance(value, bool | SymBool) else int if isinstance(value, int | SymInt) else float
        self.outside: TorchValue = value if self.is_plain else WRAPPERS[self.pytype](self)
        self._stand_in: object = None

    def is_nested_int(self) -> bool:
        return False

    def is_symbolic(self) -> bool:
        return not self.is_plain

    def is_constant(self) -> bool:
        return self.is_plain

    def maybe_as_int(self) -> int | None:
        return self.value if self.is_plain and self.pytype is int else None

    def maybe_as_float(self) -> float | None:
        return self.value if self.is_plain and self.pytype is float else None

    def maybe_as_bool(self) -> bool | None:
        return self.value if self.is_plain and self.pytype is bool else None

    def str(self) -> builtins.str:
        return builtins.str(self.value)

    __repr__ = str

    def wrap_int(self, value: float) -> Node:
        return self.nodes.constant(value)

    wrap_float = wrap_bool = wrap_int

    @property
    def expr(self) -> object:
        """A sympy symbol for this number, or the constant."""
        if self._stand_in is None:
            self._stand_in = sympy.sympify(self.value) if self.is_plain else self.nodes.stand_in(self.value)
        return self._stand_in

    # ------------------------------------------------------------------ its value this time

    @property
    def hint(self) -> float | None:
        """The hint; None for an unbacked number."""
        if self.is_plain:
            return self.value
        return self.value.hint if isinstance(self.value, SymFloat) else self.nodes.env.hint(self.value)

    _hint = hint

    def has_hint(self) -> bool:
        """False for a size: C++ asks only before it computes a tensor's layout.

        It then builds one proposition and asks that with a fallback, rather than branching on every size.
        """
        return self.is_plain

    # ------------------------------------------------------------------ branches and checks

    def guard_bool(self, file: builtins.str = "", line: int = 0) -> bool:
        """A branch of the program: decided by the facts, else the hint's side with a guard."""
        truths = self.nodes.truths
        found = truths.get(self)
        if found is None:
            general = formulas.answer(self.nodes.env, self.value, file) if file and not self.nodes.inferring else None
            if general is not None:
                return general
            found = truths[self] = bool(self.value)
        return found

    bool_ = guard_bool

    def guard_int(self, file: builtins.str = "", line: int = 0) -> int:
        return int(self.value)

    def guard_float(self, file: builtins.str = "", line: int = 0) -> float:
        return float(self.value)

    def expect_true(self, file: builtins.str = "", line: int = 0) -> bool:
        """An operator's precondition: assumed from here on, and checked at run time unless it is proven."""
        if self.is_plain:
            return bool(self.value)
        return self.expect(*formulas.stated(file))

    def expect(self, message: builtins.str, error: type[Exception] = RuntimeError) -> bool:
        """Commit to an expected proposition.

        If it is false, commit to its negation: torch then raises its usual error, which the program may catch. A
        runtime check raises `error`.
        """
        truths = self.nodes.truths
        if truths.get(self) is None:
            try:
                self.nodes.env.expect_true(self.value, message, error=error)
                truths[self] = True
            except FalseAtHint:
                truths[self] = self.nodes.env.guard(self.value)
            except Contradiction:
                truths[self] = False
        return truths[self]

    def statically_known_true(self, file: builtins.str = "", line: int = 0) -> bool:
        if self.is_plain:
            return bool(self.value)
        known = self.nodes.truths.get(self)
        if known is not None:
            return known
        env = self.nodes.env
        # a proposition that is false for the hints cannot be proven
        return env.true_at_hints(self.value) is not False and isinstance(env.ask(self.value), Always)

    def guard_or_false(self, file: builtins.str = "", line: int = 0) -> bool:
        """The decided answer, else False: torch's operators then take the general path."""
        return self._with_fallback(False, file)

    guard_size_oblivious = guard_or_false

    def guard_or_true(self, file: builtins.str = "", line: int = 0) -> bool:
        return self._with_fallback(True, file)

    def _with_fallback(self, fallback: bool, file: builtins.str = "") -> bool:
        if self.is_plain:
            return bool(self.value)
        known = self.nodes.truths.get(self)
        if known is not None:
            return known
        if not fallback and (self.nodes.laying_out or self._is_as_long(file)):
            return self.statically_known_true()
        if fallback and self.nodes.laying_out:
            return not isinstance(self.nodes.env.ask(self.value), Never)
        return self._answered(fallback)

    def _is_as_long(self, file: builtins.str) -> bool:
        """Return True if the query is if a gradient that has its tensor's size must be reduced."""
        if not formulas.is_of_gradient(file) or not self.nodes.env.true_at_hints(self.value):
            return False
        one = self.nodes.constant(1)
        sizes = [size for made in self.nodes.made for size in made if isinstance(size, torch.SymInt)]
        return any(size.node.eq(one) is self for size in sizes)

    def _answered(self, fallback: bool) -> bool:
        """The decided answer, else the fallback; cached until the facts change."""
        nodes = self.nodes
        env = nodes.env
        answers = nodes.answered[fallback]
        found = answers.get(self)
        if found is not None and found[0] is env.known:
            return found[1]
        if env.true_at_hints(self.value) is fallback:
            answer = fallback # decided or not
        else:
            answer = env.guard_or_true(self.value) if fallback else env.guard_or_false(self.value)
        answers[self] = (env.known, answer)
        return answer

    # ------------------------------------------------------------------ layouts

    is_contiguous = _arrangement(layout.contiguous)
    is_channels_last_contiguous_2d = is_channels_last_contiguous_3d = _arrangement(layout.channels_last)
    is_channels_last_strides_2d = is_channels_last_strides_3d = _arrangement(layout.strided_channels_last)
    is_non_overlapping_and_dense = _arrangement(layout.non_overlapping_and_dense)


class LayoutNode(Node):
    """A layout query: if it is undecided, a branch takes the general side when the hint agrees.

    A choice is no fact: it is valid only until the facts change.
    """

    guard_bool = bool_ = Node.guard_or_false


class Nodes:
    """The nodes of one environment: one for each number, with memoized results.

    It has the methods of torch's ShapeEnv that torch's Python code calls on a node's `shape_env`, with the sympy
    symbols that stand for whole expressions.
    """

    def __init__(self, env: ShapeEnv) -> None:
        self.env = env
        self.memo: dict[tuple[object, ...], Node] = {}
        self.truths: dict[Node, bool] = {}
        """The program's branches and their outcomes; a rollback may undo and clears them."""
        self.inferring = False
        """True while an operator's results are inferred: no gradient formula asks then."""
        self.made: deque[tuple[TorchValue, ...]] = deque(maxlen=RECENT)
        """The sizes of the latest results: gradients, if a gradient formula has run."""
        self.laying_out = False
        """While a tensor is constructed, C++ queries its layout; those queries add no guard."""
        self.answered: tuple[dict[Node, tuple[Facts, bool]], dict[Node, tuple[Facts, bool]]] = ({}, {})
        """Answers where a fallback was named, False or True, with the facts at that time."""
        self._values: dict[object, AnyValue] = {}
        self._constants: dict[tuple[type, object], Node] = {}
        self._symbolic: dict[object, Node] = {}
        env.attach(lambda: self._forget)

    @contextmanager
    def infers(self) -> Iterator[None]:
        """A block in which an operator's results are inferred."""
        before = self.inferring, self.laying_out
        self.inferring, self.laying_out = True, False
        try:
            yield
        finally:
            self.inferring, self.laying_out = before

    @contextmanager
    def lays_out(self) -> Iterator[None]:
        """A block whose effect is independent of layouts and sizes: its queries add no guards."""
        before, self.laying_out = self.laying_out, True
        try:
            yield
        finally:
            self.laying_out = before

    def _forget(self) -> None:
        """Drop answers derived from facts that were rolled back."""
        self.truths.clear()
        self.memo.clear()

    def node(self, value: Value) -> Node:
        """The unique node of a number."""
        if type(value) is SymInt:
            if value.expr.is_constant and value.domain is value.operations.true:
                return self.constant(value.expr.constant)
            key: object = (value.expr, value.domain)
        elif type(value) is SymBool:
            if value.is_constant:
                return self.constant(value.prop.kind == "true")
            key = (value.prop, value.domain)
        elif type(value) is SymFloat:
            key = (value.value.pattern_key, value.domain) if hasattr(value.value, "pattern_key") else id(value)
        else:
            return self.constant(value)
        found = self._symbolic.get(key)
        if found is None:
            found = self._symbolic[key] = Node(self, value)
        return found

    def define(self, value: SymInt, error: type[Exception]) -> None:
        """Commit to an integer being defined: Python raises `error` where it is not, even if the number is unused.

        Raises:
            Exception: it is undefined for the hints.
        """
        if value.domain is not value.operations.true:
            is_one = self.node(value.operations.boolean(value.domain, value.operations.true))
            if not (is_one.is_plain and is_one.value) and not is_one.expect(UNDEFINED[error], error):
                raise error(UNDEFINED[error])

    def constant(self, value: Value) -> Node:
        key = (type(value), repr(value) if type(value) is float else value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Node(self, value)
        return found

    def wrap(self, value: Value) -> TorchValue:
        """Wrap a number of ours for torch; constants are unchanged."""
        return self.node(value).outside

    # ------------------------------------------------------------------ as torch's ShapeEnv

    def stand_in(self, value: Value) -> object:
        """A new sympy symbol for an expression, unbacked if that is."""
        unbacked = any(self.env.symbols[atom].kind == "unbacked" for atom in symbols_of(value))
        made = make_symbol(SymT.UNBACKED_INT if unbacked else SymT.SIZE, len(self._values), integer=True)
        self._values[made] = value
        return made

    def evaluate_sym_node(self, node: Node, size_oblivious: bool = False, fallback_value: bool | None = None) -> bool:
        if fallback_value is None:
            return node.guard_bool()
        return node.guard_or_true() if fallback_value else node.guard_or_false()

    def _maybe_evaluate_static(self, stand_in: object) -> bool | None:
        verdict = self.env.ask(self._values[stand_in])
        return True if isinstance(verdict, Always) else False if isinstance(verdict, Never) else None

    def is_unbacked_symint(self, stand_in: object) -> bool:
        """False: torch asks in order to advise what a check has stated as a fact."""
        return False

    def _constrain_range(self, stand_in: object, least: int, most: int) -> None:
        value = self._values[stand_in]
        self.env.require(value >= least)
        if most < 2**62:
            self.env.require(value <= most)

    _constrain_range_for_size = _constrain_range
