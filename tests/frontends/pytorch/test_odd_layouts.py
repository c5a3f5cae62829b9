"""Results have eager torch's strides, for any layout of the arguments, any sizes, by either backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final

import pytest
import torch
from torch.nn import functional

from backends import cpu, eager
from benchmarks.operators.programs import database
from frontends.pytorch import compile
from tests.frontends.pytorch.odd_layouts import ARRANGEMENTS, Arranged, Found, differences, search


def image(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0))


def bits(*sizes: int) -> torch.Tensor:
    return image(*sizes) > 0


WEIGHT: Final = image(4, 6, 3)
CALLS: Final[dict[str, tuple[Callable[..., object], tuple[torch.Tensor, ...]]]] = {
    "batch norm with update": (
        lambda x, w: torch.ops.aten._batch_norm_with_update(x, w, w, torch.zeros(6), torch.ones(6), 0.1, 1e-5)[0],
        (image(5, 6, 7), image(6)),
    ),
    "batch norm of volumes": (lambda x: functional.batch_norm(x, None, None, training=True), (image(2, 6, 3, 4, 5),)),
    "select_scatter": (lambda x, y: torch.select_scatter(x, y, 0, 1), (image(4, 5, 6), image(5, 6))),
    "slice_scatter": (lambda x, y: torch.slice_scatter(x, y, 1, 0, 5), (image(4, 5, 6), image(4, 5, 6))),
    "diagonal_scatter": (torch.diagonal_scatter, (image(5, 5), image(5))),
    "as_strided_scatter": (lambda x, y: torch.as_strided_scatter(x, y, (3,), (1,)), (image(4, 5), image(3))),
    "dropout's gradient": (
        lambda x, y: torch.ops.aten.native_dropout_backward(x, y, 2.0),
        (image(4, 5, 6), bits(4, 5, 6)),
    ),
    "index_fill": (lambda x: x.index_fill(0, torch.tensor([0, 1]), 2.0), (image(2, 3, 4, 5),)),
    "index_fill by a tensor": (lambda x, y: x.index_fill(1, torch.tensor([1]), y), (image(2, 3, 4, 5), image())),
    "floor_divide": (lambda x, y: x // y, (image(4, 5), image())),
    "floor_divide of two dtypes": (lambda x, y: x.int() // (y.abs() + 1), (image(3, 4, 5), image(2, 3, 4, 5))),
    "logical_or": (torch.logical_or, (image(3, 4, 5), image(2, 3, 4, 5))),
    "copysign": (torch.copysign, (image(1, 3, 4, 1), image())),
    "logsigmoid": (functional.logsigmoid, (image(2, 3, 4, 5),)),
    "leaky_relu's gradient": (
        lambda x, y: torch.ops.aten.leaky_relu_backward(x.permute(2, 1, 0), y, 0.1, False),
        (image(6, 5, 4), image(4, 5, 6)),
    ),
    "quotient of integers": (lambda x, y: (x > 0).int()[:, :1].expand(4, 5, 6) / (y > 9).int(), (image(4, 5, 6),) * 2),
    "a choice of numbers": (
        lambda m: torch.where(m, torch.ones(()), torch.tensor(2.0)),
        (bits(1, 4, 5).expand(3, 4, 5),),
    ),
    "mvlgamma": (lambda x: x.mvlgamma(3), (image(4, 5).abs() + 2,)),
    "masked_fill": (lambda x, m: x.masked_fill(m, 1.0), (image(4, 5), image() > 0)),
    "channel_shuffle": (lambda x: functional.channel_shuffle(x, 2), (image(3, 6, 4, 5),)),
    "conv1d": (lambda x, w: functional.conv1d(x, w), (image(2, 6, 8), WEIGHT)),
    "conv1d of one": (lambda x, w: functional.conv1d(x, w), (image(6, 8), WEIGHT)),
    "conv2d of one": (lambda x, w: functional.conv2d(x, w), (image(3, 7, 8), image(4, 3, 2, 2))),
    "conv_transpose1d": (lambda x, w: functional.conv_transpose1d(x, w), (image(2, 4, 8), WEIGHT)),
    "nearest of rows": (lambda x: functional.interpolate(x, size=9), (image(2, 3, 4),)),
    "nearest of volumes": (lambda x: functional.interpolate(x, size=(5, 6, 7)), (image(2, 3, 4, 3, 5),)),
    "nearest exact": (lambda x: functional.interpolate(x, size=9, mode="nearest-exact"), (image(2, 3, 4),)),
    "max_pool1d": (lambda x: functional.max_pool1d(x, 2), (image(3, 4, 8),)),
    "max_unpool2d": (
        lambda x: functional.max_unpool2d(x, torch.zeros_like(x, dtype=torch.int64), 2),
        (image(2, 3, 4, 5),),
    ),
    "pad of volumes": (lambda x: functional.pad(x, (1,) * 6, mode="replicate"), (image(2, 3, 4, 3, 5),)),
    "power of a number": (lambda x: 2**x, (image(4, 5, 6),)),
    "normal": (lambda x, y: torch.normal(x, y.abs()), (image(4, 5, 6), image(4, 5, 6))),
    "svd": (lambda x: torch.linalg.svd(x, full_matrices=False).Vh.abs(), (image(3, 5),)),
    "xlog1py": (torch.special.xlog1py, (image(4, 6, 5).abs(), image(6, 5).abs())),
    "nll_loss of images": (
        lambda x, y: functional.nll_loss(x, y.long(), reduction="none"),
        (image(4, 3, 2, 5), bits(4, 2, 5)),
    ),
    "cropped": (lambda x: functional.pad(x, (-1, 0, 0, -1)), (image(4, 5, 6),)),
    "sum of two": (torch.add, (image(4, 5, 6), image(4, 5, 6))),
}
LEARNED: Final[dict[str, tuple[Callable[..., object], tuple[torch.Tensor, ...]]]] = {
    "batch norm": (lambda x: functional.batch_norm(x, None, None, training=True).square(), (image(5, 6, 7),)),
    "batch norm of images": (
        lambda x, w: functional.batch_norm(x, torch.zeros(6), torch.ones(6), w, w, training=True),
        (image(2, 6, 4, 5), image(6)),
    ),
    "layer norm": (lambda x, w: functional.layer_norm(x, (6,), w, w * 2), (image(4, 5, 6), image(6))),
    "group norm": (lambda x, w: functional.group_norm(x, 2, w, w * 2), (image(2, 6, 4, 5), image(6))),
    "max_pool2d": (lambda x: functional.max_pool2d(x, 3, 2, 1), (image(2, 3, 6, 7),)),
    "conv2d": (functional.conv2d, (image(2, 6, 7, 8), image(4, 6, 3, 3))),
    "adaptive pool": (lambda x: functional.adaptive_avg_pool2d(x, 2), (image(2, 3, 4, 5),)),
    "bilinear": (lambda x: functional.interpolate(x, size=(5, 7), mode="bilinear").exp(), (image(2, 3, 4, 5),)),
    "nearest": (lambda x: functional.interpolate(x, size=(5, 7)).exp(), (image(2, 3, 4, 5),)),
    "joined": (lambda x, y: torch.cat([x, y], 1), (image(4, 5, 6), image(4, 2, 6))),
    "stacked": (lambda x, y: torch.stack([x, y], 1), (image(4, 5, 6), image(4, 5, 6))),
    "padded": (lambda x: functional.pad(x, (1, 2, 0, 3)), (image(2, 3, 4, 5),)),
    "slice": (lambda x: x[:, 1:], (image(4, 5, 6),)),
    "bmm": (torch.bmm, (image(3, 4, 5), image(3, 5, 6))),
    "addmm": (torch.addmm, (image(4, 6), image(4, 5), image(5, 6))),
    "log_softmax": (lambda x: x.log_softmax(-1), (image(4, 5, 6),)),
    "where": (lambda x, y: torch.where(x > 0, x, y), (image(4, 5, 6), image(5, 6))),
    "silu": (functional.silu, (image(4, 5, 6),)),
    "logsigmoid": (functional.logsigmoid, (image(4, 5, 6),)),
    "nll_loss": (lambda x, y: functional.nll_loss(x, y.long(), reduction="none"), (image(4, 3), bits(4))),
    "mse_loss": (lambda x, y: functional.mse_loss(x, y, reduction="none"), (image(4, 5), image(4, 5))),
    "huber_loss": (lambda x, y: functional.huber_loss(x, y, reduction="none"), (image(4, 5), image(4, 5))),
    "max": (lambda x: x.max(), (image(4, 5, 6),)),
    "median": (lambda x: x.median(), (image(4, 5, 6),)),
    "masked_select": (lambda x, y: x.masked_select(y), (image(4, 5, 6), bits(4, 5, 6))),
    "conv1d": (lambda x, w: functional.conv1d(x, w), (image(2, 6, 8), WEIGHT)),
    "pad": (lambda x: functional.pad(x, (1, 1, 1, 1), mode="replicate"), (image(2, 3, 4, 5),)),
}


class Written:
    """A row of the tables as a program; of one that learns, the gradients are looked at as well."""

    def __init__(self, function: Callable[..., object], tensors: tuple[torch.Tensor, ...], *, backward: bool) -> None:
        self.function, self.backward = function, backward
        self.tensors = [each.detach().requires_grad_(backward and each.is_floating_point()) for each in tensors]

    def __call__(self, *tensors: torch.Tensor) -> object:
        output = self.function(*tensors)
        if not self.backward:
            return output
        wanted = [tensor for tensor in tensors if tensor.requires_grad]
        return output, torch.autograd.grad(output.sum(), wanted)


UNLIKE: Final = {
    "masked.median": "eager reads memory that nobody wrote",
    "nn.functional.embedding_bag": "eager reads memory of others where indices are too large",
    "cov": "eager spoils an argument",
    "linalg.cond": "repeated rows are a matrix that is singular",
    "native_group_norm": "numbers that are all the same deviate by a rounding",
    "nn.functional.multi_margin_loss": "without rows, eager gives what is in memory",
    "nn.functional.multilabel_margin_loss": "without rows, eager gives what is in memory",
    "nn.functional.conv3d": "which kernel runs depends on sizes and on the machine",
    "nn.functional.conv_transpose3d": "which kernel runs depends on sizes and on the machine",
    "fft.hfftn": "open: once, after other tests, values lacked the conjugate; see `pytest_runtest_teardown`",
}
"""Operators that are not deterministic in eager, or whose strides only its kernels know, and unsolved ones."""
GRADIENTS: Final = (
    *("_native_batch_norm_legit", "native_batch_norm", "_batch_norm_with_update", "nn.functional.batch_norm"),
    *("nn.functional.instance_norm", "as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter"),
    *("native_dropout_backward", "nn.functional.channel_shuffle", "nn.functional.conv1d", "nn.functional.conv2d"),
    *("nn.functional.conv_transpose1d", "nn.functional.conv_transpose2d", "nn.functional.max_unpool2d", "normal"),
    *("svd_lowrank", "linalg.svd", "logaddexp2", "__rpow__", "nn.functional.mse_loss", "nn.functional.huber_loss"),
    *("nn.functional.smooth_l1_loss", "nn.functional.pad.replicate", "nn.functional.pad.replicate_negative"),
    *("nn.functional.pad.reflect", "nn.functional.max_pool1d", "nn.functional.interpolate.nearest"),
    *("nn.functional.interpolate.linear", "nn.functional.upsample_nearest", "max.reduction_no_dim"),
    *("min.reduction_no_dim", "median", "nanmedian", "masked_select", "max.reduction_with_dim"),
)
"""Operators whose gradients have eager's strides. Some others differ: `linalg.lstsq` and Householder products, whose
formula is ours; `block_diag`; and Fourier transforms, whose strides depend on the FFT library."""
PARTS: Final = 12


def looked_at(row: tuple[Callable[..., object], tuple[torch.Tensor, ...]], *, backward: bool, backend=eager) -> Found:
    found = Found()
    for word, arrangement in ARRANGEMENTS.items():
        arranged = Arranged(Written(*row, backward=backward), arrangement)
        if arranged.is_odd:
            found.differences += [
                f"{word}: {each}" for each in differences(arranged, arranged.tensors, found, others=1, backend=backend)
            ]
    return found


@pytest.mark.parametrize("name", CALLS)
def test_results(name: str) -> None:
    """Fails when a result has other strides than eager's, or than in the trace."""
    found = looked_at(CALLS[name], backward=False)
    assert not found.differences
    assert found.runs >= 4


