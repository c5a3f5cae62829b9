"""A network of the benchmarks: its constructor, its inputs, the sizes it runs at."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.parser
import torch
from torch import nn

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
