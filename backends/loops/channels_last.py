"""The channels-last layout (NHWC) of images: elementwise results keep the layout of their operands.

>>> from shapes import ShapeEnv
>>> from backends.decisions.questions import Decisions
>>> from backends.loops.program import Program
>>> program = Program(Decisions(ShapeEnv(origin=lambda: None)))
>>> sizes = tuple(map(program.build.lift, (2, 8, 4, 5)))
>>> image = program.input("image", "float32", sizes, channels_last_strides(sizes))
>>> is_channels_last(program.build.apply("exp", image)), [each.constant for each in channels_last_strides(sizes)]
(True, [160, 1, 40, 8])
"""

from __future__ import annotations

from backends.loops.affine import is_one, packed
from backends.loops.nodes import Memory, Reduce, Sizes, Tensor, descend


def channels_last_strides(sizes: Sizes) -> Sizes:
    """The strides of an image whose second axis is innermost."""
    return packed(sizes, (0, *range(2, len(sizes)), 1))


def has_channels(sizes: Sizes) -> bool:
    """Return True if channels-last is known to differ from contiguous for these sizes."""
    return len(sizes) == 4 and not is_one(sizes[1]) and not all(map(is_one, sizes[2:]))


def is_channels_last(tensor: Tensor) -> bool:
    """Return True if the first image that an element is computed from is channels-last."""
    if tensor.rank < 3:
        return False
    for each in descend([tensor], lambda below: not isinstance(below, Reduce)):
        if isinstance(each, Memory) and each.rank == tensor.rank:
            first, last = each.offset.coefficient(1), each.offset.coefficient(each.rank - 1)
            if first is not None and last is not None and not is_one(each.sizes[1]):
                return is_one(first) and not is_one(last)
    return False
