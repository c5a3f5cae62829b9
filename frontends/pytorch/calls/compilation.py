"""A function with its variants: what a call does, and what becomes of one that no variant accepts.

    >>> import torch
    >>> from frontends.pytorch.calls.compilation import Compilation
    >>> compilation = Compilation(lambda x: x * 2 if x.shape[0] > 4 else x, dynamic=True)
    >>> for size in (3, 5, 7):
    ...     out = compilation.called((torch.randn(size),), {})
    >>> [str(guard) for variant in compilation.variants for guard in variant.guards]
    ['x_size0 <= 4', 'x_size0 >= 5']

The way of a call: `lookup` finds a variant; where there is none, `found` traces the function (`_variant`), unless a
question was asked too often, after which such calls run as they are (`_fall_back`, `_decided`), or with breaks where
the function can not be traced. What the program is given is a `Compiled` (`frontends.pytorch.calls.compiled`), which
has nothing but one of these.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

import torch

from backends import named
from frontends.pytorch.breaks.pending import is_waiting, settled
from frontends.pytorch.calls.argument_unpacking import Call, elsewhere, nothing_around
from frontends.pytorch.calls.breaking import Breaking
from frontends.pytorch.calls.captured_state import Surroundings
from frontends.pytorch.calls.dynamism import History, Mixed, Policy
from frontends.pytorch.calls.forms import Form, Forms
from frontends.pytorch.calls.limits import Limits
from frontends.pytorch.calls.marks import marks_of
from frontends.pytorch.calls.options import check_options
from frontends.pytorch.calls.reads import can_be_given, holds_tensors, shown
from frontends.pytorch.calls.recompiling import Fallback, Question, Recompilation, form_question, question_of
from frontends.pytorch.calls.relations import Relations
from frontends.pytorch.calls.signatures import Signature, flattened, kind_of
from frontends.pytorch.calls.taken import Taken
from frontends.pytorch.calls.telling import Reads
from frontends.pytorch.calls.times import Times
from frontends.pytorch.errors import (
    EagerOnly,
    GraphBreak,
    OpensObjects,
    Settles,
    TraceError,
    Uninitialized,
    WrongStatement,
    as_it_stands,
    as_ours,
    reason_of,
    refusal,
)
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.effects import line_of
from frontends.pytorch.python.fields import classes_in
from frontends.pytorch.python.memoized import after, replayed
from frontends.pytorch.python.mentions import mentions_of
from frontends.pytorch.python.ran import Ran, watching
from frontends.pytorch.python.side_effects import Said
from frontends.pytorch.python.state import reflects
from frontends.pytorch.recording.escapes import KeptTensor
from frontends.pytorch.recording.outside import Outside
from frontends.pytorch.source_location import origin
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Variant
from shapes.errors import SpecializedDynamic, UndecidedGuard

if TYPE_CHECKING:
    from os import PathLike

    from frontends.pytorch.calls.found_places import Unguarded
    from frontends.pytorch.calls.native import Native
    from frontends.pytorch.calls.reads import Place
    from frontends.pytorch.calls.report import Report
    from frontends.pytorch.python.side_effects import SideEffect
    from frontends.pytorch.recording.inputs import Choice, Input
    from shapes.env import ShapeEnv
    from shapes.guards.codegen import Check
    from shapes.guards.coverage import Ranges
    from shapes.origin import Origin
    from solver.decide.verdict import Verdict



class KnownSizes(Protocol):
    """What is known of the sizes of a function's inputs: relations that a caller states, or what torch knows."""

    def choice(self, name: str, axis: int) -> Choice | None: ...

    def check(self, shapes: Mapping[str, Sequence[int]], place: Origin | None) -> None: ...

    def assume(self, env: ShapeEnv, inputs: Sequence[Input]) -> None: ...


