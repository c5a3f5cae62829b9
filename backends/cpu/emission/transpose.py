"""Transposing kernels: the axis along which the loads (or the stores) are contiguous becomes the innermost loop.

    >>> from solver.terms.interner import Interner
    >>> from backends.loops.affine import Affine
    >>> from backends.loops.kernels import Buffer, Kernel, Load, Store
    >>> terms = Interner()
    >>> r, c, one = terms.symbol("r"), terms.symbol("c"), terms.constant(1)
    >>> x, y = Buffer("x", "float32", (c, r), (r, one)), Buffer("y", "float32", (r, c), (c, one))
    >>> i, j = Affine.axis(0, terms), Affine.axis(1, terms)
    >>> kernel = Kernel("k0", (r, c), 2, (), (Store(y, i * c + j, Load(x, j * r + i)),), lanes=1)
    >>> print(transposed(kernel))
    k0: for i0 < c | i1 < r, lanes i0
      pass 0:
        y[i0 + c*i1] = x[r*i0 + i1]

Lanes run along the axis that stores, then most accesses are contiguous along. What is contiguous along another is read
a line of memory per lane, of which one element is used; with that other axis innermost the next iterations find
the rest of the line.

Where the axis of the lanes is shorter than a vector, most lanes compute nothing; the two axes are exchanged then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backends.loops.affine import Affine, is_one
from backends.loops.kernels import Bodies, Kernel, Load, walk
from backends.loops.loop_nest import rewritten


def transposed(kernel: Kernel) -> Kernel:
    """The same kernel, with the axis innermost that accesses which are strided along the lanes are contiguous along."""
    axis = transposed_axis(kernel)
    return kernel if axis is None else _innermost(kernel, axis, kernel.lanes)


def swapped_lanes(kernel: Kernel) -> Kernel:
    """A transposing kernel the other way round: lanes along its crosswise axis, that of the lanes innermost."""
    axis = transposed_axis(kernel)
    assert axis is not None
    return _innermost(kernel, kernel.lanes, axis)


def _innermost(kernel: Kernel, axis: int, lanes: int) -> Kernel:
    """One axis as the inner one, and behind the others that of the lanes."""
    order = [each for each in range(len(kernel.extents)) if each not in (axis, lanes)] + [lanes, axis]
    roots = [store.value for store in kernel.stores]
    interner = kernel.extents[0].interner
    indices = tuple([Affine.axis(order.index(each), interner) for each in range(len(order))])
    values = rewritten(Bodies(), roots, indices, {})
    return Kernel(
        kernel.name,
        tuple([kernel.extents[each] for each in order]),
        len(order) - 1,
        (),
        tuple([replace(s, offset=s.offset.at(indices), value=value) for s, value in zip(kernel.stores, values)]),
        (),
        len(order) - 2,
        kernel.origins,
    )


def transposed_axis(kernel: Kernel) -> int | None:
    """The axis that accesses are contiguous along which are not along the lanes, though they change with them."""
    return None if kernel.inner else next(_crosswise(kernel), None)


def _crosswise(kernel: Kernel) -> Iterator[int]:
    loads = [value.offset for value in walk(kernel.roots()) if isinstance(value, Load) and not value.indirect]
    for offset in [*loads, *[store.offset for store in kernel.stores]]:
        along = offset.coefficient(kernel.lanes)
        if along is not None and not is_one(along):
            yield from [axis for axis, step in offset.terms if axis != kernel.lanes and is_one(step)]
