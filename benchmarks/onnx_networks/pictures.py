"""Networks of images, volumes and points: dense, pyramids, generators, recurrent gates over channels."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Dense(nn.Module):
    """Each layer sees the outputs of all before it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3 + 8 * i, 8, 3, padding=1) for i in range(4)])
        self.transition = nn.Sequential(nn.Conv2d(35, 16, 1), nn.AvgPool2d(2, 2))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, F.relu(layer(x))], 1)
        return self.transition(x)


class Inception(nn.Module):
    """Branches with other kernels, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 5, stride=2)
        self.branches = nn.ModuleList([nn.Conv2d(8, 4, k, padding=k // 2) for k in (1, 3, 5)])

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.stem(x))
        pooled = F.max_pool2d(x, 3, stride=1, padding=1)
        return torch.cat([*[branch(x) for branch in self.branches], pooled], 1).mean((2, 3))


class SqueezeExcite(nn.Module):
    """Channels weighted by what all places say."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down, self.up = nn.Conv2d(3, 16, 3, stride=2), nn.Linear(16, 4), nn.Linear(4, 16)

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.first(x))
        weight = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3))))))
        return x * weight.view(x.size(0), x.size(1), 1, 1)


class Autoencoder(nn.Module):
    """Down to a code, and up by transposed convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 4, 2, 1))
        self.up = nn.Sequential(nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = self.down(x)
        return self.up(code), code.flatten(1)


class ConvNext(nn.Module):
    """Large kernels of each channel, and layer norms with channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 8, 4, 4), nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.wide, self.narrow = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + self.narrow(F.gelu(self.wide(y))).permute(0, 3, 1, 2)


class Pyramid(nn.Module):
    """Coarse maps brought to the size of the finer ones and added."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3 if i == 0 else 8, 8, 3, stride=2, padding=1) for i in range(3)])
        self.lateral = nn.ModuleList([nn.Conv2d(8, 6, 1) for _ in range(3)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        maps = []
        for layer in self.down:
            x = F.relu(layer(x))
            maps.append(x)
        third = self.lateral[2](maps[2])
        second = self.lateral[1](maps[1]) + F.interpolate(third, size=maps[1].shape[-2:], mode="nearest")
        first = self.lateral[0](maps[0]) + F.interpolate(second, size=maps[0].shape[-2:], mode="nearest")
        return first, second, third


class Generator(nn.Module):
    """Noise to an image."""

    def __init__(self) -> None:
        super().__init__()
        self.seed = nn.Linear(12, 8 * 4 * 4)
        self.up = nn.ModuleList([nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ConvTranspose2d(8, 3, 4, 2, 1)])

    def forward(self, noise: Tensor) -> Tensor:
        x = self.seed(noise).view(-1, 8, 4, 4)
        return torch.tanh(self.up[1](F.relu(self.up[0](x))))


class Volume(nn.Module):
    """Frames, rows and columns together."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Conv3d(3, 6, 3, padding=1), nn.Conv3d(6, 8, (1, 3, 3), stride=(1, 2, 2))
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool3d(F.relu(self.one(x)), (2, 1, 1))
        return self.head(F.relu(self.other(x)).mean((3, 4)).transpose(1, 2))


class Style(nn.Module):
    """Padding by reflection, and norms of each image."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 9), nn.InstanceNorm2d(8, affine=True)
        self.down, self.last = nn.Conv2d(8, 8, 3, stride=2), nn.Conv2d(8, 3, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.first(F.pad(x, (4, 4, 4, 4), mode="reflect"))))
        x = F.interpolate(F.relu(self.down(x)), scale_factor=2.0, mode="nearest")
        return self.last(F.pad(x, (1, 1, 1, 1), mode="reflect"))


class Points(nn.Module):
    """A cloud of points: each alone, then all together."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.head = nn.Sequential(nn.Conv1d(3, 16, 1), nn.ReLU(), nn.Conv1d(16, 16, 1)), nn.Linear(32, 4)

    def forward(self, points: Tensor) -> Tensor:
        x = self.each(points.transpose(1, 2))
        whole = x.max(2, keepdim=True).values.expand(-1, -1, x.size(2))
        return self.head(torch.cat([x, whole], 1).transpose(1, 2))


class Neighbours(nn.Module):
    """Edges to the nearest points."""

    def __init__(self) -> None:
        super().__init__()
        self.edge = nn.Linear(6, 8)

    def forward(self, points: Tensor) -> Tensor:
        distance = (points[:, :, None] - points[:, None]).pow(2).sum(-1)
        nearest = distance.topk(2, -1, largest=False).indices
        flat = nearest.view(points.size(0), -1, 1).expand(-1, -1, 3)
        near = points.gather(1, flat).view(points.size(0), points.size(1), 2, 3)
        here = points[:, :, None].expand(-1, -1, 2, -1)
        return F.relu(self.edge(torch.cat([here, near - here], -1))).amax(2)
