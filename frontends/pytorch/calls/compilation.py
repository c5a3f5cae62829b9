"""A function with its variants: dispatch of a call, recompilation, and the fallbacks where no variant accepts it.

    >>> import torch
    >>> from frontends.pytorch.calls.compilation import Compilation
    >>> compilation = Compilation(lambda x: x * 2 if x.shape[0] > 4 else x, dynamic=True)
    >>> for size in (3, 5, 7):
    ...     out = compilation.called((torch.randn(size),), {})
    >>> [str(guard) for variant in compilation.variants for guard in variant.guards]
    ['x_size0 <= 4', 'x_size0 >= 5']

A call runs as follows: `lookup` finds a variant; if there is none, `found` lets the `tracer` trace the function
(`_variant`). If its recompile limit is exhausted, such calls fall back to eager (`_fall_back`, `_decided`); if it
cannot be traced, they run with graph breaks. The program has a `Compiled` (`frontends.pytorch.calls.compiled`), which
wraps one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from backends import named
from frontends.pytorch.breaks.pending import any_pending, with_real_tensors
from frontends.pytorch.calls import recompiling
from frontends.pytorch.calls.argument_unpacking import Call, Leaf, elsewhere
from frontends.pytorch.calls.breaking import Breaking
from frontends.pytorch.calls.dynamism import History, KnownSizes, Policy
from frontends.pytorch.calls.forms import Bound, Form, Forms
from frontends.pytorch.calls.limits import Limits
from frontends.pytorch.calls.options import Options, Setting, check_options
from frontends.pytorch.calls.relations import Relations
from frontends.pytorch.calls.signatures import Lookup, Signature, decisive, flattened, lookup_of
from frontends.pytorch.calls.times import Times
from frontends.pytorch.calls.tracer import Tracer
from frontends.pytorch.errors import (
    ConstraintViolation,
    EagerOnly,
    OpensObjects,
    Settles,
    TraceError,
    Uninitialized,
    as_it_stands,
    as_ours,
    reason_of,
)
from frontends.pytorch.python.fields import classes_in
from frontends.pytorch.recording.escapes import KeptTensor
from frontends.pytorch.source_location import origin
from frontends.pytorch.variant import Variant
from shapes.errors import SpecializedDynamic, UndecidedGuard
from shapes.guards.arguments import Source

if TYPE_CHECKING:
    from os import PathLike

    from frontends.pytorch.calls.native import Native
    from frontends.pytorch.calls.report import Report
    from shapes.guards.coverage import Ranges
    from solver.decide.verdict import Verdict



Enter = Callable[[tuple[object, ...], dict[str, object]], object]
MOST_DECISIONS: Final = 4096
MOST_SETTLING: Final = 2
"""The number of a function's calls that fall back to eager because they initialize state lazily."""


