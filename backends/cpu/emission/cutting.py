"""Loops along the lanes divided where what is joined meets: on either side, a comparison with a size is known.

    >>> from solver.interner import Interner
    >>> from backends.loops.indices import Affine
    >>> from backends.loops.kernels import Apply, Place, SizeValue
    >>> terms = Interner()
    >>> half = SizeValue(terms.symbol("half"), "int64")
    >>> before = Apply("lt", (Place(Affine.axis(1, terms)), half), "bool")
    >>> behind = Apply("ge", (Place(Affine.axis(1, terms)), half), "bool")
    >>> (cut,) = cuts([before, behind], 1)
    >>> cut.known(is_behind=True) == {before: False, behind: True}
    True

A piece of a join is loaded where its own places are, under a mask; in a loop over these places alone no mask is left,
and nothing of the other pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from backends.cpu.emission.text import Text
from backends.loops.indices import is_one, is_zero
from backends.loops.kernels import Apply, Place, Scalar, SizeValue
from solver.expr import Expr

if TYPE_CHECKING:
    from backends.cpu.emission.copies import Copy
    from backends.cpu.emission.values import Writer

MOST: Final = 2
"""Cuts of one loop; what meets elsewhere is loaded under masks."""
MOST_VALUES: Final = 160
"""Values of a kernel whose loops are divided: the code is as long as it is."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A place along the lanes, `bound - shift`, and the comparisons that are known on either side of it.

    Attributes:
        before: the comparisons, and whether they hold before the place; behind it they do not, and the reverse.
    """

    bound: Expr
    shift: Expr
    before: tuple[tuple[Scalar, bool], ...]

    def known(self, *, is_behind: bool) -> dict[Scalar, bool]:
        return {value: holds is not is_behind for value, holds in self.before}


def cuts(values: Sequence[Scalar], lanes: int | None) -> tuple[Cut, ...]:
    """The cuts of a loop along these lanes, those first that most is known by."""
    found: dict[Expr, Cut] = {}
    for value in values if lanes is not None and len(values) <= MOST_VALUES else ():
        match value:
            case Apply(operation="lt" | "ge", operands=(Place(index=index), SizeValue(size=bound))):
                along = index.coefficient(lanes)
                if along is not None and is_one(along) and len(index.terms) == 1:
                    place = bound - index.constant
                    cut = found.get(place, Cut(bound, index.constant, ()))
                    more = (value, value.operation == "lt")
                    found[place] = Cut(cut.bound, cut.shift, (*cut.before, more))
    return tuple(sorted(found.values(), key=lambda cut: -len(cut.before))[:MOST])


def divided(
    text: Text,
    writer: Writer,
    at: Sequence[Cut],
    loops: Callable[[str], Iterator[Sequence[Copy]]],
    place: str,
    stop: str,
) -> Iterator[Sequence[Copy]]:
    """The loops up to each cut and behind the last; `loops` writes those up to a place from where the last ended."""
    if not at:
        yield from loops(stop)
        return
    names = []
    for cut in at:
        name = f"c{next(writer.serial)}"
        where = writer.size(cut.bound)
        where = where if is_zero(cut.shift) else f"{where} - {writer.size(cut.shift)}"
        text.line(f"const int64_t {name} = {where} < {stop} ? {where} : {stop};")
        names.append(name)
    if len(at) == 1:
        (only,) = at
        ends = [(names[0], [("", only.known(is_behind=False))]), (stop, [("", only.known(is_behind=True))])]
    else:
        first, second = at
        least, most = f"c{next(writer.serial)}", f"c{next(writer.serial)}"
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
        if end is not stop:
            text.line(f"if ({place} < {end}) {place} = {end};")


__all__ = ["Cut", "cuts", "divided"]
