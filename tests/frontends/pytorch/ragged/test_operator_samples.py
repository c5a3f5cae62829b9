"""Torch's samples of operators on jagged tensors are right when compiled, and captured where torch can."""

from __future__ import annotations

import pytest

from tests.frontends.pytorch.ragged.operator_samples import samples, verdict

OFTEN = frozenset((
    "abs", "add", "where", "clone", "matmul", "sum", "mean", "amax", "unflatten", "squeeze", "unsqueeze", "chunk", "to",
    "nn.functional.linear", "nn.functional.embedding", "nn.functional.embedding_bag", "nn.functional.rms_norm",
    "index_put", "masked_select", "select",
))  # fmt: skip


def check(step: int, only: frozenset[str] | None, least: float) -> None:
    found: dict[str, list[str]] = {"refused": [], "wrong": [], "eager": [], "captured": []}
    for sample in samples(step, only):
        what, why = verdict(sample)
        found[what].append(f"{sample.operator} {sample.place} {sample.name}: {why}")
    assert not found["wrong"]
    # with holes between rows, AOTAutograd reads the lengths of gradients; no graph is left where nothing is computed
    others = [each for each in found["eager"] if "holes" not in each and not each.startswith(("clone", "chunk"))]
    assert len(found["captured"]) >= least * len(found["captured"] + others), others


def test_samples() -> None:
    """Fails when an operator on jagged tensors is wrong when compiled, or is no graph."""
    check(83, OFTEN, 0.9)


@pytest.mark.thorough
def test_all_samples() -> None:
    """Fails when a sample is wrong when compiled, or too many are no graph: about an hour."""
    check(1, None, 0.98)
