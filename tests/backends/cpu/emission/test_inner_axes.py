"""Several inner axes: one loop in the passes in which memory goes on evenly, and sums that keep their digits."""

import pytest
import torch

from backends.cpu.emission import kernel_source
from backends.loops.affine import is_one
from frontends.pytorch import compile


def group_norm(x, weight, bias):
    return torch.nn.functional.group_norm(x, 4, weight, bias)


def weighed(x, weight):
    return (x * weight[:, None]).sum((1, 2)), (x.exp() / (1 + (x.exp() * weight[:, None]).sum((1, 2), keepdim=True)))


SIZES = [(2, 4, 1, 1), (2, 8, 1, 1), (3, 24, 13, 17), (2, 12, 7, 7), (1, 8, 70, 71), (2, 64, 3, 1)]


@pytest.mark.parametrize("backward", [False, True])
def test_groups_of_channels_of_any_size_are_right(backward):
    """If this fails, a pass of one loop goes over other elements than one of two, or the gradients of channels, which
    are sums of sums, are of other channels."""
    compiled = compile(group_norm, backend="cpu", dynamic=True)
    for size in SIZES:
        inputs = [torch.randn(size), torch.randn(size[1]), torch.randn(size[1])]
        found = [x.clone().requires_grad_(backward) for x in inputs]
        expected = [x.double().requires_grad_(backward) for x in inputs]
        results = compiled(*found), group_norm(*expected)
        torch.testing.assert_close(results[0], results[1].float(), rtol=1e-4, atol=1e-5)
        if backward:
            change = torch.randn(size)
            gradients = torch.autograd.grad(results[0], found, change)
            for each, other in zip(gradients, torch.autograd.grad(results[1], expected, change.double())):
                torch.testing.assert_close(each, other.float(), rtol=1e-4, atol=1e-4)


def test_passes_that_go_on_evenly_are_one_loop():
    """If this fails, sums over small images go image by image, though a group is one piece of memory."""
    compiled = compile(group_norm, backend="cpu", dynamic=True)
    compiled(torch.randn(2, 8, 5, 5), torch.randn(8), torch.randn(8))
    (host,) = compiled.variants[0].running.hosts
    (kernel,) = host.steps
    text = kernel_source(kernel, host.program.decisions)
    assert text.count("const int64_t i2 = 0;") == 2, "the two sums; not the stores, whose weights are by channel"


@pytest.mark.parametrize("size", [(2, 200_000, 3), (2, 300, 1000), (1, 3, 400_000), (1, 1, 1)])
def test_sums_of_many_rows_keep_their_digits(size):
    """If this fails, an accumulator takes any number of short rows, and small numbers get lost beside it."""
    compiled = compile(weighed, backend="cpu", dynamic=True)
    x, weight = torch.rand(size), torch.rand(size[1])
    for found, expected in zip(compiled(x, weight), weighed(x.double(), weight.double())):
        torch.testing.assert_close(found.double(), expected, rtol=2e-6, atol=0)


def test_no_image_is_stored_but_what_is_returned():
    """If this fails, channels seen as groups and back are a copy, or what two kernels can compute is kept for them."""
    compiled = compile(group_norm, backend="cpu", dynamic=True)
    inputs = [torch.randn(2, 8, 5, 5), torch.randn(8), torch.randn(8)]
    result = compiled(*[x.requires_grad_() for x in inputs])
    torch.autograd.grad(result, inputs, torch.ones_like(result))
    for host in compiled.variants[0].running.hosts:
        stored = [store.buffer for step in host.steps for store in step.stores]
        assert sum(len(buffer.sizes) > 3 and not is_one(buffer.sizes[-1]) for buffer in stored) == 1


def rotated(x, angles):
    first, second = x[..., :4], x[..., 4:]
    turned = torch.cat((-second, first), -1) * angles.repeat(1, 2)
    return turned / (turned.abs().amax((1, 2), keepdim=True) + 0.1)


def test_pieces_of_rows_that_go_on_evenly():
    """If this fails, rows are collapsed into one loop, split at the pieces of the first row only."""
    compiled = compile(rotated, backend="cpu", dynamic=True)
    for size in ((5, 2, 8), (2, 7, 8), (1, 1, 8), (3, 40, 8)):
        x, angles = torch.randn(size), torch.ones(size[1], 4)
        torch.testing.assert_close(compiled(x, angles), rotated(x, angles))
    compiled = compile(lambda x: rotated(x, torch.ones(x.shape[1], 4).sin()), backend="cpu", dynamic=True)
    for size in ((5, 2, 8), (2, 7, 8), (1, 1, 8), (3, 40, 8)):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), rotated(x, torch.ones(size[1], 4).sin()))
