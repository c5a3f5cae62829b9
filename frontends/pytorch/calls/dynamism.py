"""Automatic dynamic shapes: sizes are symbols by marks, by stated relations, or as earlier calls have differed.

    >>> import torch
    >>> from frontends.pytorch.calls.dynamism import History, Mixed
    >>> history = History()
    >>> history.observe("x", torch.randn(3, 8))
    []
    >>> history.observe("x", torch.randn(5, 8))
    ['x.size(0) is 5, was 3']
    >>> mixed = Mixed(None, history, ranks={"x": 2})
    >>> [mixed.choose("x", axis, size).kind for axis, size in enumerate((5, 8))]
    ['dynamic', 'static']

Marks have priority, then stated relations, then the function's setting: all dynamic, none, or automatic, where a size
is static until it differs between calls. The history outlives variants and environments: a size that has differed stays
dynamic.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import torch

from backends.decisions.costs import Expected
from backends.decisions.questions import KINDS
from frontends.pytorch.calls.marks import Mark
from frontends.pytorch.calls.sources import is_named
from frontends.pytorch.errors import ConstraintViolation, refusal
from frontends.pytorch.recording.inputs import DYNAMIC, STATIC, Choice, Dynamic, Dynamism, Input
from frontends.pytorch.recording.outside import Outside
from shapes.accepted import did_you_mean, is_truth, shown
from shapes.env import ShapeEnv
from shapes.origin import Origin

SEEN_TO_DIFFER: Final = Choice("dynamic", why="seen to differ")
NAMED: Final = Choice("dynamic", why="among torch.compiler.config.dynamic_sources")


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of recompilation, and options of kernels.

    Attributes:
        recompile_limit: the number of recompilations for one question; then calls that no variant accepts fall back
            to eager.
        variants: the number of variants of a function.
        of_module: the number of variants of all functions of one module.
        withheld: kinds of decisions (`backends.decisions.questions`) that kernels do without, to measure their worth.
        guards: the expected use of a variant, if profitable guards may be added for faster kernels; None adds none
            (see `backends.decisions.costs`).
    """

    recompile_limit: int = 2
    variants: int = 64
    of_module: int = 256
    withheld: frozenset[str] = frozenset()
    guards: Expected | None = None

    def __post_init__(self) -> None:
        for name in ("recompile_limit", "variants", "of_module"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConstraintViolation(f"{name}={value!r}: expected a number of at least 1")
        withheld: object = self.withheld
        if not isinstance(withheld, Collection) or isinstance(withheld, str):
            raise ConstraintViolation(f"withheld={shown(self.withheld)}: expected a set of kinds of decisions")
        unknown = sorted(map(str, set(self.withheld) - KINDS))
        if unknown:
            known = f"the kinds of decisions are {', '.join(sorted(KINDS))}"
            raise ConstraintViolation(f"withheld={unknown}: {known}{did_you_mean(unknown[0], KINDS)}")
        if not (self.guards is None or isinstance(self.guards, Expected)):
            raise ConstraintViolation(f"guards={shown(self.guards)}: expected an Expected, or None")


@dataclass(eq=False)
class History:
    """The observed sizes of inputs, and which of them differ.

    Attributes:
        varying: the floats that were seen to differ.
        fixed: the numbers that are constants because the program needs their values.
    """

    _seen: dict[tuple[str, int, int], int] = field(default_factory=dict)
    different: set[tuple[str, int, int]] = field(default_factory=set)
    _floats: dict[str, str] = field(default_factory=dict)
    varying: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)

    def observe_float(self, name: str, value: float) -> None:
        """Observe a float; compared by its bits, since 0.0 == -0.0."""
        if self._floats.setdefault(name, value.hex()) != value.hex():
            self.varying.add(name)

    def observe(self, name: str, value: torch.Tensor | int) -> list[str]:
        """Observe an input; returns a description of the differences."""
        sizes = (value,) if isinstance(value, int) else tuple(value.shape)
        rank = -1 if isinstance(value, int) else len(sizes)
        found = []
        for axis, size in enumerate(sizes):
            key = (name, rank, axis)
            before = self._seen.setdefault(key, size)
            if before != size and key not in self.different:
                self.different.add(key)
                found.append(f"{name if rank < 0 else f'{name}.size({axis})'} is {size}, was {before}")
        return found

    def described(self) -> dict[str, Any]:
        """The history as JSON."""
        return {
            "sizes": [[*key, size, key in self.different] for key, size in sorted(self._seen.items())],
            "floats": [[name, pattern, name in self.varying] for name, pattern in sorted(self._floats.items())],
            "fixed": sorted(self.fixed),
        }

    def add(self, described: Mapping[str, object]) -> None:
        """Merge another history.

        Raises:
            ValueError: it is malformed; nothing is merged.
        """
        sizes, floats, fixed = [described.get(name) for name in ("sizes", "floats", "fixed")]
        match sizes, floats, fixed:
            case list(), list(), list() if (
                all(kinds_of(each) == (str, int, int, int, bool) for each in sizes)
                and all(kinds_of(each) == (str, str, bool) for each in floats)
                and all(type(each) is str for each in fixed)
            ):
                pass
            case _:
                raise ValueError("what was seen of the arguments")
        for name, rank, axis, size, differs in sizes:
            key = (name, rank, axis)
            if self._seen.setdefault(key, size) != size or differs:
                self.different.add(key)
        for name, pattern, varies in floats:
            if self._floats.setdefault(name, pattern) != pattern or varies:
                self.varying.add(name)
        self.fixed.update(fixed)

    def differs(self, name: str, rank: int, axis: int) -> bool:
        return (name, rank, axis) in self.different


