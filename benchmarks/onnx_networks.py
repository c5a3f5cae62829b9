"""Networks with random weights that are exported to ONNX: convolutions, transformers, detection, recurrence, graphs.

Each says which sizes of its inputs are symbols and at which five sizes it is run. The exporter is torch's own; the
one network that torch has no operator for is written as a graph.
"""

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.parser
import torch
import torch.nn.functional as F
from torch import Tensor, nn

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Input:
    """An input: its sizes, symbols by name, and below which number its elements are if they are integers."""

    dims: tuple[int | str, ...]
    below: int | None = None

    def at(self, sizes: Sizes, seed: int) -> np.ndarray:
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in self.dims]
        random = np.random.default_rng(seed)
        if self.below is not None:
            return random.integers(0, self.below, shape)
        return random.standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Network:
    """A network, what goes in, and where it is run."""

    make: Callable[[], nn.Module | str]
    inputs: Mapping[str, Input]
    sizes: tuple[Sizes, ...]

    def feeds(self, sizes: Sizes, seed: int = 0) -> dict[str, np.ndarray]:
        return {name: one.at(sizes, seed + place) for place, (name, one) in enumerate(self.inputs.items())}

    def export(self) -> onnx.ModelProto:
        """The network as a model of ONNX with its symbols as dim_params."""
        torch.manual_seed(0)
        made = self.make()
        if isinstance(made, str):
            return onnx.parser.parse_model(made)
        example = tuple([torch.from_numpy(array) for array in self.feeds(self.sizes[0]).values()])
        axes = {
            name: {axis: dim for axis, dim in enumerate(one.dims) if isinstance(dim, str)}
            for name, one in self.inputs.items()
        }
        file = io.BytesIO()
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                made.eval(), example, file, dynamo=False, opset_version=17, input_names=list(self.inputs),
                dynamic_axes=axes, do_constant_folding=True,
            )  # fmt: skip
        return onnx.load_from_string(file.getvalue())


def grid(**values: tuple[int, ...]) -> tuple[Sizes, ...]:
    """The first of each, the second of each, ..."""
    return tuple([dict(zip(values, row)) for row in zip(*values.values(), strict=True)])


# ---------------------------------------------------------------------- images


class Block(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)])
        self.skip = nn.Conv2d(inner, outer, 1, stride) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norms[0](self.one(x)))
        return torch.relu(self.norms[1](self.two(y)) + self.skip(x))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1)
        return self.head(torch.flatten(x, 1))


class Depthwise(nn.Module):
    """Separable convolutions, channels weighted by what is everywhere, a pool that keeps the last column."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.depth = nn.Conv2d(16, 16, 5, 1, 2, groups=16)
        self.point = nn.Conv2d(16, 32, 1)
        self.squeeze, self.excite = nn.Conv2d(32, 8, 1), nn.Conv2d(8, 32, 1)
        self.pool = nn.AvgPool2d(3, 2, 1, ceil_mode=True)
        self.norm = nn.GroupNorm(4, 32)

    def forward(self, x: Tensor) -> Tensor:
        x = F.hardswish(self.point(self.depth(self.stem(x))))
        weight = torch.sigmoid(self.excite(F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        return self.norm(self.pool(x * weight))


class UNet(nn.Module):
    """Down twice and up again, each time beside what was there before."""

    def __init__(self, transposed: bool) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)])
        self.bottom = nn.Conv2d(8, 8, 3, padding=1)
        self.ups = nn.ModuleList([nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(4, 4, 2, 2)])
        self.merge = nn.ModuleList([nn.Conv2d(16, 4, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)])
        self.transposed = transposed

    def forward(self, x: Tensor) -> Tensor:
        one = F.relu(self.down[0](x))
        two = F.relu(self.down[1](F.max_pool2d(one, 2)))
        y = F.relu(self.bottom(F.max_pool2d(two, 2)))
        for up, merge, skip in zip(self.ups, self.merge, (two, one)):
            if self.transposed:
                y = up(y)
            else:
                y = F.interpolate(y, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            y = merge(torch.cat([skip, y], 1))
        return y


class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 5, padding=2), nn.PReLU(8), nn.Conv2d(8, 27, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(self.body(x), 3) + F.interpolate(x, scale_factor=3.0, mode="nearest")


class Segmentation(nn.Module):
    """Dilated branches beside the mean of the image, scaled back to its sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 4, 1)
        self.branches = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=d, dilation=d) for d in (1, 2, 3)])
        self.head = nn.Conv2d(32, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        y = self.stem(x)
        whole = F.adaptive_avg_pool2d(y, 1).expand(-1, -1, y.shape[2], y.shape[3])
        y = self.head(torch.cat([*[branch(y) for branch in self.branches], whole], 1))
        return F.interpolate(y, (height, width), mode="bilinear", align_corners=False).argmax(1)


class Windows(nn.Module):
    """Attention inside of windows of 4 by 4 that were shifted, as in hierarchical vision transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
        self.merge = nn.Linear(64, 32)

    def forward(self, x: Tensor) -> Tensor:
        b, h, w, c = x.shape
        y = torch.roll(self.norm(x), (-2, -2), (1, 2))
        y = y.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = self.qkv(y).reshape(y.shape[0], 16, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = ((q @ k.transpose(-2, -1)) * 8**-0.5).softmax(-1) @ v
        y = self.out(y.transpose(1, 2).reshape(-1, 16, c))
        y = y.view(b, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + torch.roll(y, (2, 2), (1, 2))
        parts = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        return self.merge(torch.cat(parts, -1))


class VisionTransformer(nn.Module):
    """Patches as tokens after one that stands for the image; places are resized to the grid."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 8, 8)
        self.first = nn.Parameter(torch.randn(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 16, 4, 4))
        self.layer = EncoderLayer(16, 2)
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x)
        y = y + F.interpolate(self.places, size=y.shape[-2:], mode="bilinear", align_corners=False)
        y = torch.cat([self.first.expand(x.shape[0], -1, -1), y.flatten(2).transpose(1, 2)], 1)
        return self.head(self.layer(y)[:, 0])


