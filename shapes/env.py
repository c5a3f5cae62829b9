"""The environment of one traced program: what is known about its sizes, what follows, and what was committed to.

    >>> from shapes import Always, Depends, ShapeEnv
    >>> env = ShapeEnv()
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> env.assume("s % 16 == 0")
    >>> isinstance(env.ask((b * s) % 16 == 0), Always)
    True
    >>> match env.ask((b * s) % 64 == 0):
    ...     case Depends(true_at, false_at):
    ...         (true_at["b"] * true_at["s"]) % 64, (false_at["b"] * false_at["s"]) % 64 > 0
    (0, True)
    >>> env.guard(s > 64)
    True
    >>> [str(guard) for guard in env.guards()]
    ['s >= 65']

Asking (`ask`, `bounds`, `simplify`, `hint`, `fits`, `explain`) changes nothing. Commands record what they did and
where; one that fails leaves the environment as it was. Several threads may share an environment: commands run one at a
time, and what holds in a scope is for the thread that opened it (`ConcurrentScope`).

One layer of the class per concept:

- `shapes.environment.answers`: what was asked and still stands, checkpoints and rollbacks;
- `shapes.environment.symbols`: symbols, hints, sources;
- `shapes.environment.ledger`: assume, guard, expect_true, require, specialize, rebind;
- `shapes.environment.scopes`: hypotheses, speculation, forks and joins, bounds over a loop;
- here: the answers, and the views of what was committed to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Final, Literal, NoReturn, Self, overload

from shapes.accepted import one_of, shown
from shapes.environment.answers import RANKS, Effort, synchronized
from shapes.environment.events import Asked, Commitment, Purpose
from shapes.environment.reader import Question, Size
from shapes.environment.scopes import Scopes
from shapes.errors import Contradiction, ShapeError
from shapes.symbolic.symint import SymBool, SymInt
from solver.decide.verdict import Always, Verdict
from solver.knowledge.facts import Conflict

if TYPE_CHECKING:
    from shapes.environment.explanation import Explanation
    from shapes.environment.layout import Layout
    from shapes.guards.arguments import Sources
    from shapes.guards.codegen import Check
    from shapes.guards.guards import Guard, RuntimeAssert, Specialization
    from shapes.symbolic.symfloat import SymFloat


ORDINARY_FLOAT: Final = 0x4008_0000_0000_0000
"""The bits of 3.0."""


class ShapeEnv(Scopes):
    """Sizes of one program, what is known about them, and what follows."""

    _guards: tuple[int, Commitment | None, tuple[Guard, ...]] | None = None
    """The minimal guards, with how many commitments there were then, and the last of them."""

    # ------------------------------------------------------------------ declaring

    @overload
    def unbacked(
        self,
        name: str | None = ...,
        lo: int | None = ...,
        hi: int | None = ...,
        *,
        kind: Literal["int"] = ...,
        source: str | None = ...,
    ) -> SymInt: ...

    @overload
    def unbacked(self, name: str | None = ..., *, kind: Literal["float"], source: str | None = ...) -> SymFloat: ...

    @overload
    def unbacked(self, name: str | None = ..., *, kind: Literal["bool"], source: str | None = ...) -> SymBool: ...

    def unbacked(
        self,
        name: str | None = None,
        lo: int | None = None,
        hi: int | None = None,
        *,
        kind: Literal["int", "float", "bool"] = "int",
        source: str | None = None,
    ) -> SymInt | SymFloat | SymBool:
        """A value that is known only at run time, of `item()` or `nonzero()` for instance: no hint, refined by
        run-time checks.

        A bool is a symbol that is 0 or 1, a float one for the 64 bits of its pattern: text asks about them as such,
        about a float u as `double(u) > 2.5`. Witnesses print it as a decimal.
        """
        one_of("kind", kind, ("int", "float", "bool"))
        if name is None:
            name = self._free_name("u")
        if kind != "int":
            lo, hi = 0, 1 if kind == "bool" else 2**64 - 1
        sample = ORDINARY_FLOAT if kind == "float" else None
        symbol = self._declare(name, lo, hi, None, "unbacked", source, sample=sample)
        match kind:
            case "int":
                return SymInt(self, symbol, self._true)
            case "bool":
                return SymBool(self, self.interner.eq(symbol, 1), self._true)
            case "float":
                from shapes.symbolic.symfloat import SymFloat
                from solver.floats.values import from_pattern

                self.interner.doubles.add(symbol.atom)
                return SymFloat(self, from_pattern(symbol), self._true)

    def input(
        self,
        name: str,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        offset: int = 0,
        *,
        dims: str | Sequence[str] | None = None,
        source: str | None = None,
    ) -> Layout:
        """An input tensor as it came: its sizes, strides and storage offset, as symbols with these hints.

        Strides that are products of sizes this time are taken to be so, as guards on the strides; `dims` names the
        sizes.
        """
        from shapes.environment.inputs import allocate

        return allocate(self, name, sizes, strides, offset, dims, source)

    # ------------------------------------------------------------------ asking

    def ask(
        self,
        question: Question,
        *,
        effort: Effort = "default",
        timeout: float | None = None,
        purpose: Purpose = "program",
    ) -> Verdict:
        """Whether a proposition follows from what is known. Changes nothing.

        Args:
            effort: what it may cost: "fast" and "default" have budgets of work, "thorough" has the largest and asks z3
                ("full" is another word for it).
            timeout: seconds after which it is given up, whatever the effort allows.
            purpose: who asks, for listeners.

        Raises:
            Undefined: the facts refute what the question needs to make sense (a divisor that is zero, say).
        """
        if type(question) is SymBool and question.domain is self._true and self._plain:
            prop = question.prop
            settled = self._settled.get(prop)
            if settled is not None:
                return settled
            standing = self._open.get(prop)
            if standing is not None and standing.facts is self.facts:
                if effort in RANKS and standing.stands(effort):
                    return standing.verdict
        if type(question) is str:
            prop, domain = self._texts.get(question) or self._parsed(question)
        else:
            prop, domain = self._read(question)
        verdict = self.decide(prop, domain, effort, timeout)
        if self._listeners:
            one_of("purpose", purpose, ("program", "optional", "person"))
            text = question if isinstance(question, str) else None
            self._tell(Asked(prop, domain, text, verdict, purpose, False))
        return verdict

    def proves(self, question: Question, *, effort: Effort = "default", timeout: float | None = None) -> bool:
        """Whether a proposition is `Always`: what a compiler asks that has use for a proof alone."""
        return isinstance(self.ask(question, effort=effort, timeout=timeout), Always)

    @synchronized
    def bounds(self, size: Size) -> tuple[int | None, int | None]:
        """The least and the greatest value, as far as interval reasoning knows; None for unbounded."""
        from shapes.environment.value_ranges import bounds

        return bounds(self.facts, self._read_expr(size)[0])

    def guarding_hint(self, size: Size) -> int:
        """The value this time, for callers that will guard on it.

        Raises:
            UndecidedGuard: a symbol in it has no hint; `hint(size, fallback=...)` estimates.
        """
        expr, domain = self._read_expr(size)
        value = self.hint(expr)
        if value is None:
            lo, hi = self.facts.bounds(expr)
            if lo is None or lo != hi:
                raise self._valueless(expr, domain, "a symbol in it has no hint")
            value = lo
        return int(value)

    @synchronized
    def explain(self, question: Question) -> Explanation:
        """The verdict in words: the facts and lines it rests on and the steps, or the sizes that show both outcomes."""
        from shapes.environment.explanation import explain

        prop, domain = self._read(question)
        return explain(self.decide(prop, domain, "thorough"), prop, domain)

    @synchronized
    def simplify(self, size: Size) -> SymInt | int:
        """The same value in fewer operations, as far as the facts allow; every step is proven."""
        from solver.decide.simplify import simplify

        expr, domain = self._read_expr(size)
        simple = simplify(self.facts, expr, domain=domain, solvers=self.solvers)
        return simple.constant if simple.is_constant else SymInt(self, simple, domain)

    @synchronized
    def fits(self, size: Size, bits: int) -> Verdict:
        """Whether the value *and every intermediate* of its computation, as written, fits a signed integer of so many
        bits."""
        from shapes.environment.overflow import fitting

        prop, domain = fitting(self, size, bits)
        return self.decide(prop, domain)

    @synchronized
    def check_consistent(self) -> Mapping[str, int] | None:
        """Sizes that satisfy everything known; None where none were found and no contradiction either.

        Raises:
            Contradiction: the facts cannot hold together.
        """
        from solver.decide.consistency import Consistent, Unknown, consistency

        match consistency(self.facts, solvers=self.solvers):
            case Conflict(core=core, proof=proof):
                raise Contradiction("the facts contradict each other", core, proof)
            case Consistent(witness=witness):
                return {declared.name: witness[atom] for atom, declared in self.symbols.items()}
            case Unknown():
                return None

    # ------------------------------------------------------------------ what was committed to

    @synchronized
    def guards(self) -> tuple[Guard, ...]:
        """The guards, none of which follows from the others, each with its line and a size that only it rejects."""
        from shapes.guards.guards import minimal_guards

        last = self._commitments[-1] if self._commitments else None
        if self._guards is None or self._guards[0] != len(self._commitments) or self._guards[1] is not last:
            found = minimal_guards(self._commitments, self.interner, solvers=self.solvers)
            self._guards = (len(self._commitments), last, found)
        return self._guards[2]

    def preconditions(self) -> tuple[Guard, ...]:
        """The caller's promises, which guards may lean on."""
        from shapes.guards.guards import preconditions

        return preconditions(self._commitments)

    def runtime_asserts(self) -> tuple[RuntimeAssert, ...]:
        """The checks that run with the program, in order, with their messages and the symbols they need."""
        from shapes.guards.guards import runtime_asserts

        return runtime_asserts(self._commitments)

    @synchronized
    def specializations(self) -> tuple[Specialization, ...]:
        """The sizes that became constants, each with the facts and lines that made it one."""
        from shapes.guards.guards import specializations

        return specializations(self)

    @synchronized
    def compile_guards(
        self,
        sources: Sources,
        *,
        arguments: Sequence[str] | None = None,
        trusted: bool = False,
        native: bool = False,
        known: Mapping[str, tuple[int | None, int | None]] | None = None,
    ) -> Check:
        """A fast check whether concrete sizes satisfy ranges, promises and guards; `sources` says where each symbol
        is found.

        `trusted=True` leaves the caller's promises out; bounds that are `known` of every value that a symbol will ever
        have, as those of an integer of fixed width, are not tested.
        """
        from shapes.guards.codegen import compile_check
        from shapes.guards.guards import requirements

        if not isinstance(sources, Mapping):
            raise ShapeError(f"sources={shown(sources)}: expected where symbols are found, such as {{'s': ('x', 0)}}")
        backed = {declared.name: declared.symbol for declared in self.symbols.values() if declared.kind == "backed"}
        wanted = requirements(self._commitments, self.guards(), set(sources), trusted=trusted, known=known or {})
        return compile_check(wanted, backed, sources, arguments=arguments, native=native)

    @synchronized
    def certify(
        self,
        box: Mapping[str, int | tuple[int | None, int | None]] | None = None,
        /,
        *,
        trusted: bool = False,
        **bounds: int | tuple[int | None, int | None],
    ) -> Verdict:
        """Whether every size in the box is accepted by ranges, promises and guards: Always, or sizes that are not.

        Run-time checks are not judged: they are listed by `runtime_asserts`. `trusted=True` takes the promises for
        granted.
        """
        from shapes.guards.guards import certify

        return certify(self, self.guards(), {**(box or {}), **bounds}, trusted=trusted)

    # ------------------------------------------------------------------ elsewhere

    def __copy__(self) -> Self:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Self:
        """A fork: knowledge is a value, and the sizes of this one may be asked about there."""
        return self.fork()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an environment is not pickled: `env.save(path)` writes it, `ShapeEnv.load(path)` reads it; "
            "`env.fork()` is one of its own in the same process"
        )

    def translate(self, question: Question, mapping: Mapping[str, Size]) -> SymBool:
        """A proposition of another environment in terms of this one's sizes; `mapping` says what its symbols are
        here."""
        from shapes.environment.translation import translate

        return translate(self, question, mapping)

    @synchronized
    def export(self, system: Literal["smtlib"] = "smtlib") -> str:
        """What was taken for granted and what was concluded, as one file for any solver that reads SMT-LIB 2: ranges,
        promises, guards and run-time checks with their lines, and every question that still stands, with the status
        that is expected of it.
        """
        from shapes.sessions.obligations import obligations, shown

        one_of("system", system, ("smtlib",))
        verdicts = [*self._settled.values(), *self._standing_verdicts()]
        witness = self.facts.witness()
        sizes = None
        if witness is not None:
            sizes = shown({declared.name: witness[atom] for atom, declared in self.symbols.items()})
        return obligations(self._commitments, self.guards(), verdicts, sizes)

    def save(self, path: str | PathLike[str]) -> None:
        """Write symbols and facts as a recorded session (compressed if the name ends in .gz)."""
        from shapes.sessions.session import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], name: str | None = None) -> Self:
        """The environment of a recorded session, after all of its lines; by default the last session of the file."""
        from shapes.sessions.session import load

        return load(cls, path, name)

    def record(self, path: str | PathLike[str]) -> Callable[[], None]:
        """Write every symbol, fact and question from now on as a recorded session; the result ends that and closes
        the file."""
        from shapes.sessions.session import record

        return record(self, path)
