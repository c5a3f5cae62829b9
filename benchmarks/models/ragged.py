"""Programs with data-dependent sizes: boxes that pass a threshold, tokens sent to experts, rows of several lengths."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from benchmarks.models.model import Model


class DetectionHead(nn.Module):
    """Scores and boxes for each place of an image; only the boxes that score enough are refined."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Conv2d(3, 16, 3, padding=1)
        self.scores = nn.Conv2d(16, 1, 1)
        self.boxes = nn.Conv2d(16, 4, 1)
        self.refined = nn.Linear(20, 4)

    def forward(self, x: Tensor) -> Tensor:
        features = torch.relu(self.features(x))
        scores = self.scores(features).sigmoid().flatten(1)
        boxes = self.boxes(features).flatten(2).transpose(1, 2)
        picture, place = (scores > 0.5).nonzero().unbind(1)
        found = boxes[picture, place]
        around = features.flatten(2).transpose(1, 2)[picture, place]
        refined = found + self.refined(torch.cat([found, around], 1))
        return (refined.pow(2).sum(1) * scores[picture, place]).sum() + scores.mean()


class Routing(nn.Module):
    """Tokens sorted by expert, sent in pieces of as many as there are, and brought back."""

    def __init__(self, experts: int = 3, width: int = 16) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList([nn.Linear(width, width) for _ in range(experts)])

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, 1)
        weights = self.gate(tokens).softmax(-1)
        weight, expert = weights.max(-1)
        order = expert.argsort(stable=True)
        counts = nn.functional.one_hot(expert, len(self.experts)).sum(0).tolist()
        pieces = tokens[order].split(counts)
        done = torch.cat([layer(piece) for layer, piece in zip(self.experts, pieces)])
        back = torch.zeros_like(tokens).index_copy(0, order, done)
        return (back * weight.unsqueeze(-1)).pow(2).mean()


class Jagged(nn.Module):
    """Rows one after the other, of lengths that are data, padded to the longest and attended to."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        rows = lengths.shape[0]
        longest = lengths.max().item()
        places = torch.arange(longest)
        there = places.unsqueeze(0) < lengths.unsqueeze(1)
        padded = values.new_zeros(rows, longest, values.shape[1])
        padded = padded.masked_scatter(there.unsqueeze(-1), self.inner(values))
        scores = padded @ padded.transpose(1, 2)
        scores = scores.masked_fill(~there.unsqueeze(1), float("-inf"))
        mixed = scores.softmax(-1) @ padded
        return mixed[there].pow(2).mean()


def images(batch: int, side: int) -> dict[str, Tensor]:
    return {"x": torch.randn(batch, 3, side, side + 1)}


def vectors(batch: int, length: int) -> dict[str, Tensor]:
    return {"x": torch.randn(batch, length, 16)}


def rows(batch: int, length: int) -> dict[str, Tensor]:
    lengths = torch.randint(1, length + 1, (batch,))
    return {"values": torch.randn(int(lengths.sum()), 16), "lengths": lengths}


MODELS: Final = (
    Model("detection", DetectionHead, images),
    Model("routing", Routing, vectors),
    Model("jagged", Jagged, rows),
)