class Mixer(nn.Module):
    """Tokens and channels mixed in turn; patches by reshaping."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(48, 16)
        self.norms = nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
        self.tokens = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.channels = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x: Tensor) -> Tensor:
        b = x.shape[0]
        x = x.reshape(b, 3, 4, 4, 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(b, 16, 48)
        x = self.embed(x)
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return (x + self.channels(self.norms[1](x))).mean(1)


# ---------------------------------------------------------------------- sequences


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


# ---------------------------------------------------------------------- sets, graphs, detection


class Towers(nn.Module):
    """Every pair of two sets, and the best partners."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(8, 8), nn.Linear(6, 8)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        a, b = F.normalize(self.one(x), dim=-1), F.normalize(self.other(y), dim=-1)
        distance = (a[:, :, None] - b[:, None]).pow(2).sum(-1)
        return distance.softmax(-1), distance.topk(2, -1, largest=False).indices


class Messages(nn.Module):
    """Messages along the edges of a graph, summed at their ends."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        start, end = edges[0], edges[1]
        sent = F.relu(self.message(torch.cat([nodes[start], nodes[end]], -1)))
        total = torch.zeros_like(nodes).scatter_add(0, end[:, None].expand(-1, 8), sent)
        return self.update(torch.cat([nodes, total], -1)).max(0).values


class Detector(nn.Module):
    """A score and a box for each place of an image: the best ones, and those above a threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.scores, self.boxes = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.body(x)
        h, w = y.shape[-2:]
        scores = self.scores(y).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        places = torch.stack([rows, columns, rows + 1, columns + 1], -1).reshape(-1, 4).float()
        boxes = self.boxes(y).flatten(2).transpose(1, 2) + places
        best, which = scores.amax(-1).topk(8, dim=1)
        kept = boxes.gather(1, which[..., None].expand(-1, -1, 4))
        above = (scores[..., 0] > 0.5).nonzero()
        sure = boxes[above[:, 0], above[:, 1]]
        return best, kept, above, sure, boxes[scores[..., 1] > 0.5]


SUPPRESSION = """
<ir_version: 8, opset_import: ["" : 17]>
suppression (float[batch, anchors, 4] boxes, float[batch, anchors, classes] logits)
    => (float[k, 4] kept, float[k] values, int64[k] labels)
<int64[1] most = {5}, float[1] overlap = {0.5}, float[1] threshold = {0.5}, int64[2] place = {0, 2}, int64[1] one = {1},
 int64[1] zero = {0}, int64[1] two = {2}, int64[1] three = {3}> {
    corner = Slice (boxes, zero, two, two)
    size = Slice (boxes, two, twotwo, two)
    extent = Abs (size)
    far = Add (corner, extent)
    corners = Concat <axis = 2> (corner, far)
    scores = Sigmoid (logits)
    turned = Transpose <perm = [0, 2, 1]> (scores)
    found = NonMaxSuppression (corners, turned, most, overlap, threshold)
    where = Gather <axis = 1> (found, place)
    kept = GatherND (corners, where)
    values = GatherND (turned, found)
    column = Slice (found, one, two, one)
    labels = Squeeze (column, one)
}
""".replace("twotwo", "four").replace("int64[1] three = {3}", "int64[1] four = {4}")

