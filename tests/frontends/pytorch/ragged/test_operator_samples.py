"""Torch's samples of operators on jagged tensors are right when compiled, and captured where torch can."""

from __future__ import annotations

import pytest

from tests.frontends.pytorch.ragged.operator_samples import samples, verdict

OFTEN = frozenset((
    "abs", "add", "where", "clone", "matmul", "sum", "mean", "amax", "unflatten", "squeeze", "unsqueeze", "chunk", "to",
    "nn.functional.linear", "nn.functional.embedding", "nn.functional.embedding_bag", "nn.functional.rms_norm",
    "index_put", "masked_select", "select",
))  # fmt: skip

KNOWN = ("chunk", "holes")
"""Samples of which some are no graph, in docs/pytorch.md: chunks of rows, reductions of rows with holes."""


def check(step: int, only: frozenset[str] | None, least: float) -> None:
    found: dict[str, list[str]] = {"refused": [], "wrong": [], "eager": [], "captured": []}
    for sample in samples(step, only):
        what, why = verdict(sample)
        found[what].append(f"{sample.operator} {sample.place} {sample.name}: {why}")
    assert not found["wrong"]
    others = [each for each in found["eager"] if not any(known in each for known in KNOWN)]
    assert len(found["captured"]) >= least * len(found["captured"] + others), others


def test_samples() -> None:
    """Fails when an operator on jagged tensors is wrong when compiled, or is no graph."""
    check(83, OFTEN, 1)


@pytest.mark.thorough
def test_samples_of_all_operators() -> None:
    """Fails when one in 53 samples is wrong when compiled, or too many are no graph; all of them take an hour."""
    check(53, None, 0.98)
