"""Emission of split loops: one up to each split point and one behind the last, comparisons folded in each.

A piece of a concatenation is loaded under the mask of its own indices; in a loop over these indices alone no mask is
left, and nothing of the other pieces. A split of the vectorized loop copies only that loop; a split of another axis
copies the loops inside of it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from backends.cpu.emission.loop_split import SplitPoint
from backends.cpu.emission.text import Text
from backends.cpu.emission.unroll import Vector
from backends.cpu.emission.values import Writer
from backends.loops.affine import is_zero


def split_loops(
    text: Text,
    writer: Writer,
    at: Sequence[SplitPoint],
    loops: Callable[[str], Iterator[Sequence[Vector]]],
    place: str,
    stop: str,
    *,
    skips: bool = True,
) -> Iterator[Sequence[Vector]]:
    """The loops up to each split point and behind the last; `loops` prints those up to an index from where the last
    ended, or from that index on if it `skips` to it."""
    if not at:
        yield from loops(stop)
        return
    names = []
    for point in at:
        name = f"split{next(writer.serial)}"
        where = writer.size(point.bound)
        where = where if is_zero(point.shift) else f"{where} - {writer.size(point.shift)}"
        text.line(f"const int64_t {name} = {where} < {stop} ? {where} : {stop};")
        names.append(name)
    if len(at) == 1:
        (only,) = at
        ends = [(names[0], [("", only.known(is_behind=False))]), (stop, [("", only.known(is_behind=True))])]
    else:
        first, second = at
        least, most = f"split{next(writer.serial)}", f"split{next(writer.serial)}"
        text.line(f"const int64_t {least} = {names[0]} < {names[1]} ? {names[0]} : {names[1]};")
        text.line(f"const int64_t {most} = {names[0]} < {names[1]} ? {names[1]} : {names[0]};")
        known = {
            (a, b): first.known(is_behind=a) | second.known(is_behind=b) for a in (False, True) for b in (False, True)
        }
        ends = [
            (least, [("", known[False, False])]),
            (most, [(f"if ({names[0]} < {names[1]})", known[True, False]), ("else", known[False, True])]),
            (stop, [("", known[True, True])]),
        ]
    for end, versions in ends:
        for head, known_here in versions:
            with text.block(head), writer.assuming(known_here):
                yield from loops(end)
        if skips and end is not stop:
            text.line(f"if ({place} < {end}) {place} = {end};")
