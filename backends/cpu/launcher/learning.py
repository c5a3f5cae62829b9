"""The layout of torch's tensor objects, probed at run time, as no header of torch is needed.

    >>> from backends.cpu.launcher.learning import learned
    >>> found = learned()
    >>> found.described <= found.elements <= found.kinds
    True

The launcher compares these words with those of the last call: a few nanoseconds, where torch's functions take 100. They
are only looked at where each tells exactly what is expected of tensors of all kinds here; without them, and wherever a
word differs, torch is asked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch

WORD: Final = 8
IMPLEMENTATION: Final = 176
"""Bytes of a tensor's implementation that are looked at, no more than it has."""
STORAGE: Final = 48
"""Bytes of a storage, likewise."""
INLINE: Final = 5
"""Up to so many axes the sizes are in the implementation itself, then as many strides."""
MOST_OF_AUTOGRAD: Final = 512
MOST_DESCRIBED: Final = 16
"""Words from the sizes to the kinds that are remembered."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets in bytes; 0 where they are not found.

    Attributes:
        implementation: of a tensor's object: where its implementation is.
        kinds: of the implementation: the dispatch keys.
        usual, of_inference: the dispatch keys of tensors whose memory holds their values.
        elements: of the implementation: how many elements there are.
        described: of the implementation: how many axes, the sizes, the strides, the offset, and so on to the kinds.
        words: how many words these are.
        autograd: of the implementation: where what autograd knows of the tensor is; null where that is nothing.
        storage: of the implementation: where the storage is.
        data: of the storage: where its bytes are.
        learned: of what autograd knows: what tells whether the tensor requires a gradient, where it is no view.
    """

    implementation: int = 0
    kinds: int = 0
    usual: int = 0
    of_inference: int = 0
    elements: int = 0
    described: int = 0
    words: int = 0
    autograd: int = 0
    storage: int = 0
    data: int = 0
    learned: tuple[int, ...] = ()


def learned() -> Offsets:
    """The offsets that are found."""
    with torch.inference_mode(False), torch.enable_grad():
        kinds, elements, autograd, storage = _of_kinds(), _of_sizes(), _of_autograd(), _of_storage()
        fields = None if autograd is None else _of_learned(autograd)
    if kinds is None:
        return Offsets()
    implementation, place, usual, of_inference = kinds
    found = Offsets(implementation * WORD, place * WORD, usual, of_inference)
    if elements is None:
        return found
    found = replace(found, elements=elements * WORD)
    first = elements - 2 - 2 * INLINE
    if autograd is None or storage is None or fields is None or not elements <= place < first + MOST_DESCRIBED:
        return found
    return replace(
        found,
        described=first * WORD,
        words=place + 1 - first,
        autograd=autograd * WORD,
        storage=storage[0] * WORD,
        data=storage[1] * WORD,
        learned=fields,
    )


