"""Other reasoners under one protocol: each gets a session's symbols and facts in order and answers its questions.

A peer is asked without committing to anything. `always` and `never` are proofs, `depends` means that the peer showed
both outcomes, None that it left the question open. Each runs in a process of its own (see `worker`), so that no peer's
heap, caches or crashes touch another's figures.

>>> sorted(PEERS)
['isl', 'jax', 'symshape', 'symshape --no-solver', 'symshape, evidence unread', 'torch', 'tvm', 'z3']
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol


class Inexpressible(Exception):
    """The peer has no words for a proposition."""


class Answer(NamedTuple):
    """What a peer concluded, with the evidence that this project's own engine gives and most peers do not."""

    verdict: Literal["always", "never", "depends"] | None
    rung: str | None = None
    true_at: Mapping[str, int] | None = None
    false_at: Mapping[str, int] | None = None


ALWAYS, NEVER, OPEN = Answer("always"), Answer("never"), Answer(None)


class Peer(Protocol):
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


PEERS = {
    "symshape": Entry("symshape", "WithSolvers", ("symshape",)),
    "symshape --no-solver": Entry("symshape", "WithoutSolvers", ("symshape",)),
    "symshape, evidence unread": Entry("symshape", "Unread", ("symshape",)),
    "torch": Entry("torch_env", "Torch", ("torch", "sympy")),
    "z3": Entry("z3_solver", "Z3", ("z3-solver",)),
    "jax": Entry("jax_dims", "Jax", ("jax",)),
    "tvm": Entry("tvm_analyzer", "Tvm", ("apache-tvm",)),
    "isl": Entry("isl_sets", "Isl", ("islpy",)),
}


def load(name: str) -> Callable[[], Peer]:
    """The factory of a peer; ImportError where its library is not installed."""
    entry = PEERS[name]
    factory: Callable[[], Peer] = getattr(importlib.import_module(f"benchmarks.peers.{entry.module}"), entry.factory)
    return factory


def verdict_of(truth: bool | None) -> Answer:
    return OPEN if truth is None else ALWAYS if truth else NEVER
