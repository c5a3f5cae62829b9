"""Vision models, of `transformers` and handwritten: batch, height and width dynamic."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.models.language import EAGER, LONGEST, NO_DROPOUT, TOKENS, VOCABULARY, made, tokens
from benchmarks.models.model import Model

IMAGES: Final = ((2, 8), (3, 9), (1, 8), (2, 12), (1, 5), (7, 6), (4, 10), (5, 7), (2, 3), (1, 4))
"""Batches and sides, in patches."""


class Block(nn.Module):
    """Two convolutions and what goes past them."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        same = stride == 1 and before == after
        self.past = None if same else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return torch.relu(y + (x if self.past is None else self.past(x)))


class ResNet(nn.Module):
    """A stem, two blocks and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2))
        self.classes = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        pooled = functional.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1)
        return self.classes(torch.flatten(pooled, 1)).pow(2).mean()


def two_convolutions(before: int, after: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1), nn.ReLU(),
    )  # fmt: skip


class UNet(nn.Module):
    """Down twice and up again, to sizes that need not be even."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([two_convolutions(3, 8), two_convolutions(8, 16), two_convolutions(16, 32)])
        self.up = nn.ModuleList([two_convolutions(48, 16), two_convolutions(24, 8)])
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        outer = self.down[0](x)
        middle = self.down[1](functional.max_pool2d(outer, 2))
        inner = self.down[2](functional.max_pool2d(middle, 2))
        grown = functional.interpolate(inner, size=middle.shape[-2:], mode="bilinear", align_corners=False)
        grown = self.up[0](torch.cat([grown, middle], 1))
        grown = functional.interpolate(grown, size=outer.shape[-2:], mode="nearest")
        return self.last(self.up[1](torch.cat([grown, outer], 1))).sigmoid().mean()


def images(side: int, name: str = "pixel_values", more: int = 0):
    """Images with this many patches a side, `more` pixels wider than high."""

    def inputs(batch: int, patches: int) -> dict[str, Tensor]:
        return {name: torch.randn(batch, 3, patches * side, patches * side + more)}

    return inputs


def interpolated(batch: int, patches: int) -> dict[str, object]:
    return {
        **images(8)(batch, patches), "interpolate_pos_encoding": True, "labels": torch.randint(0, 2, (batch,)),
    }  # fmt: skip


def pictures_and_words(batch: int, length: int) -> dict[str, Tensor]:
    return {"input_ids": tokens(batch, length), "pixel_values": torch.randn(batch, 3, 32, 32), "return_loss": True}


TRANSFORMER: Final = {
    "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 32,
    "patch_size": 8, **NO_DROPOUT, **EAGER,
}  # fmt: skip
TOWER: Final = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}

LABELS: Final = "single_label_classification"
"""The problem type that the models would infer at their first call, and write into their configurations."""

MODELS: Final = (
    Model(
        "vit",
        made("ViT", "ForImageClassification", problem_type=LABELS, **TRANSFORMER),
        interpolated,
        IMAGES,
        ("modeling_vit.py",),
    ),
    Model(
        "deit",
        made("DeiT", "ForImageClassification", problem_type=LABELS, **TRANSFORMER),
        interpolated,
        IMAGES,
        ("modeling_deit.py",),
    ),
    Model(
        "swin",
        made("Swin", "Model", image_size=32, patch_size=2, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4,
             drop_path_rate=0.0, **NO_DROPOUT),
        images(4),
        IMAGES,
        ("modeling_swin.py",),
    ),
    Model(
        "convnext",
        made("ConvNext", "Model", hidden_sizes=[16, 32], depths=[1, 1], num_stages=2, patch_size=4, drop_path_rate=0.0),
        images(8, more=4),
        IMAGES,
    ),
    Model(
        "clip",
        made(
            "CLIP", "Model", projection_dim=32,
            text_config={**TOWER, **TOKENS, "vocab_size": VOCABULARY, "max_position_embeddings": LONGEST},
            vision_config={**TOWER, "image_size": 32, "patch_size": 8}, **EAGER,
        ),
        pictures_and_words,
    ),
    Model("resnet", ResNet, images(4, "x"), IMAGES),
    Model("unet", UNet, images(3, "x", more=1), IMAGES),
)  # fmt: skip
