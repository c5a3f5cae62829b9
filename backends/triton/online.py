"""Online softmax (Milakov and Gimelshein, 2018): the sum of exponentials in the pass that finds the maximum.

    >>> from solver.terms.interner import Interner
    >>> from backends.loops.affine import Affine
    >>> from backends.loops.kernels import Apply, Buffer, Kernel, Load, Reduced, Reduction, Store
    >>> terms = Interner()
    >>> rows, columns, one = terms.symbol("r"), terms.symbol("c"), terms.constant(1)
    >>> x = Load(Buffer("x", "float32", (rows, columns), (columns, one)), Affine.axis(1, terms))
    >>> top = Reduction("maximum", x)
    >>> below = Apply("exp", (Apply("sub", (x, Reduced(top)), "float32"),), "float32")
    >>> total = Reduction("sum", below)
    >>> made = Store(Buffer("made", "float32", (rows,), (one,)), Affine.axis(0, terms), Reduced(total))
    >>> kernel = Kernel("k0", (rows, columns), 1, (top, total), (made,))
    >>> passes, maxima = at_once(kernel.passes)
    >>> len(kernel.passes), len(passes), maxima[total] is top
    (2, 1, True)

What has been summed shrinks where a larger element comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from backends.loops.kernels import Apply, Pass, Reduced, Reduction


def at_once(passes: Sequence[Pass]) -> tuple[list[Pass], dict[Reduction, Reduction]]:
    """Passes with such sums before the maxima that they are below, where that makes them fewer; and these maxima."""
    found: list[Pass] = []
    maxima: dict[Reduction, Reduction] = {}
    for each in passes:
        tops = {sum_: top_of(sum_) for sum_ in each.reductions}
        if found and not each.stores and all(top in found[-1].reductions for top in tops.values()):
            maxima.update({sum_: top for sum_, top in tops.items() if top is not None})
            found[-1] = Pass((*each.reductions, *found[-1].reductions), found[-1].stores)
        else:
            found.append(each)
    return found, maxima


def top_of(reduction: Reduction) -> Reduction | None:
    """The maximum of what a sum is of the exponentials of, as far as they are below it."""
    match reduction:
        case Reduction("sum", Apply("exp", (Apply("sub", (value, Reduced(top))),))):
            return top if top.operation == "maximum" and top.body is value else None
    return None
