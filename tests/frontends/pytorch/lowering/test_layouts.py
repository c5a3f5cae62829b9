"""Operators whose results kernels overwrite: results are fresh memory, and most layouts are predicted."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from benchmarks.operators.programs import NotDifferentiable, Program, copied, database, programs, resampled
from benchmarks.operators.resizing import scaled
from frontends.pytorch import trace
from frontends.pytorch.lowering.layouts import FRESH, SURE
from frontends.pytorch.symbolic.tensor import Result
from tests.backends.evaluation import significant

aten: Final = torch.ops.aten
SAMPLES: Final = 3
SIZES: Final = 2
"""The number of other sizes at which each sample is run."""
BACKWARD: Final = aten.embedding_dense_backward.default
WITHOUT_GRADIENT: Final = frozenset([aten.argmax.default, aten.argmin.default])


class Watched(TorchDispatchMode):
    """Looks at what each of these operators gives, eagerly.

    Attributes:
        calls: for each operator, calls of different kinds: the arguments, how they nest, and the strides that came out.
        shared: calls that gave memory of an argument, or the same memory twice.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: Final[dict[object, dict[str, tuple[object, ...]]]] = {target: {} for target in SURE | FRESH}
        self.shared: list[str] = []
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **kwargs or {})
        if func in self.calls:
            self.count += 1
            self._look(func, args, kwargs or {}, tree_flatten(output)[0])
        return output

    def _look(self, func, args, kwargs, results) -> None:
        leaves, structure = tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if any(tensor.layout is not torch.strided for tensor in tensors):
            return
        kind = str([described(leaf) for leaf in leaves])
        held = {tensor.untyped_storage()._cdata for tensor in tensors}
        made = [result.untyped_storage()._cdata for result in results if result is not None]
        if not held.isdisjoint(made) or len({*made}) < len(made):
            self.shared.append(f"{func} of {kind}")
        held = [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        laid = [(each.shape, each.stride()) for each in results if each is not None]
        self.calls[func].setdefault(kind, (held, structure, laid))


def described(leaf: object) -> object:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    return tuple(leaf.shape), leaf.stride(), leaf.dtype


def foreseen(func, leaves: Sequence[object], structure: TreeSpec) -> Iterator[tuple[int, ...]]:
    """The strides of what an operator gives, as a trace of it has them."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def program(*given: torch.Tensor) -> object:
        each = iter(given)
        args, kwargs = tree_unflatten(
            [next(each) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], structure
        )
        return func(*args, **kwargs)

    variant = trace(program, tensors, dynamic=False)
    for output in variant.outputs:
        assert isinstance(output, Result) and output.metadata is not None
        yield tuple(map(int, output.metadata.strides))


def runs(program: Program) -> Iterator[list[torch.Tensor]]:
    """The tensors of a sample, and others of other sizes."""
    tensors = copied(program.tensors)
    yield copied(tensors)
    generator = torch.Generator().manual_seed(0)
    sizes = tuple([tuple(tensor.shape) for tensor in tensors])
    for place, changed in enumerate(scaled(sizes)):
        if place == SIZES:
            break
        yield [resampled(tensor, size, 1, generator) for tensor, size in zip(tensors, changed)]


def watch(name: str, watched: Watched, *, backward: bool) -> None:
    """Run the samples of an operator, further ones and other sizes only where the first calls what is looked at."""
    before = watched.count
    for program in programs(name, SAMPLES, backward=backward):
        if any(tensor.layout is not torch.strided for tensor in program.tensors):
            return
        for tensors in runs(program):
            try:
                with watched:
                    program(*tensors)
            except NotDifferentiable:
                return
            except Exception:
                continue
            if watched.count == before:
                return


NAMES: Final = (
    *("mm", "bmm", "addmm", "baddbmm", "matmul", "einsum", "tensordot", "nn.functional.linear", "argmax", "argmin"),
    *("cumsum", "index_select", "gather", "take_along_dim", "nn.functional.embedding", "nn.functional.cross_entropy"),
    *("nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv_transpose2d", "nn.functional.max_pool2d"),
    *("nn.functional.avg_pool2d", "nn.functional.adaptive_avg_pool2d", "sort", "topk"),
)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_samples_of_torch(backward: bool) -> None:
    """No kernel overwrites memory of another tensor, and all results have the predicted strides. All operators that
    torch has samples for take ten minutes: LAYOUTS_OF_ALL=1."""
    watched = Watched()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in database() if os.environ.get("LAYOUTS_OF_ALL") else NAMES:
            watch(name, watched, backward=backward)
    assert not watched.shared
    seen = {target for target, calls in watched.calls.items() if calls}
    assert seen >= SURE - (WITHOUT_GRADIENT if backward else {BACKWARD})
    assert_foreseen(watched)


Made = Callable[..., torch.Tensor]
CALLS: Final[dict[object, Callable[[Made, int, int, int], tuple[object, ...]]]] = {
    aten.mm.default: lambda made, a, b, c: (made(a, b), made(b, c)),
    aten.bmm.default: lambda made, a, b, c: (made(3, a, b), made(3, b, c)),
    aten.addmm.default: lambda made, a, b, c: (made(a, c), made(a, b), made(b, c)),
    aten.baddbmm.default: lambda made, a, b, c: (made(3, a, c), made(3, a, b), made(3, b, c)),
    aten.argmax.default: lambda made, a, b, c: (made(a, b, max(c, 1)), -1, True),
    aten.argmin.default: lambda made, a, b, c: (made(max(a, 1), b, c), 0),
    aten.cumsum.default: lambda made, a, b, c: (made(a, b, c), 1),
    aten.index_select.default: lambda made, a, b, c: (made(a, b + 1, c), 1, places(3)),
    aten.embedding.default: lambda made, a, b, c: (made(a + 1, c), places(b, 2)),
    aten.embedding_dense_backward.default: lambda made, a, b, c: (made(b, 2, c), places(b, 2), a + 1, -1, False),
    aten.nll_loss_forward.default: lambda made, a, b, c: (made(a, b + 1), places(a), None, 0, -100),
    aten.gather.default: lambda made, a, b, c: (made(a, b + 1, c), 1, places(a, 2, c)),
}


def places(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes, dtype=torch.int64)


LAYOUTS: Final[dict[str, Made]] = {
    "packed": torch.randn,
    "turned": lambda *sizes: torch.randn(sizes).mT.contiguous().mT,
    "gaps": lambda *sizes: torch.randn([2 * size for size in sizes])[tuple([slice(size) for size in sizes])],
    "repeated": lambda *sizes: torch.randn(sizes[-1]).expand(sizes),
    "one number": lambda *sizes: torch.randn(()).expand(sizes),
    "double": lambda *sizes: torch.randn(sizes, dtype=torch.float64),
    "half": lambda *sizes: torch.randn(sizes).bfloat16().mT.contiguous().mT,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", sorted(SURE, key=str), ids=str)
def test_arguments_that_lie_otherwise(target: torch._ops.OpOverload, layout: str) -> None:
    """Results have the predicted strides for inputs of unusual strides and sizes."""
    watched = Watched()
    for sizes in ((2, 3, 5), (1, 1, 1), (4, 1, 3), (3, 4, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0)):
        args = CALLS[target](LAYOUTS[layout], *sizes)
        with watched:
            target(*args)
    assert not watched.shared
    assert_foreseen(watched)


IMAGES: Final[dict[object, Callable[..., torch.Tensor]]] = {
    aten.convolution.default: lambda x, k: functional.conv2d(x, k(4, x.shape[1], 3, 3), k(4), padding=1),
    aten.max_pool2d_with_indices.default: lambda x, k: functional.max_pool2d(x, 3, 1, 1),
    aten.avg_pool2d.default: lambda x, k: functional.avg_pool2d(x, 1),
    aten._adaptive_avg_pool2d.default: lambda x, k: functional.adaptive_avg_pool2d(x, x.shape[2:]),
    aten.upsample_nearest2d.default: lambda x, k: functional.interpolate(x, x.shape[2:]),
    aten.upsample_bilinear2d.default: lambda x, k: functional.interpolate(x, x.shape[2:], mode="bilinear"),
    aten.upsample_bicubic2d.default: lambda x, k: functional.interpolate(x, x.shape[2:], mode="bicubic"),
    aten.sort.default: lambda x, k: x.sort(1)[0],
    aten.topk.default: lambda x, k: x.topk(x.shape[1], 1)[0],
}
"""Calls that could give what they are given: of windows of one element, of as many elements as there are."""


@pytest.mark.parametrize("target", IMAGES, ids=str)
def test_what_is_made_of_an_image_is_fresh(target: torch._ops.OpOverload) -> None:
    """Results of operators on images are fresh memory, forward and backward."""
    watched = Watched()
    for sizes in ((2, 3, 4, 5), (1, 1, 1, 1), (1, 3, 1, 1), (2, 1, 4, 4), (2, 3, 1, 5), (0, 3, 4, 4)):
        for channels_last, frozen in product([False, True], repeat=2):
            form = torch.channels_last if channels_last else torch.contiguous_format
            x = torch.randn(sizes).contiguous(memory_format=form).requires_grad_()

            def weight(*sizes: int, needed: bool = not frozen) -> torch.Tensor:
                return torch.randn(sizes, requires_grad=needed)

            with watched:
                made = IMAGES[target](x, weight)
                made.backward(torch.randn(made.shape).contiguous(memory_format=form))
    assert not watched.shared
    backward = [each for each in FRESH if each.name().startswith(f"{target.name()}_backward")]
    assert watched.calls[target] and all(watched.calls[each] for each in backward)


def test_images_are_all_that_is_fresh() -> None:
    """Every operator listed as returning fresh memory has a test."""
    assert {each for each in FRESH if not each.name().endswith("_backward")} == IMAGES.keys()


def assert_foreseen(watched: Watched) -> None:
    for target in SURE:
        for kind, (leaves, structure, results) in watched.calls[target].items():
            for (sizes, strides), expected in zip(results, foreseen(target, leaves, structure), strict=True):
                assert significant(sizes, strides) == significant(sizes, expected), (target, kind, strides, expected)
