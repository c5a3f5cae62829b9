"""Large arrays without storage, so that an operator can be asked about sizes that no memory holds.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.functions import Function
    >>> import numpy as np                                                    # doctest: +SKIP
    >>> Function(lambda x: x[::2])(Call((Input((2**31 + 1,)),)))              # doctest: +SKIP
    ((1073741825,),)

NumPy's arrays have one element and strides of 0, torch's are on the device `meta`, JAX's are abstract. NumPy's
functions are watched on smaller arrays first: one that computes elements, or makes arrays that are no views of its
arguments, is not called with more than `ALLOCATED` elements. torch's meta functions are compared with the kernels on
small calls first. A call that no stand-in serves is `Untested`: neither accepted nor refused, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from shapes.testing.calls import Call, Input
from shapes.testing.directed.integers import places_of, structure_of, with_values
from shapes.testing.references.arrays import array_of, sizes_of

LARGE: Final = 1 << 16
"""The product of all integers of a call, from which on there are stand-ins."""
ALLOCATED: Final = 1 << 18
"""Elements that are really made, at most."""
COMPUTES: Final = f"the reference computes elements, and there are more than {ALLOCATED}"
TOO_LARGE: Final = "no array of the reference is so large"
"""Reasons not to ask a reference."""
WATCHED: Final = (64, 16)
"""Integers to which large ones are lowered to watch a function of NumPy's; the second where the first is refused."""
COMPARED: Final = 4
WORDS: Final = ("overflow", "too big", "too large", "maximum allowed", "exceed", "out of memory", "allocate", "int too")
"""Words of messages that are about the machine, not about the operator."""


class Untested(Exception):
    """A call that a reference is not asked about. `reason` is the same for all calls left out for one cause."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}" if detail else reason)


class StandIns:
    """A function of arrays, called with large ones."""

    def __init__(self, tensors: str, function: Callable[..., object]) -> None:  # type: ignore[explicit-any]
        self.tensors = tensors
        self.function = function
        self.known: list[tuple[Call, object]] = []
        self.trusted: bool | None = None
        self.lazy: dict[str, bool] = {}

    def remember(self, call: Call, sizes: object) -> None:
        """Keep a small call, and what the function really gave."""
        if len(self.known) < COMPARED:
            self.known.append((call, sizes))

    def __call__(self, call: Call) -> object:
        """The result for a large call. Exceptions are the function's, or `Untested`."""
        try:
            match self.tensors:
                case "torch":
                    return self._on_meta(call)
                case "jax":
                    return self._abstract(call)
                case _:
                    return self._without_storage(call)
        except (MemoryError, NotImplementedError, OverflowError) as limit:
            raise Untested(TOO_LARGE, str(limit)) from None
        except (ValueError, RuntimeError, TypeError) as error:
            if any(word in str(error).lower() for word in WORDS):
                raise Untested(TOO_LARGE, str(error)) from None
            raise

    # ------------------------------------------------------------------ torch and JAX

    def _on_meta(self, call: Call) -> object:
        if self.trusted is None:
            self.trusted = all(self._as_really(known, sizes) for known, sizes in self.known)
        if not self.trusted or not any(True for _ in call.inputs()):
            raise Untested("torch's meta function is not known to agree with the kernel")
        return self._meta(call)

    def _meta(self, call: Call) -> object:
        import torch

        def made(tensor: Input) -> object:
            return torch.empty(tuple(tensor), dtype=getattr(torch, tensor.dtype or "float32"), device="meta")

        args, kwargs = call.replaced(made)
        return self.function(*args, **kwargs)

    def _as_really(self, call: Call, sizes: object) -> bool:
        try:
            return tuple(sizes_of(self._meta(call))) == sizes
        except Exception:
            return False

    def _abstract(self, call: Call) -> object:
        import jax

        tensors: list[object] = []

        def made(tensor: Input) -> object:
            tensors.append(jax.ShapeDtypeStruct(tuple(tensor), tensor.dtype or "float32"))
            return len(tensors) - 1

        call.replaced(made)

        def run(*arrays: object) -> object:
            remaining = iter(arrays)
            args, kwargs = call.replaced(lambda tensor: next(remaining))
            return self.function(*args, **kwargs)

        return jax.eval_shape(run, *tensors)

    # ------------------------------------------------------------------ NumPy

    def _without_storage(self, call: Call) -> object:
        elements = _elements(call)
        if elements > ALLOCATED and not self._is_lazy(call):
            raise Untested(COMPUTES, f"{elements}")
        args, kwargs = call.replaced(_array)
        return self.function(*args, **kwargs)

    def _is_lazy(self, call: Call) -> bool:
        """Return True if such calls give views of their arguments and look at no element."""
        key = structure_of(call) + "".join(["L" if place.value > LARGE else "s" for place in places_of(call)])
        if key not in self.lazy:
            for most in WATCHED:
                lowered = _clipped(call, most)
                if _elements(lowered) > ALLOCATED:
                    continue
                only_views = self._gives_views(lowered)
                if only_views is not None:
                    self.lazy[key] = only_views
                    break
        return self.lazy.get(key, False)

    def _gives_views(self, call: Call) -> bool | None:
        """Return True if a call only makes views, None if it is refused."""
        import numpy

        roots: set[int] = set()

        def watched(tensor: Input) -> object:
            array = _array(tensor)
            roots.add(id(_root(array)))
            return numpy.asarray(array).view(_watching())

        args, kwargs = call.replaced(watched)
        _computed.clear()
        try:
            result = self.function(*args, **kwargs)
        except Exception:
            return False if _computed else None
        return not _computed and all(id(_root(one)) in roots for one in _leaves(result))


_computed: list[object] = []
"""The functions that computed elements of a watched array."""


@cache
def _watching() -> type:
    """Arrays of NumPy that note a computation with their elements."""
    import numpy

    class Watched(numpy.ndarray):  # type: ignore[explicit-any]
        """An array whose elements are not to be read."""

        def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **kwargs: object) -> object:
            _computed.append(ufunc)
            raise TypeError("elements of a watched array")

        def __array_finalize__(self, made_from: object) -> None:
            if self.flags.owndata:
                _computed.append(made_from)

    return Watched


def _root(array: object) -> object:
    """The object whose memory an array looks at."""
    while getattr(array, "base", None) is not None:
        array = array.base  # type: ignore[attr-defined]
    return array


def _leaves(result: object) -> Iterator[object]:
    if isinstance(result, tuple | list):
        for one in result:
            yield from _leaves(one)
    else:
        yield result


def is_large(call: Call) -> bool:
    """Return True if a call has stand-ins for its arrays, or large numbers."""
    return _elements(call) > LARGE


def _elements(call: Call) -> int:
    """The product of all integers: results may have so many elements. Empty axes count as 1: results may lack them."""
    count = 1
    for place in places_of(call):
        count *= max(abs(place.value), 1)
    return count


def _clipped(call: Call, most: int) -> Call:
    return with_values(call, {place.path: min(place.value, most) for place in places_of(call)})


def _array(tensor: Input) -> object:
    import numpy

    if tensor.values is not None or tensor.strides is not None:
        return array_of(tensor)
    dtype = numpy.dtype(tensor.dtype or "float32")
    value = tensor.low if dtype.kind in "iu" else 1
    try:
        return numpy.broadcast_to(numpy.asarray(value, dtype), [int(size) for size in tensor])
    except ValueError as error:
        raise Untested(TOO_LARGE, str(error)) from None