@pytest.mark.parametrize("name", LEARNED)
def test_gradients(name: str) -> None:
    """Fails when that is so of a gradient."""
    found = looked_at(LEARNED[name], backward=True)
    assert not found.differences
    assert found.runs >= 4


@pytest.mark.parametrize("name", ["as_strided_scatter", "batch norm with update", "channel_shuffle", "nearest of rows"])
def test_results_of_kernels(name: str) -> None:
    """Fails when results of kernels have other strides."""
    found = looked_at(CALLS[name], backward=False, backend=cpu)
    assert not found.differences
    assert found.runs >= 4


def test_an_infinite_gradient_of_a_maximum() -> None:
    """Fails when what is no maximum has a gradient that is not a number."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(x.max() * torch.inf, x)[0]

    x = torch.tensor([1.0, 3.0, 2.0, 3.0], requires_grad=True)
    assert compile(program, fullgraph=True)(x).tolist() == program(x).tolist() == [0.0, torch.inf, 0.0, torch.inf]


COMMON: Final = (
    *("all", "amax", "any", "argmax", "clone", "cumprod", "cumsum", "expand", "flip", "triu"),
    *("full_like", "gather", "index_select", "logsumexp", "max.reduction_no_dim", "max.reduction_with_dim", "mean"),
    *("mm", "mv", "new_full", "new_zeros", "nn.functional.dropout", "nn.functional.embedding", "nn.functional.gelu"),
    *("nn.functional.max_pool2d", "ones_like", "permute", "prod", "repeat", "reshape", "select", "split"),
    *("sum", "t", "tanh", "transpose", "unbind", "unsqueeze", "view", "fft.fftn", "fft.rfft2"),
    *("fft.irfft", "fft.hfft", "var", "zeros_like"),
)
"""Operators with rules of their own, of each family; `make thorough` looks at all that torch has samples of."""
COMMON_GRADIENTS: Final = ("mm", "softmax", "sum", "tanh", "unsqueeze")


@pytest.mark.parametrize(
    ("name", "backward"), [*[(name, False) for name in COMMON], *[(name, True) for name in COMMON_GRADIENTS]]
)
@pytest.mark.filterwarnings("ignore")
def test_common_operators(name: str, backward: bool) -> None:
    """Fails when a rule foresees other sizes, strides or dtypes than the operator gives, at some size."""
    found = Found()
    search(name, found, backward=backward)
    assert not found.differences
    assert found.runs


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(0, PARTS, 4))
def test_all_operators_that_torch_has_samples_of(part: int) -> None:
    """Operators have eager torch's strides: a fourth of them, as each layout is captured anew."""
    found = Found()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(database())[part::PARTS]:
            if name not in UNLIKE:
                search(name, found)
        for name in GRADIENTS[part::PARTS]:
            search(name, found, backward=True)
    assert not found.differences
    assert found.runs
