"""Networks of images."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.onnx_networks.sequences import EncoderLayer


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