IMAGES = {"x": Input(("batch", 3, "height", "width"))}
TEXT = {"ids": Input(("batch", "tokens"), 30)}
BATCHES, TOKENS = (2, 1, 3, 5, 4), (7, 12, 5, 31, 18)

NETWORKS: dict[str, Network] = {
    "residual": Network(
        Residual, IMAGES, grid(batch=BATCHES, height=(64, 33, 40, 57, 96), width=(64, 47, 65, 32, 50))
    ),
    "depthwise": Network(
        Depthwise, IMAGES, grid(batch=BATCHES, height=(32, 17, 21, 40, 63), width=(32, 29, 16, 35, 50))
    ),
    "unet, transposed": Network(
        lambda: UNet(True),
        {"x": Input(("batch", 1, "height", "width"))},
        grid(batch=BATCHES, height=(32, 16, 20, 4, 64), width=(32, 40, 24, 8, 12)),
    ),
    "unet, resized": Network(
        lambda: UNet(False),
        {"x": Input(("batch", 1, "height", "width"))},
        grid(batch=BATCHES, height=(32, 17, 21, 5, 63), width=(32, 41, 26, 9, 13)),
    ),
    "super-resolution": Network(
        SuperResolution, IMAGES, grid(batch=BATCHES, height=(16, 7, 9, 12, 1), width=(16, 11, 3, 8, 20))
    ),
    "segmentation": Network(
        Segmentation, IMAGES, grid(batch=BATCHES, height=(32, 17, 21, 40, 63), width=(32, 29, 16, 35, 50))
    ),
    "shifted windows": Network(
        Windows,
        {"x": Input(("batch", "height", "width", 16))},
        grid(batch=BATCHES, height=(8, 4, 12, 16, 20), width=(8, 12, 4, 24, 8)),
    ),
    "vision transformer": Network(
        VisionTransformer, IMAGES, grid(batch=BATCHES, height=(32, 24, 40, 17, 64), width=(32, 47, 16, 33, 8))
    ),
    "mixer": Network(Mixer, {"x": Input(("batch", 3, 16, 16))}, grid(batch=(2, 1, 3, 7, 16))),
    "encoder": Network(Encoder, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "decoder": Network(Decoder, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "cached decoder": Network(
        CachedDecoder,
        {
            "ids": Input(("batch", "new"), 50),
            "keys": Input(("batch", 2, "past", 8)),
            "values": Input(("batch", 2, "past", 8)),
        },
        grid(batch=BATCHES, new=(3, 1, 2, 1, 6), past=(4, 9, 1, 30, 12)),
    ),
    "translation": Network(
        Translation,
        {"source": Input(("batch", "words"), 50), "target": Input(("batch", "made"), 50)},
        grid(batch=BATCHES, words=TOKENS, made=(4, 3, 9, 1, 20)),
    ),
    "text convolution": Network(TextConvolution, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "waves": Network(Waves, {"x": Input(("batch", "samples"))}, grid(batch=BATCHES, samples=(64, 50, 33, 101, 80))),
    "tagger": Network(Tagger, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "towers": Network(
        Towers,
        {"x": Input(("batch", "ours", 8)), "y": Input(("batch", "theirs", 6))},
        grid(batch=BATCHES, ours=(3, 5, 2, 8, 1), theirs=(4, 2, 9, 3, 6)),
    ),
    "messages": Network(
        Messages,
        {"nodes": Input(("nodes", 8)), "edges": Input((2, "edges"), 5)},
        grid(nodes=(5, 8, 6, 20, 11), edges=(7, 1, 30, 12, 5)),
    ),
    "detector": Network(
        Detector, IMAGES, grid(batch=BATCHES, height=(32, 17, 21, 40, 63), width=(32, 29, 16, 35, 50))
    ),
    "suppression": Network(
        lambda: SUPPRESSION,
        {"boxes": Input(("batch", "anchors", 4)), "logits": Input(("batch", "anchors", "classes"))},
        grid(batch=BATCHES, anchors=(20, 7, 40, 3, 15), classes=(2, 3, 1, 4, 5)),
    ),
}


def exported() -> Iterator[tuple[str, Network, onnx.ModelProto]]:
    """Every network with its model."""
    for name, network in NETWORKS.items():
        yield name, network, network.export()
