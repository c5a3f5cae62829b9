"""Images whose channels lie next to each other: what is made of them element by element is best laid out as they are.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> program = Program(Decisions(ShapeEnv(origin=lambda: None)))
    >>> sizes = tuple(map(program.build.lift, (2, 8, 4, 5)))
    >>> image = program.input("image", "float32", sizes, by_channel(sizes))
    >>> lies_by_channel(program.build.apply("exp", image)), [int(str(stride)) for stride in by_channel(sizes)]
    (True, [160, 1, 40, 8])
"""

from __future__ import annotations

from backends.loops.affine import is_one, packed
from backends.loops.nodes import Memory, Reduce, Sizes, Tensor, descend


def by_channel(sizes: Sizes) -> Sizes:
    """The strides of an image whose second axis lies innermost."""
    return packed(sizes, (0, *range(2, len(sizes)), 1))


def has_channels(sizes: Sizes) -> bool:
    """Whether it makes a difference which axis of an image lies innermost, as far as is known."""
    return len(sizes) == 4 and not is_one(sizes[1]) and not all(map(is_one, sizes[2:]))


def lies_by_channel(tensor: Tensor) -> bool:
    """Whether the first image that each element is made of lies so."""
    if tensor.rank < 3:
        return False
    for each in descend([tensor], lambda below: not isinstance(below, Reduce)):
        if isinstance(each, Memory) and each.rank == tensor.rank:
            first, last = each.offset.coefficient(1), each.offset.coefficient(each.rank - 1)
            if first is not None and last is not None and not is_one(each.sizes[1]):
                return is_one(first) and not is_one(last)
    return False


__all__ = ["by_channel", "has_channels", "lies_by_channel"]
