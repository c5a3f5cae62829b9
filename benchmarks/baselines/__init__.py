"""Baselines under one protocol: each reads a session's symbols and facts in order and answers its questions.

Asking commits to nothing. `always` and `never` are proofs, `depends` means that the baseline showed both outcomes, None
that the answer is unknown. Each runs in its own process (see `worker`): heaps, caches and crashes are isolated.

>>> sorted(BASELINES)
['isl', 'jax', 'symshape', 'symshape --no-solver', 'symshape, evidence unread', 'torch', 'tvm', 'z3']
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol


class Inexpressible(Exception):
    """The baseline cannot express a proposition."""


class Answer(NamedTuple):
    """A baseline's conclusion, with the evidence that this project's own engine gives and most baselines do not."""

    verdict: Literal["always", "never", "depends"] | None
    rung: str | None = None
    true_at: Mapping[str, int] | None = None
    false_at: Mapping[str, int] | None = None


ALWAYS, NEVER, OPEN = Answer("always"), Answer("never"), Answer(None)


class Baseline(Protocol):
    """One reasoner with the knowledge of one session.

    Some also have `checkpoint` and `rollback`, `consistent() -> bool | None` about the facts so far, and
    `simplify(text) -> text`.
    """

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None: ...

    def assume(self, prop: str) -> None: ...

    def ask(self, prop: str) -> Answer: ...

    def close(self) -> None: ...


class Entry(NamedTuple):
    module: str
    factory: str
    distributions: tuple[str, ...]


BASELINES = {
    "symshape": Entry("symshape", "WithSolvers", ("symshape",)),
    "symshape --no-solver": Entry("symshape", "WithoutSolvers", ("symshape",)),
    "symshape, evidence unread": Entry("symshape", "Unread", ("symshape",)),
    "torch": Entry("torch_env", "Torch", ("torch", "sympy")),
    "z3": Entry("z3_solver", "Z3", ("z3-solver",)),
    "jax": Entry("jax_dims", "Jax", ("jax",)),
    "tvm": Entry("tvm_analyzer", "Tvm", ("apache-tvm",)),
    "isl": Entry("isl_sets", "Isl", ("islpy",)),
}


def load(name: str) -> Callable[[], Baseline]:
    """The factory of a baseline; ImportError where its library is not installed."""
    entry = BASELINES[name]
    module = importlib.import_module(f"benchmarks.baselines.{entry.module}")
    factory: Callable[[], Baseline] = getattr(module, entry.factory)
    return factory


def verdict_of(truth: bool | None) -> Answer:
    return OPEN if truth is None else ALWAYS if truth else NEVER
