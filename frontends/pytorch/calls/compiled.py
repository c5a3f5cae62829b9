"""`compile`: a function that is traced when it is called, and called by its graphs from then on.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile
    ... def f(x, y):
    ...     return (x + y).relu()
    >>> for size in (3, 5, 7, 1):
    ...     _ = f(torch.randn(size, 8), torch.randn(8))
    >>> for variant in f.variants:
    ...     print(variant.cause)
    first call
    x.size(0) is 5, was 3

A call looks for a variant whose guards hold (`frontends.pytorch.calls.signatures`); where there is none, the function
is traced for the arguments at hand, with the sizes as symbols that `frontends.pytorch.calls.dynamism` says. Each
recompilation has a cause, and a question that asked for it; the same question is answered so only a few times
(`Policy.repeats`), after which calls that no variant accepts run as they are.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from types import MethodType
from typing import TYPE_CHECKING, Final, overload

import torch

from backends import named
from frontends.pytorch.calls.dynamism import History, Mixed, Policy
from frontends.pytorch.calls.marks import marks_of
from frontends.pytorch.calls.opening import elsewhere, nothing_around
from frontends.pytorch.calls.recompiling import Question, question_of
from frontends.pytorch.calls.relations import Relations
from frontends.pytorch.calls.signatures import Signature, flattened, kind_of
from frontends.pytorch.calls.surroundings import Surroundings
from frontends.pytorch.errors import GraphBreak, Unsupported, WrongStatement
from frontends.pytorch.python.forcing import origin
from frontends.pytorch.tracing import Variant, trace
from shapes.errors import UndecidedGuard

if TYPE_CHECKING:
    from frontends.pytorch.breaks.breaks import Broken
    from frontends.pytorch.calls.report import Report
    from shapes.coverage import Ranges
    from solver.verdict import Verdict

Setting = "bool | None | Dynamic | Mapping[str, Sequence[Statement]]"
log: Final = logging.getLogger("symshape")
_of_module: Final[weakref.WeakKeyDictionary[torch.nn.Module, int]] = weakref.WeakKeyDictionary()
"""How many variants the functions of a module have."""
@dataclass(frozen=True, slots=True)
class Recompilation:
    """One trace: its number, and why it was made."""

    number: int
    cause: str
    question: Question | None


@dataclass(frozen=True, slots=True)
class Fallback:
    """Calls that run as they are, and why."""

    question: str
    reason: str


class Compiled:
    """A function with its variants.

    Attributes:
        variants: in the order in which they were traced.
        recompilations: why each of them was.
        fallbacks: what runs as it is, or with breaks, and why.
        broken: how calls run that can not be one graph.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        *,
        dynamic: Setting = None,
        backend: str = "eager",
        fullgraph: bool = False,
        policy: Policy | None = None,
    ) -> None:
        self.backend = named(backend)
        self.fn = fn
        self.fullgraph = fullgraph
        self.policy = policy if policy is not None else Policy()
        self.relations = Relations(dynamic) if isinstance(dynamic, Mapping) else None
        self.dynamic = None if isinstance(dynamic, Mapping) else dynamic
        self.history = History()
        self.variants: list[Variant] = []
        self.recompilations: list[Recompilation] = []
        self.fallbacks: list[Fallback] = []
        self.broken: Broken | None = None
        self.signatures: dict[tuple[object, ...], Signature] = {}
        self._asked: Counter[str] = Counter()
        self._lock = RLock()
        self._surroundings: Surroundings | None = None
        self._lookup: Callable[..., Callable[..., object] | None] = self._nothing
        functools.update_wrapper(self, fn.forward if isinstance(fn, torch.nn.Module) else fn, updated=())

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        found = self._lookup(args, kwargs)
        if found is not None:
            return found(args, kwargs)
        return self._missed(args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> object:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> object:
        if name == "fn":
            raise AttributeError(name)
        return getattr(self.fn, name)

    # ------------------------------------------------------------------ for people

    def explain(self) -> str:
        """Each variant: why it was traced, its graph, guards with their lines, specializations; and what is not."""
        return self.report().text()

    def report(self) -> Report:
        """The same as data; `.save("report.html")` writes a page."""
        from frontends.pytorch.calls.report import Report

        return Report.of(self)

    def coverage(self, ranges: Ranges | None = None) -> Verdict:
        """Whether some variant accepts all sizes in the ranges (by input, as in "x.shape[0]"; 0 and up where none is
        given), for calls such as the last one that was traced: Always, or sizes that no variant accepts (`false_at`).
        """
        if not self.signatures:
            raise WrongStatement("coverage() of a function that has never been called: no arguments are known")
        signature = list(self.signatures.values())[-1]
        dispatch = signature.dispatch
        no_graph = (self._as_it_is, self._with_breaks)
        tests = next((entry.tests for entry in reversed(dispatch.entries) if entry.value not in no_graph), {})
        return dispatch.coverage(ranges, tests=tests, besides=no_graph)

    # ------------------------------------------------------------------ calls that no variant accepts

    def _nothing(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        return None

    def _missed(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if elsewhere():
            return self.fn(*args, **kwargs)
        with self._lock:
            found = self._lookup(args, kwargs) or self._variant(args, kwargs)
        return found(args, kwargs)

    def _variant(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Callable[..., object]:
        """Trace the function for these arguments, unless they are to run as they are."""
        signature = self._signature(args, kwargs)
        leaves, _ = flattened(args, kwargs)
        values = signature.values(leaves)
        question = question_of(signature, values, self._surroundings)
        if question is None and self.variants:
            question = Question("form", "arguments of another form", False)
        reason = self._over(question)
        if reason is not None:
            return self._fall_back(signature, values, reason, question)
        notes = self._observe(signature, leaves)
        tensors = {leaf.name: value for leaf, value in zip(signature.leaves, leaves) if leaf.kind == "tensor"}
        if self.relations is not None:
            self.relations.check({name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin())
        mixed = Mixed(
            self.dynamic,
            self.history,
            relations=self.relations,
            marks={name: marks_of(tensor) for name, tensor in tensors.items()},
            ranks={name: tensor.dim() for name, tensor in tensors.items()},
        )
        named_arguments = dict(sorted(kwargs.items()))
        try:
            variant = trace(
                self.fn, args, named_arguments, dynamic=mixed, gradients=torch.is_grad_enabled(), shared=True
            )
        except (GraphBreak, UndecidedGuard, Unsupported) as error:
            if self.fullgraph:
                raise
            return self._fall_back(signature, values, str(error), None, self._with_breaks)
        reasons = [] if question is None or (notes and question.is_size) else [question.text]
        cause = variant.cause = "; ".join([*reasons, *notes]) if self.variants else "first call"
        call = signature.call(variant, variant.runner())
        signature.add(variant, values, call)
        self.variants.append(variant)
        self.recompilations.append(Recompilation(len(self.variants) - 1, cause, question))
        self._count_module()
        self._refresh()
        return call

    def _signature(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Signature:
        """The form of a call, and what the program reads besides."""
        if self._surroundings is None:
            self._surroundings = Surroundings([self.fn])
        leaves, _ = flattened(args, kwargs)
        self._surroundings.explore([leaf for leaf in leaves if kind_of(leaf) == "object"])
        state = self._surroundings.state if self._surroundings.places else nothing_around
        made = Signature.of(self.fn, args, kwargs, state)
        return self.signatures.setdefault(made.key, made)

    def _refresh(self) -> None:
        """Make one look-up of those of all forms."""
        lookups = [signature.dispatch for signature in self.signatures.values() if signature.dispatch.entries]
        for dispatch in lookups:
            dispatch.lookup((), {})
        if len(lookups) == 1:
            self._lookup = lookups[0].lookup
            return
        found = [dispatch.lookup for dispatch in lookups]

        def lookup(args: Sequence[object], kwargs: Mapping[str, object]) -> Callable[..., object] | None:
            for each in found:
                call = each(args, kwargs)
                if call is not None:
                    return call
            return None

        self._lookup = lookup

    def _observe(self, signature: Signature, leaves: Sequence[object]) -> list[str]:
        """Note the sizes; what is new, in words."""
        notes = []
        for leaf, value in zip(signature.leaves, leaves):
            if leaf.kind in ("tensor", "integer"):
                found = self.history.observe(leaf.name, value)
                if self.dynamic is None if leaf.kind == "tensor" else self.dynamic is not False:
                    notes += found
        return notes

    # ------------------------------------------------------------------ why, and how often

    def _over(self, question: Question | None) -> str | None:
        """Why a call is not to be traced for, if so."""
        policy = self.policy
        if question is not None and question.counted and self.dynamic is not False:
            self._asked[question.key] += 1
            if self._asked[question.key] >= policy.repeats:
                return f"{policy.repeats} recompilations for the same question: {question.text}"
        if len(self.variants) >= policy.variants:
            return f"{policy.variants} variants, the most that the policy allows"
        module = self._module()
        if module is not None and _of_module.get(module, 0) >= policy.of_module:
            return f"{policy.of_module} variants of one module, the most that the policy allows"
        return None

    def _fall_back(
        self,
        signature: Signature,
        values: Sequence[object],
        reason: str,
        question: Question | None,
        call: Callable[..., object] | None = None,
    ) -> Callable[..., object]:
        """From now on calls like this one run as they are, or as `call` does, where no variant accepts them."""
        call = self._as_it_is if call is None else call
        fallback = Fallback("" if question is None else question.key, reason)
        self.fallbacks.append(fallback)
        how = "runs as it is" if call == self._as_it_is else "runs with breaks"
        log.warning("%s %s where no variant fits: %s", getattr(self, "__name__", self.fn), how, reason)
        signature.add_any(values, call, but=None if question is None else question.test)
        self._refresh()
        return call

    def _as_it_is(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        return self.fn(*args, **kwargs)

    def _with_breaks(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if self.broken is None:
            from frontends.pytorch.breaks.breaks import Broken

            self.broken = Broken(self.fn)
        return self.broken(*args, **kwargs)

    def _module(self) -> torch.nn.Module | None:
        owner = self.fn if isinstance(self.fn, torch.nn.Module) else getattr(self.fn, "__self__", None)
        return owner if isinstance(owner, torch.nn.Module) else None

    def _count_module(self) -> None:
        module = self._module()
        if module is not None:
            _of_module[module] = _of_module.get(module, 0) + 1


@overload
def compile(
    fn: None = None,
    /,
    *,
    dynamic: Setting = ...,
    backend: str = ...,
    fullgraph: bool = ...,
    policy: Policy | None = ...,
) -> Callable[[Callable[..., object]], Compiled]: ...
@overload
def compile(
    fn: Callable[..., object],
    /,
    *,
    dynamic: Setting = ...,
    backend: str = ...,
    fullgraph: bool = ...,
    policy: Policy | None = ...,
) -> Compiled: ...
def compile(
    fn: Callable[..., object] | None = None,
    /,
    *,
    dynamic: Setting = None,
    backend: str = "eager",
    fullgraph: bool = False,
    policy: Policy | None = None,
) -> Compiled | Callable[[Callable[..., object]], Compiled]:
    """A function or module that is traced when it is called, and called by its graphs from then on.

    `dynamic` is True (every size is a symbol), False (none but what is marked), None (automatic: those that are seen to
    differ), a function of name, axis and size, or relations by name of the input: `{"x": ("b", "5*b")}`. With
    `fullgraph`, what cannot be in a graph is an error; otherwise such calls run with breaks.
    """
    if fn is None:
        return functools.partial(
            Compiled, dynamic=dynamic, backend=backend, fullgraph=fullgraph, policy=policy
        )
    return Compiled(fn, dynamic=dynamic, backend=backend, fullgraph=fullgraph, policy=policy)
