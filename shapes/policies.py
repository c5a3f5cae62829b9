"""Policies: decisions about new input sizes and open branches, which knowledge alone does not make.

The environment asks its policy and obeys the choice; a choice is logged, and is a fact only if the environment then
commits to a guard.

    >>> from shapes import ShapeEnv
    >>> from shapes.policies import torch_defaults
    >>> env = ShapeEnv(policy=torch_defaults, origin=lambda: None)
    >>> b, s, t = env.sizes("b s t", hints=(1, 128, 128))
    >>> for guard in env.guards():
    ...     print(guard)
    b == 1
    s >= 2
    t == s

A policy is any object with `name`, `on_input` and `on_open` (see `Policy`):

    >>> from shapes.policies import Dynamic, Refuse, TakeHint
    >>> class NeverSpecialize:
    ...     name = "never specialize"
    ...     def on_input(self, size): return Dynamic()
    ...     def on_open(self, question): return Refuse("no constant sizes") if question.pins else TakeHint()
    >>> env = ShapeEnv(policy=NeverSpecialize(), origin=lambda: None)
    >>> s = env.symbol("s", hint=64)
    >>> env.guard(s > 16)
    True
    >>> env.guard(s == 64)
    Traceback (most recent call last):
    shapes.errors.UndecidedGuard: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from solver.decide.verdict import Always, Never, Verdict
from solver.terms.expr import Expr
from solver.terms.prop import Prop

# ---------------------------------------------------------------------- what is put before a policy


@dataclass(frozen=True, slots=True)
class InputSize:
    """A size of an input that is about to become a symbol. `twin` names the first earlier size with a given hint."""

    name: str
    hint: int
    lo: int | None
    hi: int | None
    twin: Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A branch that the facts leave open.

    Attributes:
        prop: the proposition.
        verdict: Depends, or GaveUp.
        at_hint: its value at the hints; None where a symbol has none.
        fallback: the answer that the program named for this case (`guard_or_false`), if it did.
        unbacked_sizes: the symbols in it that are known only at run time and not negative.
        suppose: the verdict under further propositions, without committing to them.
    """

    prop: Prop
    verdict: Verdict
    at_hint: bool | None
    fallback: bool | None
    unbacked_sizes: tuple[Expr, ...]
    suppose: Callable[[tuple[Prop, ...]], Verdict]

    @property
    def pins(self) -> bool:
        """True if following the hint would commit to an equality."""
        return self.at_hint is not None and self.prop.kind == ("eq" if self.at_hint else "ne")


# ---------------------------------------------------------------------- what it can choose


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The size stays a symbol; `at_least` is guarded where it says more than the range."""

    at_least: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The size is the constant it is this time."""

    why: str


@dataclass(frozen=True, slots=True)
class SameAs:
    """The size equals that of an earlier input."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class TakeHint:
    """Commit to the side that the hint takes: a guard."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Go on with this answer; it is logged, and is neither a guard nor a fact."""

    value: bool
    why: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Raise `UndecidedGuard`."""

    why: str = ""


InputChoice = Dynamic | Fixed | SameAs
OpenChoice = TakeHint | Answer | Refuse


class Policy(Protocol):
    """The treatment of what an environment cannot decide."""

    @property
    def name(self) -> str: ...

    def on_input(self, size: InputSize) -> InputChoice:
        """Choose the treatment of a new input size that has a hint."""
        ...

    def on_open(self, question: OpenQuestion) -> OpenChoice:
        """Choose how to go on at a branch that is open."""
        ...


# ---------------------------------------------------------------------- the policies that come with it


def follow_hint(question: OpenQuestion) -> OpenChoice:
    """The hint's side where there is one, then the fallback that the program named, else an error."""
    if question.at_hint is not None:
        return TakeHint()
    if question.fallback is not None:
        return Answer(question.fallback, "fallback")
    return Refuse()


@dataclass(frozen=True, slots=True)
class Unspecialized:
    """Every size is dynamic from 0, whatever its hint; only what the program asks is guarded."""

    name: str = "unspecialized"

    def on_input(self, size: InputSize) -> InputChoice:
        return Dynamic()

    def on_open(self, question: OpenQuestion) -> OpenChoice:
        return follow_hint(question)


@dataclass(frozen=True, slots=True)
class TorchDefaults(Unspecialized):
    """As torch does: 0 and 1 are constants, every other size is at least 2, equal hints mean the same size."""

    name: str = "torch_defaults"

    def on_input(self, size: InputSize) -> InputChoice:
        if size.hint in (0, 1):
            return Fixed("size 0 or 1")
        twin = size.twin(size.hint)
        if twin is not None:
            return SameAs(twin, "equal hints")
        return Dynamic(at_least=2, why="neither 0 nor 1")


@dataclass(frozen=True, slots=True)
class SizeOblivious(Unspecialized):
    """Sizes known only at run time are taken to be at least 2 where a branch asks whether they are 0 or 1.

    The answer is a choice: valid for a general path that is right for 0 and 1 as well.
    """

    name: str = "size_oblivious"

    def on_open(self, question: OpenQuestion) -> OpenChoice:
        if question.at_hint is None and question.unbacked_sizes:
            match question.suppose(tuple([Prop.ge(size, 2) for size in question.unbacked_sizes])):
                case Always():
                    return Answer(True, "sizes at least 2")
                case Never():
                    return Answer(False, "sizes at least 2")
        return follow_hint(question)


@dataclass(frozen=True, slots=True)
class Static(Unspecialized):
    """Every input size is the constant that it is this time."""

    name: str = "static"

    def on_input(self, size: InputSize) -> InputChoice:
        return Fixed("static")


unspecialized: Final = Unspecialized()
torch_defaults: Final = TorchDefaults()
size_oblivious: Final = SizeOblivious()
static: Final = Static()
named: Final[Mapping[str, Policy]] = {
    policy.name: policy for policy in (unspecialized, torch_defaults, size_oblivious, static)
}
