"""Differential testing of guards: are they complete (nothing else behaves differently) and minimal?

    >>> from shapes import ShapeEnv
    >>> from shapes.testing import check_guards
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", hint=64)
    >>> def program(s, branch=bool):
    ...     return "tiled" if branch(s % 16 == 0) and branch(s >= 32) else "plain"
    >>> program(s, env.guard)
    'tiled'
    >>> print(check_guards(env, lambda s: program(s) == "tiled"))
    complete at 300 sizes; each of 2 guards rejects something that needs it
    >>> env.guard(s != 48)                           # a branch that makes no difference
    True
    >>> check_guards(env, lambda s: program(s) == "tiled")
    Traceback (most recent call last):
    shapes.testing.guarding.GuardsDisagree: s != 48 is not needed: s=48 behaves as traced

Guards are *complete* if every size that they accept behaves as traced, and *minimal* if each of them rejects a size
that does not, and that no other guard rejects. Both are tested at the edges first, where each guard is tight or just
violated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from shapes.env import ShapeEnv
from shapes.guards.guards import Guard
from shapes.testing.corners import corners, violating_only
from shapes.testing.sampling import around_corners
from shapes.testing.satisfying import Satisfying
from solver.proofs.fact import Fact
from solver.syntax.short_text import sizes_text

EXAMPLES: Final = 300
VIOLATIONS: Final = 40
"""The number of sizes tried for each guard before it counts as redundant."""
PASSES: Final = 3


class Trace(Protocol):
    """A traced program: its environment holds the guards."""

    @property
    def env(self) -> ShapeEnv: ...


@dataclass(frozen=True, slots=True)
class Needless:
    """A guard, and sizes that only it rejects and that behave as traced nevertheless."""

    guard: Guard
    sizes: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.guard} is not needed: {sizes_text(self.sizes)} behaves as traced"


@dataclass(frozen=True, slots=True)
class GuardReport:
    """The findings about guards.

    Attributes:
        accepted: how many sizes that the guards accept were tried.
        let_through: the smallest size that they accept and that behaves differently; None if there was none.
        miscompiled: sizes on which a compiled check differs from the guards.
        needless: the guards that reject nothing that needs it.
        needed: each of the others with sizes that need it.
        unshown: the guards for which no sizes were found that only they reject.
    """

    accepted: int
    let_through: Mapping[str, int] | None
    miscompiled: tuple[Mapping[str, int], ...]
    needless: tuple[Needless, ...]
    needed: tuple[tuple[Guard, Mapping[str, int]], ...]
    unshown: tuple[Guard, ...]

    @property
    def good(self) -> bool:
        return self.let_through is None and not self.miscompiled and not self.needless

    def __str__(self) -> str:
        lines = []
        if self.let_through is not None:
            lines.append(f"the guards accept {sizes_text(self.let_through)}, which does not behave as traced")
        lines += [f"the compiled check differs from the guards at {sizes_text(sizes)}" for sizes in self.miscompiled]
        lines += [str(needless) for needless in self.needless]
        if not lines:
            each = f"each of {len(self.needed)} guards rejects" if len(self.needed) != 1 else "the guard rejects"
            lines.append(f"complete at {self.accepted} sizes; {each} something that needs it")
        lines += [f"no sizes were found that only {guard} rejects" for guard in self.unshown]
        return "\n".join(lines)


class GuardsDisagree(AssertionError):
    """Guards let through what behaves differently, or one of them is not needed; `report` says which."""

    def __init__(self, report: GuardReport) -> None:
        self.report = report
        super().__init__(str(report))


def check_guards(  # type: ignore[explicit-any]
    trace: Trace | ShapeEnv,
    reference: Callable[..., object],
    /,
    *,
    traced: Callable[..., object] | None = None,
    check: Callable[..., bool] | None = None,
    examples: int = EXAMPLES,
    seed: int = 0,
) -> GuardReport:
    """Check that guards are complete and minimal.

    Args:
        trace: an environment, or what has one as its `env`.
        reference: takes sizes by name. Without `traced` it says whether they behave as traced (an exception says that
            they do not), otherwise it is the program, and sizes behave as traced where it gives what `traced` gives.
        traced: what was made of the trace.
        check: a compiled check of the guards, to be tried on the same sizes.
        examples: how many sizes that the guards accept are tried.

    Raises:
        GuardsDisagree: they are not, with the smallest sizes that show it.
    """
    from shapes.env import ShapeEnv

    env = trace if isinstance(trace, ShapeEnv) else trace.env
    guards = env.guards()
    behaves = _behaviour(reference, traced)
    accepted, miscompiled, through = 0, [], None
    for sizes in around_corners(env, corners(env), examples, seed=seed):
        accepted += 1
        if check is not None and not check(**sizes):
            miscompiled.append(sizes)
        if through is None and not behaves(sizes):
            through = _smaller(env, sizes, lambda each: not behaves(each))
    needless, needed, unshown = [], [], []
    dropped = [fact for fact in _guard_facts(env) if not any(fact is guard.fact for guard in guards)]
    for guard in guards:
        tried = None
        for sizes in around_corners(env, violating_only(env, guard.fact, dropped=dropped), VIOLATIONS, seed=seed):
            if check is not None and check(**sizes):
                miscompiled.append(sizes)
            tried = sizes if tried is None else tried
            if not behaves(sizes):
                needed.append((guard, sizes))
                break
        else:
            if tried is None:
                unshown.append(guard)
            else:
                needless.append(Needless(guard, tried))
    report = GuardReport(accepted, through, tuple(miscompiled), tuple(needless), tuple(needed), tuple(unshown))
    if not report.good:
        raise GuardsDisagree(report)
    return report


def _behaviour(  # type: ignore[explicit-any]
    reference: Callable[..., object], traced: Callable[..., object] | None
) -> Callable[[Mapping[str, int]], bool]:
    """Return True if sizes behave as traced."""

    def behaves(sizes: Mapping[str, int]) -> bool:
        try:
            result = reference(**sizes)
        except Exception:
            return False
        return bool(result if traced is None else result == traced(**sizes))

    return behaves


def _guard_facts(env: ShapeEnv) -> Iterator[Fact]:
    for fact in env.known.records():
        if fact.kind == "guard":
            yield fact


def _smaller(env: ShapeEnv, sizes: dict[str, int], wrong: Callable[[Mapping[str, int]], bool]) -> dict[str, int]:
    """Sizes that are wrong as well, each as small as it will go."""
    inside = Satisfying(env.known)
    atoms = {declared.name: atom for atom, declared in env.symbols.items()}
    values = {atoms[name]: size for name, size in sizes.items()}
    for _ in range(PASSES):
        before = values
        for atom in inside.symbols:
            low = inside.facts.bounds(atom.expr)[0] or 0
            while low < values[atom]:
                middle = (low + values[atom]) // 2
                moved = inside.moved(values, atom, middle)
                if (
                    moved[atom] < values[atom]
                    and sum(moved.values()) < sum(values.values())
                    and wrong(inside.named(env, moved))
                ):
                    values = moved
                else:
                    low = middle + 1
        if values == before:
            break
    return inside.named(env, values)
