"""Networks of text and sound."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, x.size(2) // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(context)), self.split(self.v(context))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).contiguous()
        return self.out(y.view(x.size(0), x.size(1), -1))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, y, mask)
        return x + self.feed(self.norms[1](x))


class Encoder(nn.Module):
    """Tokens to a vector for each text, the mean of those that are no padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(64, 16)
        self.layers = nn.ModuleList([EncoderLayer(16, 4), EncoderLayer(16, 4)])

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        padding = ids == 0
        for layer in self.layers:
            x = layer(x, padding[:, None, None, :])
        kept = (~padding).unsqueeze(-1).float()
        return (x * kept).sum(1) / kept.sum(1).clamp(min=1.0)


class Decoder(nn.Module):
    """Causal attention; logits for the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(64, 16)
        self.layer, self.head = EncoderLayer(16, 2), nn.Linear(16, 50)

    def forward(self, ids: Tensor) -> Tensor:
        b, s = ids.shape
        x = self.tokens(ids) + self.places(torch.arange(s))[None].expand(b, s, -1)
        mask = torch.ones(s, s, dtype=torch.bool).triu(1)
        return self.head(self.layer(x, mask))


class CachedDecoder(nn.Module):
    """One step of generation: keys and values of the past before those of the new tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 50)

    def forward(self, ids: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.tokens(ids)
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (y.unflatten(-1, (2, 8)).transpose(1, 2) for y in (q, k, v))
        past, new = keys.shape[2], ids.shape[1]
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        later = torch.arange(past + new)[None] > torch.arange(past, past + new)[:, None]
        scores = torch.where(later, torch.tensor(-1e9), q @ keys.transpose(2, 3) / 8**0.5)
        y = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
        return self.out(y[:, -1:]), keys, values


class Translation(nn.Module):
    """A decoder that looks at an encoder's text, with Einstein sums."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.weights = nn.ParameterList([torch.randn(16, 2, 8) for _ in range(3)])
        self.back = nn.Parameter(torch.randn(2, 8, 16))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        x, y = self.tokens(source), self.tokens(target)
        q = torch.einsum("btc,chd->bthd", y, self.weights[0])
        k, v = (torch.einsum("bsc,chd->bshd", x, weight) for weight in self.weights[1:])
        scores = torch.einsum("bthd,bshd->bhts", q, k).softmax(-1)
        return y + torch.einsum("bhts,bshd,hdc->btc", scores, v, self.back)


class TextConvolution(nn.Module):
    """Words as vectors, windows of several lengths over them, the largest of each."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 12)
        self.windows = nn.ModuleList([nn.Conv1d(12, 6, n) for n in (2, 3, 4)])
        self.head = nn.Linear(18, 3)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids).transpose(1, 2)
        return self.head(torch.cat([F.relu(window(x)).amax(2) for window in self.windows], 1))


class Waves(nn.Module):
    """Dilated causal convolutions over a signal, and frames of it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(4)])
        self.first = nn.Conv1d(1, 4, 1)
        self.frames = nn.Conv1d(4, 6, 9, stride=4, padding=4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x[:, None])
        total = torch.zeros_like(x)
        for i, layer in enumerate(self.layers):
            gate, value = layer(F.pad(x, (2**i, 0))).chunk(2, 1)
            y = torch.tanh(value) * torch.sigmoid(gate)
            x, total = x + y, total + y
        return self.frames(total)[..., 1:-1]


class Tagger(nn.Module):
    """A recurrent layer in both directions, then one score for each tag."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.layer = nn.Embedding(30, 8), nn.LSTM(8, 6, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.layer(self.words(ids))[0]).log_softmax(-1)
