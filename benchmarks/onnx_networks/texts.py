"""More networks of sequences, tables and graphs: recurrence, experts, rotations, windows, interactions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Gru(nn.Module):
    """A recurrence from both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.cells = nn.Embedding(30, 8), nn.GRU(8, 6, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.cells(self.tokens(ids))[0])


class Lstm(nn.Module):
    """Two layers of recurrence, and their last state."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.head = nn.LSTM(5, 8, num_layers=2, batch_first=True), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        every, (last, _) = self.cells(x)
        return self.head(every), last[-1]


class Perceiver(nn.Module):
    """A few latents attend to many tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(6, 8))
        self.key, self.value = nn.Linear(5, 8), nn.Linear(5, 8)

    def forward(self, x: Tensor) -> Tensor:
        query = self.latents.unsqueeze(0).expand(x.size(0), -1, -1)
        return (query @ self.key(x).transpose(1, 2)).softmax(-1) @ self.value(x)


class Rotary(nn.Module):
    """Rotated queries, and keys that several heads share."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.q, self.kv = nn.Embedding(30, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.register_buffer("rates", 1.0 / 100 ** (torch.arange(2) / 2))

    def rotated(self, x: Tensor) -> Tensor:
        angle = torch.arange(x.size(2))[:, None] * self.rates
        one, other = x[..., :2], x[..., 2:]
        return torch.cat([one * angle.cos() - other * angle.sin(), one * angle.sin() + other * angle.cos()], -1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        b, s = ids.shape
        q = self.rotated(self.q(x).view(b, s, 4, 4).transpose(1, 2))
        k, v = self.kv(x).view(b, s, 2, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        k = self.rotated(k)[:, :, None].expand(b, 2, 2, s, 4).reshape(b, 4, s, 4)
        v = v[:, :, None].expand(b, 2, 2, s, 4).reshape(b, 4, s, 4)
        scores = (q @ k.transpose(-2, -1)).masked_fill(torch.ones(s, s).triu(1).bool(), float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, 16)


class LinearAttention(nn.Module):
    """Attention without a matrix of all pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.three = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.three(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.einsum("bsd,bse->bde", k, v)
        return torch.einsum("bsd,bde->bse", q, state) / torch.einsum("bsd,bd->bs", q, k.sum(1)).unsqueeze(-1)


class Experts(nn.Module):
    """Each token mixes the two experts that its gate prefers."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 4), nn.Parameter(torch.randn(4, 8, 8))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, 8)
        best = self.gate(flat).topk(2, -1)
        weights = torch.zeros(flat.size(0), 4).scatter(1, best.indices, best.values.softmax(-1))
        return torch.einsum("ne,nd,edf->nf", weights, flat, self.experts).view(x.size(0), x.size(1), 8)


class Relative(nn.Module):
    """Attention with a bias for each distance."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.bias = nn.Embedding(30, 8), nn.Embedding(17, 1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        places = torch.arange(ids.size(1))
        distance = (places[None] - places[:, None]).clamp(-8, 8) + 8
        return (x @ x.transpose(1, 2) + self.bias(distance).squeeze(-1)).softmax(-1) @ x


class Similarity(nn.Module):
    """Every text of one batch beside every text of another."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(30, 8)

    def embedded(self, ids: Tensor) -> Tensor:
        kept = (ids != 0).unsqueeze(-1).float()
        return F.normalize((self.tokens(ids) * kept).sum(1) / kept.sum(1).clamp(min=1.0), dim=-1)

    def forward(self, ours: Tensor, theirs: Tensor) -> Tensor:
        return self.embedded(ours) @ self.embedded(theirs).transpose(0, 1)


class Causal(nn.Module):
    """Dilated convolutions that see only what was before."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            gate, value = layer(F.pad(x, (2**i, 0))).chunk(2, 1)
            x = x + torch.sigmoid(gate) * torch.tanh(value)
        return x


class Recommender(nn.Module):
    """Embedded categories, and the products of all pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.tables, self.dense = nn.ModuleList([nn.Embedding(30, 4) for _ in range(3)]), nn.Linear(5, 4)
        self.head = nn.Linear(20, 1)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        rows = torch.stack([self.dense(numbers), *[table(categories[:, i]) for i, table in enumerate(self.tables)]], 1)
        pairs = (rows @ rows.transpose(1, 2)).flatten(1)
        return torch.sigmoid(self.head(torch.cat([pairs, rows[:, 0]], 1)))


class GraphAttention(nn.Module):
    """Attention along a matrix of edges."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.one, self.other = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        x = self.project(nodes)
        scores = F.leaky_relu(self.one(x) + self.other(x).transpose(0, 1))
        return scores.masked_fill(edges < 0, -1e9).softmax(-1) @ x


class Forecast(nn.Module):
    """A series in patches, each seen alone and then all together."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.mix, self.head = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, series: Tensor) -> Tensor:
        mean = series.mean(1, keepdim=True)
        patches = (series - mean).reshape(series.size(0), -1, 4)
        x = F.gelu(self.patch(patches))
        x = x + self.mix(x.cumsum(1))
        return self.head(x).flatten(1) + mean
