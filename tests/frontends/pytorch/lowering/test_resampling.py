"""Images in another size: one operator, and one for the gradient, at every size."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from backends import eager
from frontends.pytorch import compile, trace

MODES = {3: ["nearest", "linear"], 4: ["bilinear", "bicubic", "nearest-exact"], 5: ["trilinear", "nearest"]}
"""Modes of interpolation by rank."""


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("by", ["size", "scale"])
def test_one_operator_and_its_gradient(mode, aligned, by):
    """Resampling is taken apart into gathers, pins a size, or differs from eager."""
    options = {"mode": mode} if mode == "nearest" else {"mode": mode, "align_corners": aligned}

    def program(x):
        if by == "scale":
            return functional.interpolate(x, scale_factor=1.7, **options)
        return functional.interpolate(x, size=[2 * size + 1 for size in x.shape[2:]], **options)

    variant = trace(program, (torch.randn(2, 3, 4, 5, requires_grad=True),), gradients=True)
    assert not variant.guards
    assert f"aten.upsample_{mode}2d.default" in [str(each.target) for each in variant.recording.operations]
    run = variant.run_by(eager)
    for sizes in ((4, 5), (1, 1), (7, 3)):
        x = torch.randn(3, 2, *sizes, requires_grad=True)
        (found,), expected = run([x]), program(x)
        torch.testing.assert_close(found, expected)
        gradient = torch.randn_like(expected)
        torch.testing.assert_close(torch.autograd.grad(found, x, gradient), torch.autograd.grad(expected, x, gradient))


@pytest.mark.parametrize(("rank", "mode"), [(rank, mode) for rank in (3, 5) for mode in MODES[rank]])
def test_layouts(rank, mode):
    """A result or gradient of one or three axes lies in memory otherwise than eager's, or a size is pinned."""

    def program(x):
        return functional.interpolate(x, scale_factor=1.7, mode=mode)

    compiled = compile(program, backend="cpu", dynamic=True)
    for sizes in ((2, 3, 4, 5, 6)[:rank], (3, 2, 5, 7, 4)[:rank]):
        for x in (torch.randn(sizes), torch.randn(sizes).movedim(1, -1).contiguous().movedim(-1, 1)):
            x.requires_grad_()
            found, expected = compiled(x), program(x)
            gradient = torch.randn_like(expected)
            results = [torch.autograd.grad(each, x, gradient)[0] for each in (found, expected)]
            for one, other in ((found, expected), results):
                torch.testing.assert_close(one, other)
                assert one.stride() == other.stride()
    assert len(compiled.variants) == 2


def test_gradient_that_is_part_of_another():
    """The gradient of a resampled image that was put beside another can not be foreseen."""

    def program(x, y):
        return torch.cat([functional.interpolate(x, size=y.shape[2:], mode="bilinear"), y], 1)

    x, y = torch.randn(2, 3, 4, 5, requires_grad=True), torch.randn(2, 1, 7, 9, requires_grad=True)
    run = trace(program, (x, y), gradients=True).run_by(eager)
    expected = program(x, y)
    gradient = torch.randn_like(expected)
    (found,) = run([x, y])
    torch.testing.assert_close(
        torch.autograd.grad(found, (x, y), gradient), torch.autograd.grad(expected, (x, y), gradient)
    )


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(("rank", "mode"), [(rank, mode) for rank, modes in MODES.items() for mode in modes])
def test_no_points(rank, mode, backend):
    """An empty image or result gives what eager refuses, reads other memory than the image's, or divides by zero."""

    def program(x, size):
        return functional.interpolate(x, size=(size,) + (3,) * (rank - 3), mode=mode)

    image = (2, 3, 4, 5, 6)[:rank]
    for warm in (False, True):
        compiled = compile(program, backend=backend, dynamic=True)
        if warm:
            torch.testing.assert_close(compiled(torch.ones(image), 7), program(torch.ones(image), 7))
        for shape, size in ((image, 0), ((2, 3, 0, 5, 6)[:rank], 4)):
            with pytest.raises(RuntimeError):
                program(torch.ones(shape), size)
            with pytest.raises(RuntimeError):
                compiled(torch.ones(shape), size)


@pytest.mark.parametrize("factor", [1.7, 2.5, 0.6])
def test_bytes(factor):
    """Interpolated bytes are rounded otherwise than by eager's kernel."""

    def program(x):
        return functional.interpolate(x, scale_factor=factor, mode="bicubic")

    compiled = compile(program, backend="cpu", dynamic=True)
    for sizes in ((2, 3, 9, 7), (1, 4, 5, 11)):
        x = torch.arange(sizes[0] * sizes[1] * sizes[2] * sizes[3]).mul(67).remainder(256).to(torch.uint8).view(sizes)
        assert torch.equal(compiled(x), program(x))