def kinds_of(value: object) -> tuple[type, ...]:
    """The classes of a list's items; empty for anything else."""
    return tuple(map(type, value)) if type(value) is list else ()


class KnownSizes(Protocol):
    """Facts about the sizes of a function's inputs: relations stated by the caller, or torch's."""

    def choice(self, name: str, axis: int) -> Choice | None: ...

    def check(self, shapes: Mapping[str, Sequence[int]], place: Origin | None) -> None: ...

    def assume(self, env: ShapeEnv, inputs: Sequence[Input]) -> None: ...


@dataclass(eq=False)
class Mixed(Dynamism):
    """The combined choice for the numbers of one call.

    Attributes:
        read: the numbers of captured state.
        tentative: the floats, and the numbers that are read, that became symbols.
    """

    setting: bool | Dynamic | None
    history: History
    relations: KnownSizes | None = None
    marks: Mapping[str, Mapping[int, Mark]] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    read: Container[str] = ()
    outside: Outside = field(default_factory=Outside)
    tentative: set[str] = field(default_factory=set)

    def is_varying(self, name: str, value: float) -> bool:
        seen = name in self.history.varying and name not in self.history.fixed
        varying = seen and self.setting is not False and math.isfinite(value)
        if varying:
            self.tentative.add(name)
        return varying

    def choose(self, name: str, axis: int, size: int) -> Choice:
        if axis < 0 and name in self.read:
            varying = self.history.differs(name, -1, 0) and name not in self.history.fixed
            if varying:
                self.tentative.add(name)
            return SEEN_TO_DIFFER if varying else STATIC
        mark = self.marks.get(name, {}).get(axis)
        stated = self.relations.choice(name, axis) if self.relations is not None else None
        if mark is not None and stated is not None and mark.choice.kind != stated.kind:
            what = f"{name}: {mark.text}, but a relation is stated for size({axis})"
            raise ConstraintViolation(refusal(what, "the mark or the relation", mark.place))
        if stated is not None:
            return stated
        if mark is not None:
            return mark.choice
        if callable(self.setting):
            choice: object = self.setting(name, axis, size)
            if not (choice is None or isinstance(choice, Choice | int) or is_truth(choice)):
                what = f"dynamic= gave {shown(choice)} for {name}: expected True, False or a Choice"
                fix = "a function of name, axis and size that gives one of these"
                raise ConstraintViolation(refusal(what, fix, None))
            return choice if isinstance(choice, Choice) else DYNAMIC if choice else STATIC
        if self.setting is False:
            return STATIC
        if axis < 0:
            if self.history.differs(name, -1, 0):
                return SEEN_TO_DIFFER
            return NAMED if self.setting is None and is_named(name) else STATIC
        if self.setting is True:
            return DYNAMIC
        if self.history.differs(name, self.ranks.get(name, 0), axis):
            return SEEN_TO_DIFFER
        return NAMED if is_named(name, axis) else STATIC

    def settle(self, env: ShapeEnv, inputs: Sequence[Input]) -> None:
        if self.relations is not None:
            self.relations.assume(env, inputs)