class Compilation:
    """A function with its variants.

    Attributes:
        fn: the function or module.
        options: how it is compiled.
        variants: in the order in which they were traced.
        recompilations: why each of them was.
        fallbacks: what runs eagerly, or with graph breaks, and why.
        broken: how calls run that can not be one graph.
        native: the variants that are called from C; None with a backend that has none.
        tracer: how the function is traced, and what it reads besides its arguments.
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
        """With `graph`, the function reads only its arguments, about whose sizes `graph` has facts."""
        self.backend = named(backend)
        check_options(fn, dynamic=dynamic, fullgraph=fullgraph, policy=policy)
        self.fn = fn
        self.options: Options = {"dynamic": dynamic, "backend": backend, "fullgraph": fullgraph, "policy": policy}
        self.fullgraph = fullgraph
        self.limits = Limits(fn, policy if policy is not None else Policy(), counts_questions=dynamic is not False)
        self.relations: KnownSizes | None = Relations(dynamic, fn) if isinstance(dynamic, Mapping) else graph
        self.dynamic = None if isinstance(dynamic, Mapping) else dynamic
        self.history = History()
        self.tracer = Tracer(fn, self.backend, self.limits.policy, self.history, is_graph=graph is not None)
        self.variants: list[Variant] = []
        self.recompilations: list[recompiling.Recompilation] = []
        self.fallbacks: list[recompiling.Fallback] = []
        self.broken: Breaking | None = None
        self.signatures: dict[tuple[object, ...], Signature] = {}
        self.times: Times | None = None
        self._forms = Forms(fn)
        self._decisions: dict[tuple[object, ...], Call] = {}
        """What was decided for calls whose question was asked too often, by their sizes and values."""
        self._settled = 0
        """The number of eager calls that initialized state lazily."""
        self._lock = RLock()
        self._find: Lookup = lookup_of(())
        self.lookup: Lookup = self._find
        """`_find`, except where calls are measured."""
        self.native: Native | None = None
        self.enter: Enter | None = None
        """The entry of `native`, except where calls are measured."""
        if backend == "cpu":
            self.native = made_native()

    def called(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a call that the native entry has deferred to Python."""
        found = self.lookup(args, kwargs)
        if found is not None:
            return found(args, kwargs)
        return self._missed(args, kwargs)

    # ------------------------------------------------------------------ reports

    def explain(self, *, kernels: bool = False) -> str:
        """Describe each variant: why it was traced, its graph, guards with their lines, specializations; and the
        fallbacks. With `kernels`, its kernels too: loops, decisions with their facts, memory."""
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
        """Save these variants for `frontends.pytorch.load(path, fn)`, which needs no C compiler.

        Raises:
            ConstraintViolation: there is nothing to save, or something that another process could not restore.
        """
        from frontends.pytorch.calls.saving import save

        save(path, self.fn, self.options, self.variants)

    def coverage(self, ranges: Ranges | None = None) -> Verdict:
        """Whether some variant accepts all sizes in the ranges (by input, as in "x.shape[0]"; 0 and up where none is
        given), for calls such as the last one that was traced: Always, or sizes that no variant accepts (`false_at`).
        """
        if not self.signatures:
            raise ConstraintViolation("coverage() of a function that has never been called: no arguments are known")
        dispatch = list(self.signatures.values())[-1].dispatch
        tests: dict[Source, Hashable] = dict(dispatch.entries[-1].tests.items()) if dispatch.entries else {}
        return dispatch.coverage(ranges, tests=tests)

    # ------------------------------------------------------------------ cache misses

    def _missed(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if elsewhere():
            return self.fn(*args, **kwargs)
        if any_pending(args, kwargs):
            # for a program that ran with graph breaks
            return self.called(*with_real_tensors((tuple(args), dict(kwargs))))
        return self.found(args, kwargs)(args, kwargs)

    def _measured(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """A call inside of `timed`."""
        if elsewhere() or self.times is None:
            return self.fn(*args, **kwargs)
        return self.times.counted(self.found, args, kwargs)

    def found(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        """Find the callable for a call; traces the function if necessary."""
        with self._lock:
            try:
                found = self._find(args, kwargs) or self._variant(args, kwargs)
            except Uninitialized:
                # a lazy module is initialized by its first call; the next one is traced
                return self._eagerly
            except Settles:
                if self._settled < MOST_SETTLING:
                    self._settled += 1
                    return self._eagerly
                raise
            except (ConstraintViolation, SpecializedDynamic):
                raise
            except Exception as error:
                if not self.fullgraph:
                    return self._unknown(error)
                ours = as_ours(error)
                if ours is error:
                    raise
                raise ours from error
            return self._decided(args, kwargs) if found == self._unless_new else found

    def _eagerly(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        return self.fn(*args, **kwargs)

    def _variant(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        """Trace the function for these arguments, unless they fall back to eager."""
        changed = self._read_numbers()
        form = self._forms.of(args, kwargs)
        bound = form.bind(args, kwargs)
        leaves, _ = flattened(*bound)
        signature = self._signature(bound, form)
        if not signature.knows(form):
            self._refresh()
            found = self._find(args, kwargs)
            if found is not None:
                return found
        values = signature.values(leaves)
        # changed numbers that become arguments are the reason for the miss
        question = None if changed else self._question(signature, values)
        if question is not None and question.guard is not None and recompiling.is_bought(question, self.variants):
            self.tracer.varying.update([atom.name for atom in question.guard.symbols])
        reason = self.limits.over(question, len(self.variants))
        if reason is not None and question is not None and question.is_data:
            # the program runs with graph breaks at its unbacked numbers
            return self._break(signature, values, f"{question.key.partition(': ')[2]} is another at every call")
        if reason is not None and question is not None and recompiling.never_settles(question, self.variants):
            return self._stop(reason)
        if reason is not None:
            return self._fall_back(signature, values, reason, question)
        observed = self.tracer.observed(signature, leaves, self.dynamic)
        notes = [*changed, *[note for note in observed if note not in changed]]
        given: Iterator[tuple[Leaf, Any]] = zip(signature.leaves, leaves)
        tensors = {leaf.shown: value for leaf, value in given if leaf.kind == "tensor"}
        if self.relations is not None:
            self.relations.check({name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin())
        mixed = self.tracer.mixed(tensors, self.dynamic, self.relations)
        try:
            variant, check = self.tracer.traced(signature, bound, leaves, mixed)
        except OpensObjects:
            # the arguments have a different pytree structure from now on
            return self._variant(args, kwargs)
        except (ConstraintViolation, SpecializedDynamic, Uninitialized):
            raise
        except Exception as error:
            if self.fullgraph or (isinstance(error, Settles) and self._settled < MOST_SETTLING):
                raise
            return self._without_graph(signature, signature.values(leaves), error)
        reasons = [] if question is None or (notes and question.is_size) else [question.text]
        cause = variant.cause = "; ".join([*reasons, *notes]) if self.variants else "first call"
        if self.native is not None:
            self.native.add(signature, variant, signature.values(leaves), check)
        self.variants.append(variant)
        self.recompilations.append(recompiling.Recompilation(len(self.variants) - 1, cause, question))
        self.limits.added()
        self._decisions.clear()
        self._refresh()
        return signature.forms[form].dispatch.entries[-1].value

    def _read_numbers(self) -> list[str]:
        """Make changing numbers arguments of variants; returns the changes."""
        notes = self.tracer.changed_numbers(self.dynamic)
        if notes is None:
            return []
        # there are more arguments from now on, and earlier states are invalid
        self._forms.read(self.tracer.read)
        self._decisions.clear()
        self.signatures.clear()
        if self.native is not None:
            self.native = made_native()
        self._refresh()
        return notes

    def _without_graph(self, signature: Signature, values: Sequence[object], error: Exception) -> Call:
        """How a call runs after this error has ended its trace."""
        match error:
            case KeptTensor() if not signature.keeps:
                # memoizing functions will have real results at the next call
                signature.keeps = True
                return self._eagerly
            case EagerOnly() | KeptTensor():
                return self._fall_back(signature, values, str(error), None, self._eagerly)
            case TraceError() | UndecidedGuard():
                return self._break(signature, values, as_it_stands(str(error)), error)
        return self._untraced(signature, values, error)

    def _untraced(self, signature: Signature, values: Sequence[object], error: Exception) -> Call:
        """Run a call after a failed trace; the program may raise the same error, which is then the call's result."""

        def call(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
            found = self.fn(*args, **kwargs)
            if signature.otherwise is None:
                self._fall_back(signature, values, reason_of(error), None, self._eagerly)
            return found

        return call

    def _unknown(self, error: Exception) -> Call:
        """Run a call whose arguments no signature can describe or distinguish."""

        def call(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
            found = self.fn(*args, **kwargs)
            fallback = recompiling.Fallback("", reason_of(error))
            if fallback not in self.fallbacks:
                self.fallbacks.append(fallback)
                recompiling.warn_of(self.fn, fallback, "falls back to eager")
            return found

        return call

    def _break(
        self, signature: Signature, values: Sequence[object], reason: str, error: Exception | None = None
    ) -> Call:
        """Run such calls with graph breaks from now on, by Dynamo if it is trusted with the error that ended the
        trace."""
        if self.broken is None:
            named = str(self.options["backend"])
            self.broken = Breaking(self.fn, self.backend, named, self.dynamic, self.limits.policy)
        is_of_values = signature.is_of_values and not classes_in(signature.structure)
        is_told = self.tracer.unguarded is not None and not self.tracer.unguarded
        self.broken.choose(error, is_told=is_told and is_of_values)
        return self._fall_back(signature, values, reason, None, self.broken.run)

    def _signature(self, bound: Bound, form: Form) -> Signature:
        made = self.tracer.signature(bound, form)
        return self.signatures.setdefault(made.key, made)

    def _refresh(self) -> None:
        """Combine the look-ups of all forms: variants first, then fallbacks."""
        if self.native is not None:
            self.native.refresh()
        self._find_by(lookup_of(self.signatures.values()))

    def _find_by(self, find: Lookup) -> None:
        """Look calls up so from now on; while they are measured, that takes effect afterwards."""
        if self.lookup == self._find:
            self.lookup = find
            self.enter = None if self.native is None else self.native.entry
        self._find = find

    # ------------------------------------------------------------------ causes and limits

    def _question(self, signature: Signature, values: Sequence[object]) -> recompiling.Question | None:
        """Why no variant accepts a call."""
        found = recompiling.question_of(signature, values, self.tracer.captured)
        if found is None and self.variants:
            return recompiling.form_question(signature, list(self.signatures.values()))
        if found is not None and recompiling.is_bought(found, self.variants):
            # the general variant, compiled once, accepts all of them
            return replace(found, counted=False)
        return found

    def _fall_back(
        self,
        signature: Signature,
        values: Sequence[object],
        reason: str,
        question: recompiling.Question | None,
        call: Call | None = None,
    ) -> Call:
        """Run calls like this one eagerly, or by `call`, if no variant accepts them."""
        how = "falls back to eager" if call is None or call == self._eagerly else "runs with graph breaks"
        if call is None:
            call = self._unless_new if self.limits.is_exhausted(question) else self._eagerly
        else:
            signature.otherwise = call
            if self.limits.always_breaks(reason):
                # it breaks for all values
                signature.given_up.update(signature.tests(dict(zip(signature.arguments, values))))
        self.fallbacks.append(recompiling.Fallback("" if question is None else question.key, reason))
        recompiling.warn_of(self.fn, self.fallbacks[-1], f"{how} where no variant fits")
        signature.add_other(values, call, but=None if question is None else question.test)
        self._refresh()
        return call

    def _stop(self, reason: str) -> Call:
        """Let all calls fall back to eager: the captured state differs each time."""
        self.fallbacks.append(recompiling.Fallback("", reason))
        recompiling.warn_of(self.fn, self.fallbacks[-1], "falls back to eager")
        self.native = None
        self._find_by(lambda args, kwargs: self._eagerly)
        return self._eagerly

    def _unless_new(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Fall back to eager if a question beyond its recompile limit is the cause of the miss."""
        if elsewhere():
            return self.fn(*args, **kwargs)
        return self._decided(args, kwargs)(args, kwargs)

    def _decided(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Call:
        """Handle a miss after a recompile limit was reached; a miss with another cause may still be traced."""
        form = self._forms.of(args, kwargs)
        bound = form.bind(args, kwargs)
        leaves, _ = flattened(*bound)
        key = tuple([decisive(leaf) for leaf in leaves])
        with self._lock:
            found = self._decisions.get(key)
            if found is not None:
                return found
            signature = self._signature(bound, form)
            question = self._question(signature, signature.values(leaves))
            if self.limits.is_exhausted(question) or self.limits.reached(len(self.variants)) is not None:
                found = self._eagerly
            else:
                found = signature.otherwise or self._variant(args, kwargs)
                if found == self._unless_new:
                    # the limit of variants is reached
                    found = self._eagerly
            if len(self._decisions) >= MOST_DECISIONS:
                self._decisions.clear()
            self._decisions[key] = found
            return found


def made_native() -> Native:
    """The native dispatcher, imported lazily."""
    from frontends.pytorch.calls.native import Native

    return Native()
