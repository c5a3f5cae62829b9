"""Pools with as many windows as sizes say: torch's parser would make plain numbers of them."""

import pytest
import torch

from frontends.pytorch import trace
from tests.frontends.pytorch.against_eager import agrees

functional = torch.nn.functional
PROGRAMS = {
    "max over one axis": (lambda x: functional.adaptive_max_pool1d(x, x.shape[-1] - 1), (2, 3, 7)),
    "max": (lambda x: functional.adaptive_max_pool2d(x, (None, 2)), (2, 3, 6, 5)),
    "max, with places": (
        lambda x: functional.adaptive_max_pool2d(x, (x.shape[2] // 2, 1), return_indices=True),
        (2, 3, 6, 5),
    ),
    "max over three axes": (lambda x: functional.adaptive_max_pool3d(x, (None, 2, None)), (2, 3, 4, 5, 3)),
    "mean over one axis": (lambda x: functional.adaptive_avg_pool1d(x, x.shape[-1] // 2), (2, 3, 6)),
    "mean": (lambda x: functional.adaptive_avg_pool2d(x, (None, 1)), (2, 3, 6, 5)),
    "mean of all": (lambda x: functional.adaptive_avg_pool2d(x, 1), (2, 3, 6, 5)),
    "mean over three axes": (lambda x: functional.adaptive_avg_pool3d(x, (1, None, 2)), (2, 3, 4, 5, 3)),
    "resampled by means": (lambda x: functional.interpolate(x, scale_factor=0.5, mode="area"), (2, 3, 8)),
}


def differentiated(program):
    def gradient(x):
        found = program(x)
        values = found[0] if isinstance(found, tuple) else found
        return found, torch.autograd.grad((values * values).sum(), x)

    return gradient


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_number_of_windows_follows_the_sizes(name):
    """A size became a number, or the windows or the gradient of a graph are other than eager's."""
    program, sizes = PROGRAMS[name]
    others = [[size + 2 for size in sizes], [1, 1, *[2 * size for size in sizes[2:]]]]
    each = [[torch.randn(given).requires_grad_()] for given in (sizes, *others)]
    assert agrees(differentiated(program), *each).guards == ()


@pytest.mark.parametrize("axes", [2, 3])
def test_windows_at_random_places_by_a_ratio(axes):
    """A ratio of the sizes became a number, or what is drawn is another than in eager."""
    pool = getattr(functional, f"fractional_max_pool{axes}d")

    def program(x):
        return pool(x, 2, output_ratio=(0.5,) * axes)

    sizes = [(2, 3, *[10] * axes), (1, 2, *[15, 12, 9][:axes])]
    agrees(differentiated(program), *[[torch.randn(each).requires_grad_()] for each in sizes])


@pytest.mark.parametrize("mode", ["linear", "bilinear"])
def test_one_element_between_aligned_corners(mode):
    """Where the output has one element, the corners are no distance apart: a size 1 is refused, or divided by."""
    axes = 1 if mode == "linear" else 2
    agrees(
        lambda x: functional.interpolate(x, scale_factor=1.7, mode=mode, align_corners=True),
        [torch.randn(2, 3, *[4] * axes)],
        [torch.randn(2, 3, *[1] * axes)],
        [torch.randn(1, 1, *[7] * axes)],
    )


def test_plain_numbers_stay():
    """Numbers that torch's parser takes are recorded as before."""
    variant = trace(lambda x: functional.adaptive_max_pool2d(x, (2, 3)), (torch.randn(2, 3, 6, 5),))
    (operation,) = [each for each in variant.recording.operations if "pool" in str(each.target)]
    assert operation.args[1] == [2, 3]
