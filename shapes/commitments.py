"""Views of what an environment is committed to: guards, run-time checks, constants, and compiled checks of them.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", hint=128)
    >>> env.guard(s % 16 == 0)
    True
    >>> [str(guard) for guard in env.guards()], env.compile_guards({"s": 0})(100)
    (['s % 16 == 0'], False)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from shapes.accepted import by_name, one_of, shown
from shapes.asking import Asking
from shapes.environment.access import synchronized
from shapes.environment.events import Commitment
from shapes.environment.reader import Size
from shapes.errors import ShapeError
from shapes.symbolic.numbers import SymInt
from solver.decide.verdict import Verdict

if TYPE_CHECKING:
    from shapes.guards.arguments import Sources
    from shapes.guards.codegen import Check
    from shapes.guards.guards import Guard, RuntimeAssert, Specialization


class Commitments(Asking):
    """An environment's commitments, as people, callers and compilers read them."""

    _guards: tuple[int, Commitment | None, tuple[Guard, ...]] | None = None
    """The minimal guards, with how many commitments there were then, and the last of them."""

    @synchronized
    def guards(self) -> tuple[Guard, ...]:
        """The guards, none of which follows from the others, each with its line and a size that only it rejects."""
        from shapes.guards.guards import minimal_guards

        commitments = self._ledger.commitments
        last = commitments[-1] if commitments else None
        if self._guards is None or self._guards[0] != len(commitments) or self._guards[1] is not last:
            found = minimal_guards(commitments, self.interner, solvers=self.solvers)
            self._guards = (len(commitments), last, found)
        return self._guards[2]

    def preconditions(self) -> tuple[Guard, ...]:
        """The caller's assumptions, which guards may rely on."""
        from shapes.guards.guards import preconditions

        return preconditions(self._ledger.commitments)

    def runtime_asserts(self) -> tuple[RuntimeAssert, ...]:
        """The checks that run with the program, in order, with their messages and the symbols they need."""
        from shapes.guards.guards import runtime_asserts

        return runtime_asserts(self._ledger.commitments)

    @synchronized
    def specializations(self) -> tuple[Specialization, ...]:
        """The sizes that became constants, each with the facts and lines that made it one."""
        from shapes.guards.guards import specializations

        return specializations(self._questions)

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
        """A fast check whether concrete sizes satisfy ranges, assumptions and guards; `sources` says where each symbol
        is found.

        `trusted=True` leaves the assumptions out; bounds that are `known` of every value that a symbol will ever
        have, as those of an integer of fixed width, are not tested.
        """
        from shapes.guards.codegen import compile_check
        from shapes.guards.guards import requirements

        if not isinstance(sources, Mapping):
            raise ShapeError(f"sources={shown(sources)}: expected the places of symbols, such as {{'s': ('x', 0)}}")
        backed = {declared.name: declared.symbol for declared in self.symbols.values() if declared.kind == "backed"}
        wanted = requirements(self._ledger.commitments, self.guards(), set(sources), trusted=trusted, known=known or {})
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
        """Decide whether every size in the box satisfies ranges, assumptions and guards: Always, or sizes that are not.

        Run-time checks are not judged: they are listed by `runtime_asserts`. `trusted=True` takes the assumptions for
        granted.
        """
        from shapes.guards.guards import certify

        limits = by_name("box", {} if box is None else box, bounds)
        return certify(self._questions, self.guards(), limits, trusted=trusted)

    @synchronized
    def upper_bound(self, size: Size, over: SymInt | Sequence[SymInt]) -> SymInt | int | None:
        """A bound from above that does not mention the bound variables; None where none was proven."""
        return self._bound(size, over, upper=True)

    @synchronized
    def lower_bound(self, size: Size, over: SymInt | Sequence[SymInt]) -> SymInt | int | None:
        """A bound from below that does not mention the bound variables; None where none was proven."""
        return self._bound(size, over, upper=False)

    def _bound(self, size: Size, over: SymInt | Sequence[SymInt], *, upper: bool) -> SymInt | int | None:
        from shapes.environment.loop_bounds import bound_over

        expr, domain = self._reader.read_expr(size)
        several = [over] if isinstance(over, SymInt) else over
        if not isinstance(several, Sequence) or not all(isinstance(each, SymInt) for each in several):
            raise ShapeError(f"over={shown(over)}: expected a bound variable, or a list of them")
        variables = {atom for variable in several for atom in variable.expr.symbols}
        if not variables.isdisjoint(domain.symbols):
            return None
        best = bound_over(self._questions, expr, variables, upper=upper)
        if best is None:
            return None
        return best.constant if best.is_constant else self._size(best, domain)

    @synchronized
    def export(self, system: Literal["smtlib"] = "smtlib") -> str:
        """Export the assumptions and conclusions as one file for any solver that reads SMT-LIB 2: ranges, assumptions,
        guards and run-time checks with their lines, and every question that still stands, with its expected status.
        """
        from shapes.sessions.obligations import obligations

        one_of("system", system, ("smtlib",))
        witness = self.known.witness()
        sizes = None if witness is None else {each.name: witness[atom] for atom, each in self.symbols.items()}
        return obligations(self._ledger.commitments, self.guards(), self._questions.valid_verdicts(), sizes)