def words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _implementation(tensor: torch.Tensor) -> list[int]:
    return words(tensor._cdata, IMPLEMENTATION // WORD)


def _of_kinds() -> tuple[int, int, int, int] | None:
    """The word of a tensor's object that has its implementation; of that the word that is the same for all usual
    tensors, another for those of inference, and others where memory does not hold the values; and the first two."""
    x, z = torch.ones(2, 3), torch.ones(2, dtype=torch.complex64)
    with torch.inference_mode():
        of_inference = [torch.ones(2), torch.ones(3, 1, dtype=torch.int64)]
    usual = [
        *(x, z, x[1:, 1], torch.ones(0, dtype=torch.int8), torch.ones(3).requires_grad_() * 2),
        *(torch.nn.Parameter(x), torch.ones(7, 1, 5)),
    ]
    marked = [
        *(torch._neg_view(x), z.conj(), z.conj().imag, torch._efficientzerotensor(2)),
        *(x.to_sparse(), torch.empty(2, device="meta"), torch._to_functional_tensor(x)),
    ]
    tensors, count = [*usual, *of_inference, *marked], torch.Tensor.__basicsize__ // WORD
    where = _all_tell([words(id(tensor), count) for tensor in tensors], [tensor._cdata for tensor in tensors])
    read = [list(zip(*map(_implementation, group))) for group in (usual, of_inference, marked)]
    found = [
        (place, plain[0], inferred[0])
        for place, (plain, inferred, others) in enumerate(zip(*read))
        if len({*plain}) == len({*inferred}) == 1 and len({plain[0], inferred[0], *others}) == 2 + len({*others})
    ]
    return None if where is None or len(found) != 1 else (where, *found[0])


def _of_sizes() -> int | None:
    """The word that has the number of elements, behind the sizes, strides and offset."""
    x = torch.ones(7, 5, 3)
    tensors = [x, x[1:, 2:], x[:, 1].t(), x[3, 2, 1], x.view(5, 7, 3, 1, 1), torch.nn.Parameter(x[2:]), x[:0].double()]
    tensors.append(torch.ones(2, 3, dtype=torch.int8).as_strided((2, 4), (1, 0)))
    found = [
        place
        for place in range(2 + 2 * INLINE, IMPLEMENTATION // WORD)
        if all(_tells_sizes(_implementation(tensor), place, tensor) for tensor in tensors)
    ]
    return found[0] if len(found) == 1 else None


def _tells_sizes(found: Sequence[int], place: int, tensor: torch.Tensor) -> bool:
    first = place - 2 - 2 * INLINE
    sizes = found[first + 1 : first + 1 + tensor.dim()]
    strides = found[first + 1 + INLINE : first + 1 + INLINE + tensor.dim()]
    expected = tensor.dim(), list(tensor.shape), list(tensor.stride()), tensor.storage_offset(), tensor.numel()
    return (found[first], sizes, strides, found[place - 1], found[place]) == expected


def _of_autograd() -> int | None:
    """The word that is null until autograd knows of a tensor."""
    x = torch.ones(3)
    before, y = _implementation(x), torch.ones(2, 2)
    other = _implementation(y)
    now, late = _implementation(x.requires_grad_()), _implementation(y.requires_grad_())
    changed = [place for place in range(1, len(now)) if before[place] != now[place] and other[place] != late[place]]
    found = [place for place in changed if not before[place] and not other[place]]
    return found[0] if len(found) == 1 else None


def _of_storage() -> tuple[int, int] | None:
    """The word that has the storage, and of that the word that has where its bytes are."""
    tensors = [torch.ones(3), torch.ones(70, 5)[1:], torch.nn.Parameter(torch.ones(2)), torch.ones(9).double()]
    tensors.append(torch.frombuffer(bytearray(64), dtype=torch.int32))  # bytes of another owner
    storages = [tensor.untyped_storage() for tensor in tensors]
    found = _all_tell([_implementation(tensor) for tensor in tensors], [each._cdata for each in storages])
    if found is None:
        return None
    read = [words(each._cdata, STORAGE // WORD) for each in storages]
    inside = _all_tell(read, [each.data_ptr() for each in storages])
    return None if inside is None else (found, inside)


def _all_tell(found: Sequence[Sequence[int]], expected: Sequence[int]) -> int | None:
    """The only word that is what is expected of each."""
    places = [place for place, values in enumerate(zip(*found)) if list(values) == list(expected)]
    return places[0] if len(places) == 1 else None


def _of_learned(autograd: int) -> tuple[int, ...] | None:
    """The words that change where a tensor comes to require a gradient, or to be made of one that does."""
    try:
        usable = ctypes.CDLL(None).malloc_usable_size
    except (OSError, AttributeError):
        return None
    usable.restype, usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    found: set[int] = set()
    for tensor in (torch.ones(3), torch.nn.Parameter(torch.ones(2, 2)), torch.ones(4, dtype=torch.float64)):
        tensor.requires_grad_()
        address = _implementation(tensor)[autograd]
        count = min(usable(address), MOST_OF_AUTOGRAD) // WORD
        for changed in _changes(tensor, address, count):
            if not changed:
                return None
            found.update(changed)
    # a flag, and an owned pointer or two
    return tuple([place * WORD for place in sorted(found)]) if len(found) <= 4 else None


def _changes(tensor: torch.Tensor, address: int, count: int) -> Iterator[list[int]]:
    """Which words change, step by step."""
    before = words(address, count)
    for step in range(2):
        if step:
            tensor.mul_(torch.ones_like(tensor).requires_grad_())
        else:
            tensor.requires_grad_(False)
        now = words(address, count)
        yield [place for place, (one, other) in enumerate(zip(before, now)) if one != other]
        before = now