Setting = "bool | None | Dynamic | Mapping[str, Sequence[Statement]]"
Lookup = Callable[[Sequence[object], Mapping[str, object]], Call | None]
Enter = Callable[[tuple[object, ...], dict[str, object]], object]
MOST_DECISIONS: Final = 4096
MOST_SETTLING: Final = 2
"""How many calls of a function run as they are because they fill in what is worked out once and kept."""
log: Final = logging.getLogger("symshape")


def nothing(args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Finds no variant."""


class Compilation:
    """A function with its variants.

    Attributes:
        fn: the function or module.
        options: how it is compiled.
        variants: in the order in which they were traced.
        recompilations: why each of them was.
        fallbacks: what runs as it is, or with breaks, and why.
        broken: how calls run that can not be one graph.
        native: the variants that are called from C; None with a backend that has none.
        tracing: what makes a variant of a call: `trace`, unless a file has them.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        *,
        dynamic: Setting = None,
        backend: str = "eager",
        fullgraph: bool = False,
        policy: Policy | None = None,
        graph: KnownSizes | None = None,
    ) -> None:
        """With `graph`, the function reads nothing but its arguments, of whose sizes that is known."""
        self.backend = named(backend)
        check_options(fn, dynamic=dynamic, fullgraph=fullgraph, policy=policy)
        self.fn = fn
        self.options = {"dynamic": dynamic, "backend": backend, "fullgraph": fullgraph, "policy": policy}
        self.fullgraph = fullgraph
        self.limits = Limits(fn, policy if policy is not None else Policy(), counts_questions=dynamic is not False)
        self.relations: KnownSizes | None = Relations(dynamic, fn) if isinstance(dynamic, Mapping) else graph
        self._is_graph = graph is not None
        self.dynamic = None if isinstance(dynamic, Mapping) else dynamic
        self.history = History()
        self.variants: list[Variant] = []
        self.recompilations: list[Recompilation] = []
        self.fallbacks: list[Fallback] = []
        self.broken: Breaking | None = None
        self.signatures: dict[tuple[object, ...], Signature] = {}
        self.times: Times | None = None
        self._forms = Forms(fn)
        self._traced_at: set[int] = set()
        """The states of what is around in which variants were traced."""
        self._varying: set[str] = set()
        """Sizes that a guard was about which was added for kernels and then did not hold: none is again."""
        self._decisions: dict[tuple[object, ...], Call] = {}
        """What was decided for calls whose question was asked too often, by their sizes and values."""
        self._settled = 0
        """Calls that ran as they are, after which the next one may find nothing to change."""
        self._unguarded: Sequence[Unguarded] | None = None
        """What the last trace has read that tells of no change; None before there was one."""
        self._lock = RLock()
        self._known_surroundings: Surroundings | None = None
        self._find: Lookup = nothing
        self.lookup: Lookup = nothing
        """`_find`, except where calls are measured."""
        self.tracing: Callable[..., Variant] = trace
        self.native: Native | None = None
        self.enter: Enter | None = None
        """The entry of `native`, except where calls are measured."""
        if backend == "cpu":
            self.native = made_native()

    def called(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a call that `enter` has left to Python."""
        found = self.lookup(args, kwargs)
        if found is not None:
            return found(args, kwargs)
        return self._missed(args, kwargs)

    # ------------------------------------------------------------------ for people

    def explain(self, *, kernels: bool = False) -> str:
        """Each variant: why it was traced, its graph, guards with their lines, specializations; and what is not. With
        `kernels`, what it runs as: loops, decisions with their facts, memory."""
        return self.report().text(kernels=kernels)

    def report(self) -> Report:
        """The same as data; `.save("report.html")` writes a page."""
        from frontends.pytorch.calls.report import Report

        return Report.of(self.fn, self.variants, self.fallbacks, self.broken, self.times)

    @contextmanager
    def timed(self) -> Iterator[Times]:
        """Measure the calls inside of the `with` block; `report()` shows the last such measurement."""
        self.times = times = Times()
        self.lookup, self.enter = lambda args, kwargs: self._measured, None
        try:
            yield times
        finally:
            self.lookup = self._find
            self.enter = None if self.native is None else self.native.entry

    def save(self, path: str | PathLike[str]) -> None:
        """Write what `frontends.pytorch.load(path, fn)` needs to make these variants again without a compiler.

        Raises:
            WrongStatement: there is nothing to save, or something that another process could not make.
        """
        from frontends.pytorch.calls.saving import save

        save(self, path)

    def coverage(self, ranges: Ranges | None = None) -> Verdict:
        """Whether some variant accepts all sizes in the ranges (by input, as in "x.shape[0]"; 0 and up where none is
        given), for calls such as the last one that was traced: Always, or sizes that no variant accepts (`false_at`).
        """
        if not self.signatures:
            raise WrongStatement("coverage() of a function that has never been called: no arguments are known")
        dispatch = list(self.signatures.values())[-1].dispatch
        tests = dispatch.entries[-1].tests if dispatch.entries else {}
        return dispatch.coverage(ranges, tests=tests)

    # ------------------------------------------------------------------ calls that no variant accepts

    @property
    def _surroundings(self) -> Surroundings:
        """What the function reads; looked at when it is first called, as it may not be whole before."""
        if self._known_surroundings is None:
            self._known_surroundings = Surroundings([self.fn])
        return self._known_surroundings

    def _missed(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if elsewhere():
            return self.fn(*args, **kwargs)
        if any_pending(args, kwargs):
            # kept by a program that ran with breaks
            return self.called(*settled((tuple(args), dict(kwargs))))
        return self.found(args, kwargs)(args, kwargs)

    def _measured(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """A call inside of `timed`."""
        if elsewhere() or self.times is None:
            return self.fn(*args, **kwargs)
        return self.times.counted(self.found, args, kwargs)

    def found(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        """What to do with a call; the function is traced if need be."""
        with self._lock:
            try:
                found = self._find(args, kwargs) or self._variant(args, kwargs)
            except Uninitialized:
                # a module that knows its sizes after its first call; the next one is traced
                return self._plainly
            except Settles:
                if self._settled < MOST_SETTLING:
                    self._settled += 1
                    return self._plainly
                raise
            except (WrongStatement, SpecializedDynamic):
                raise
            except Exception as error:
                if not self.fullgraph:
                    return self._unknown(error)
                ours = as_ours(error)
                if ours is error:
                    raise
                raise ours from error
            return self._decided(args, kwargs) if found == self._unless_new else found

    @property
    def _name(self) -> object:
        """What warnings call the function."""
        fn = self.fn.forward if isinstance(self.fn, torch.nn.Module) else self.fn
        return fn.__name__ if isinstance(fn, FunctionType | MethodType) else type(fn).__name__

    def _plainly(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        return self.fn(*args, **kwargs)

    def _variant(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        """Trace the function for these arguments, unless they are to run as they are."""
        changed = self._read_numbers()
        form = self._forms.of(args, kwargs)
        bound, named = form.bind(args, kwargs)
        leaves, _ = flattened(bound, named)
        signature = self._signature(bound, named, form)
        if not signature.knows(form):
            self._refresh()
            found = self._find(args, kwargs)
            if found is not None:
                return found
        values = signature.values(leaves)
        # where numbers changed that are arguments from now on, that is why there is no variant
        question = None if changed else self._question(signature, values)
        if question is not None and self._is_bought(question):
            self._varying.update([atom.name for atom in question.guard.symbols])
        reason = self.limits.over(question, len(self.variants))
        if reason is not None and question is not None and question.is_data:
            # numbers that only the run knows have a graph each, and the rest of the program theirs
            return self._break(signature, values, f"{question.key.partition(': ')[2]} is another at every call")
        if reason is not None and question is not None and self._never_settles(question):
            return self._stop(reason)
        if reason is not None:
            return self._fall_back(signature, values, reason, question)
        notes = [*changed, *[note for note in self._observe(signature, leaves) if note not in changed]]
        tensors = {leaf.shown: value for leaf, value in zip(signature.leaves, leaves) if leaf.kind == "tensor"}
        if self.relations is not None:
            self.relations.check({name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin())
        mixed = Mixed(
            self.dynamic,
            self.history,
            relations=self.relations,
            marks={name: marks_of(tensor) for name, tensor in tensors.items()},
            ranks={name: tensor.dim() for name, tensor in tensors.items()},
            read=self._read,
        )
        try:
            try:
                variant, check = self._tried(signature, bound, named, leaves, mixed)
            except OpensObjects:
                # the arguments are of another structure from now on
                return self._variant(args, kwargs)
            except (EagerOnly, Settles, Uninitialized, KeptTensor):
                raise
            except (TraceError, UndecidedGuard):
                if not mixed.outside.is_asked:
                    raise
                # the program needs the elements of tensors that it is not given
                mixed.outside = Outside(are_known=True)
                variant, check = self._tried(signature, bound, named, leaves, mixed)
        except (WrongStatement, SpecializedDynamic, Uninitialized):
            raise
        except Settles as error:
            if self.fullgraph or self._settled < MOST_SETTLING:
                raise
            return self._break(signature, signature.values(leaves), as_it_stands(str(error)))
        except EagerOnly as error:
            if self.fullgraph:
                raise
            return self._fall_back(signature, signature.values(leaves), str(error), None, self._plainly)
        except KeptTensor as error:
            if self.fullgraph:
                raise
            if signature.keeps:
                return self._fall_back(signature, values, str(error), None, self._plainly)
            # what remembers its results has real ones at the next call
            signature.keeps = True
            return self._plainly
        except (TraceError, UndecidedGuard) as error:
            if self.fullgraph:
                raise
            return self._break(signature, signature.values(leaves), as_it_stands(str(error)), error)
        except Exception as error:
            if self.fullgraph:
                raise
            return self._untraced(signature, signature.values(leaves), error)
        reasons = [] if question is None or (notes and question.is_size) else [question.text]
        cause = variant.cause = "; ".join([*reasons, *notes]) if self.variants else "first call"
        if self.native is not None:
            self.native.add(signature, variant, signature.values(leaves), check)
        self.variants.append(variant)
        self.recompilations.append(Recompilation(len(self.variants) - 1, cause, question))
        self.limits.added()
        self._decisions.clear()
        self._refresh()
        return signature.forms[form].dispatch.entries[-1].value

    def _tried(
        self,
        signature: Signature,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        leaves: Sequence[object],
        mixed: Mixed,
    ) -> tuple[Variant, Check]:
        """The function traced with symbols for numbers, or as they are where something wants that."""
        try:
            return self._made(signature, args, kwargs, leaves, mixed)
        except Exception as error:
            if not mixed.tentative or isinstance(error, OpensObjects):
                raise
            # they are no symbols from now on
            self.history.fixed.update(mixed.tentative)
            return self._made(signature, args, kwargs, leaves, mixed)

    def _made(
        self,
        signature: Signature,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        leaves: Sequence[object],
        mixed: Mixed,
    ) -> tuple[Variant, Check]:
        """The function traced, and found from now on by its check."""
        gradients, ran = torch.is_grad_enabled(), Ran()
        try:
            with watching(ran):
                variant = self.tracing(
                    self.fn,
                    args,
                    dict(sorted(kwargs.items())),
                    dynamic=mixed,
                    gradients=gradients,
                    shared=True,
                    effects=not self._is_graph,
                    read=self._read,
                )
        except OpensObjects:
            # what is read of these is given from now on
            raise
        except BaseException:
            self._unguarded = self._explore(signature, ran, leaves)
            raise
        unguarded = self._unguarded = self._explore(signature, ran, leaves)
        if unguarded:
            refuse_unguarded(unguarded[0], ran.functions())
        for effect in variant.effects:
            is_known = effect.node is not None or isinstance(effect.steps, Said)
            if not is_known and id(effect.holder) not in self._surroundings.containers:
                refuse_unwatched(effect)
        if variant.effects or variant.needs_distinct:
            variant.program, variant.watched = self.fn, self._surroundings.containers
            self._surroundings.stored.update([place for effect in variant.effects for place in effect.places])
        policy = self.limits.policy
        run = variant.run_by(self.backend, policy.withheld, policy.guards, self._varying)
        replay = replayed(variant.memoized)
        if replay is not None:
            run = after(replay, run)
        if signature.surroundings == self._surroundings.state:
            self._traced_at.add(self._surroundings.state())
        if not self._is_graph:
            variant.taken = Taken.of(args, kwargs, ran.functions(), reads=bool(self._read))
            variant.reads = Reads.of(ran, signature.surroundings)
        return variant, signature.add(variant, signature.values(leaves), run)

    @property
    def _read(self) -> Mapping[str, Place]:
        """The numbers that the function reads without being given them and that vary, by what they are called."""
        return {} if self._known_surroundings is None else self._known_surroundings.varying

    def _read_numbers(self) -> list[str]:
        """Take numbers that are seen to change out of what is around, so that variants are given them; what changed."""
        if self._known_surroundings is None:
            return []
        around = self._known_surroundings
        others = [name for name, place in around.varying.items() if not can_be_given(place.held())]
        if others:
            around.take_back(others)
        changing = around.changing(self._traced_at) if self._traced_at else {}
        if self.dynamic is False:
            changing = {name: found for name, found in changing.items() if holds_tensors(found[0].held())}
        if changing:
            around.leave_out({name: place for name, (place, _) in changing.items()})
        if not others and not changing:
            return []
        notes = []
        for name, (place, before) in changing.items():
            for value in (before, place.held()):
                if isinstance(value, float):
                    self.history.observe_float(name, value)
                elif type(value) is int or isinstance(value, torch.Tensor):
                    self.history.observe(name, value)
            notes.append(f"{name} is {shown(place.read())}, was {shown(before)}")
        # arguments are more from now on, and no state from before is one
        self._forms.read(around.varying)
        self._traced_at.clear()
        self._decisions.clear()
        self.signatures.clear()
        if self.native is not None:
            self.native = made_native()
        self._refresh()
        return notes

    def _explore(self, signature: Signature, ran: Ran, leaves: Sequence[object]) -> Sequence[Unguarded]:
        """Look from now on at what the functions read that ran, and calls of this signature with them."""
        if self._is_graph:
            return ()
        functions = ran.functions()
        if signature.surroundings != self._surroundings.state:
            if all(each is self.fn for each in functions) and not ran.memoized and not ran.silent:
                return ()
            signature.depend_on(self._surroundings.state)
        objects = [leaf for leaf in leaves if kind_of(leaf) == "object"]
        return self._surroundings.explore(functions, [*objects, *classes_in(signature.structure)], ran)

    def _untraced(self, signature: Signature, values: Sequence[object], error: Exception) -> Call:
        """The call after a trace that failed, perhaps as the program does: if so, what it raises is the answer."""

        def call(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
            found = self.fn(*args, **kwargs)
            if signature.otherwise is None:
                self._fall_back(signature, values, reason_of(error), None, self._plainly)
            return found

        return call

    def _unknown(self, error: Exception) -> Call:
        """The call with arguments that no signature describes, or that cannot be told from others."""

        def call(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
            found = self.fn(*args, **kwargs)
            fallback = Fallback("", reason_of(error))
            if fallback not in self.fallbacks:
                self.fallbacks.append(fallback)
                log.warning("%s runs as it is: %s", self._name, fallback.reason)
            return found

        return call

    def _break(
        self, signature: Signature, values: Sequence[object], reason: str, error: Exception | None = None
    ) -> Call:
        """From now on calls like this one run with breaks, by Dynamo where it is trusted with what ended the trace."""
        if self.broken is None:
            policy = self.limits.policy
            self.broken = Breaking(
                self.fn,
                self.backend,
                named=str(self.options["backend"]),
                dynamic=self.dynamic,
                policy=policy,
                withheld=policy.withheld,
            )
        is_of_values = signature.is_of_values and not classes_in(signature.structure)
        is_told = self._unguarded is not None and not self._unguarded
        self.broken.choose(error, is_told=is_told and is_of_values)
        return self._fall_back(signature, values, reason, None, self.broken.run)

    def _signature(self, args: Sequence[object], kwargs: Mapping[str, object], form: Form) -> Signature:
        """The kinds of the arguments of a call, and what the program reads besides."""
        leaves, structure = flattened(args, kwargs)
        state: Callable[[], object] = self._surroundings.state
        if self._is_graph:
            state = nothing_around
        elif is_alone(self.fn) and not classes_in(structure) and not any(kind_of(leaf) == "object" for leaf in leaves):
            state = functools.partial(own_code, self.fn)
        made = Signature.of(self.fn, args, kwargs, state, form)
        return self.signatures.setdefault(made.key, made)

    def _refresh(self) -> None:
        """Make one look-up of those of all forms: variants first, then what is done where none accepts a call."""
        forms = [lookups for signature in self.signatures.values() for lookups in signature.forms.values()]
        both = [*[lookups.dispatch for lookups in forms], *[lookups.others for lookups in forms]]
        whole = [dispatch for dispatch in both if dispatch.entries]
        for dispatch in whole:
            dispatch.lookup((), {})
        found = [dispatch.lookup for dispatch in whole]

        def lookup(args: Sequence[object], kwargs: Mapping[str, object]) -> Call | None:
            for each in found:
                call = each(args, kwargs)
                if call is not None:
                    return call
            return None

        if self.native is not None:
            self.native.refresh()
        if self.lookup == self._find:
            self.lookup = found[0] if len(found) == 1 else lookup
            self.enter = None if self.native is None else self.native.entry
        self._find = found[0] if len(found) == 1 else lookup

    def _observe(self, signature: Signature, leaves: Sequence[object]) -> list[str]:
        """Note the sizes; what is new, in words."""
        notes = []
        for leaf, value in zip(signature.leaves, leaves):
            if leaf.kind in ("tensor", "integer"):
                found = self.history.observe(leaf.shown, value)
                if self.dynamic is None if leaf.kind == "tensor" else self.dynamic is not False:
                    notes += found
            elif leaf.kind == "float":
                self.history.observe_float(leaf.shown, value)
        return notes

    # ------------------------------------------------------------------ why, and how often

    def _question(self, signature: Signature, values: Sequence[object]) -> Question | None:
        """Why no variant accepts a call."""
        found = question_of(signature, values, self._surroundings)
        if found is None and self.variants:
            return form_question(signature, list(self.signatures.values()))
        if found is not None and self._is_bought(found):
            # the general variant, made once, answers it for good
            return replace(found, counted=False)
        return found

    def _is_bought(self, question: Question) -> bool:
        """Whether it is about a guard that was added for kernels only."""
        return any(question.guard in variant.running.bought for variant in self.variants if variant.running is not None)

    def _fall_back(
        self,
        signature: Signature,
        values: Sequence[object],
        reason: str,
        question: Question | None,
        call: Call | None = None,
    ) -> Call:
        """From now on calls like this one run as they are, or as `call` does, where no variant accepts them."""
        how = "runs as it is" if call is None or call == self._plainly else "runs with breaks"
        if call is None:
            call = self._unless_new if self.limits.is_exhausted(question) else self._as_it_is
        else:
            signature.otherwise = call
            if self.limits.always_breaks(reason):
                # it breaks whatever the values are
                signature.given_up.update(signature.tests(dict(zip(signature.arguments, values))))
        fallback = Fallback("" if question is None else question.key, reason)
        self.fallbacks.append(fallback)
        log.warning("%s %s where no variant fits: %s", self._name, how, reason)
        signature.add_other(values, call, but=None if question is None else question.test)
        self._refresh()
        return call

    def _never_settles(self, question: Question) -> bool:
        """Whether what variants store is what tells each call from the one before."""
        return question.test == ("surroundings",) and any(effect.places for v in self.variants for effect in v.effects)

    def _stop(self, reason: str) -> Call:
        """From now on no call looks at what it reads, which would be something else each time: all run as they are."""
        self.fallbacks.append(Fallback("", reason))
        log.warning("%s runs as it is: %s", self._name, reason)
        self.native = self.enter = None
        if self.lookup == self._find:
            self.lookup = self._runs_plainly
        self._find = self._runs_plainly
        return self._plainly

    def _runs_plainly(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        return self._plainly

    def _unless_new(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Run as it is, where a question that was asked too often is why no variant accepts the call."""
        if elsewhere():
            return self.fn(*args, **kwargs)
        return self._decided(args, kwargs)(args, kwargs)

    def _decided(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        """What to do where such a question was asked too often; another question may still be answered."""
        form = self._forms.of(args, kwargs)
        bound, named = form.bind(args, kwargs)
        leaves, _ = flattened(bound, named)
        key = tuple([decisive(leaf) for leaf in leaves])
        with self._lock:
            found = self._decisions.get(key)
            if found is not None:
                return found
            signature = self._signature(bound, named, form)
            question = self._question(signature, signature.values(leaves))
            if self.limits.is_exhausted(question) or self.limits.reached(len(self.variants)) is not None:
                found = self._as_it_is
            else:
                found = signature.otherwise or self._variant(args, kwargs)
                if found == self._unless_new:
                    # the variant would have been one too many
                    found = self._as_it_is
            if len(self._decisions) >= MOST_DECISIONS:
                self._decisions.clear()
            self._decisions[key] = found
            return found

    def _as_it_is(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        return self.fn(*args, **kwargs)


def made_native() -> Native:
    """What calls variants from C, which is imported where it is wanted."""
    from frontends.pytorch.calls.native import Native

    return Native()


def any_pending(args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether an argument is a tensor of a queue; in what holds itself there is none."""
    try:
        return is_waiting((tuple(args), dict(kwargs)))
    except RecursionError:
        return False


def is_alone(fn: Callable[..., object]) -> bool:
    """Whether a function mentions nothing that it is not given."""
    if not isinstance(fn, FunctionType) or fn.__closure__:
        return False
    mentioned = mentions_of(own_code(fn))
    return not mentioned.globals and not mentioned.imports and not reflects(fn)


def refuse_unguarded(found: Unguarded, functions: Sequence[FunctionType]) -> NoReturn:
    """Say that a program can not be in a graph because of what it reads.

    Raises:
        GraphBreak: always.
    """
    what = f"the function reads {found}: the graph would not notice a change of it"
    fix = "read it outside of the compiled function and pass what is needed; fullgraph=False reads it on every call"
    raise GraphBreak(refusal(what, fix, line_of(functions, found.name)))


def refuse_unwatched(effect: SideEffect) -> NoReturn:
    """Say that a call changes what no place tells of, so that at another call it may be something else.

    Raises:
        GraphBreak: always.
    """
    what = f"the function changes {effect.text}, which outlives the call: nothing tells of other changes of it"
    fix = "return the value, or do it outside; fullgraph=False runs this Python on every call"
    raise GraphBreak(refusal(what, fix, effect.line))


def decisive(leaf: object) -> object:
    """What of an argument a decision depends on, without the argument itself."""
    if isinstance(leaf, torch.Tensor):
        return leaf.shape, leaf.stride()
    return type(leaf) if kind_of(leaf) == "object" else leaf
