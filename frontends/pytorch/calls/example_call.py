"""Example arguments of a variant: enough for another process to trace it again.

    >>> import torch
    >>> from frontends.pytorch.calls.example_call import ExampleCall, made
    >>> example_call = ExampleCall.of((torch.ones(2, 3), [1, None]), {"scale": 0.5}, [])
    >>> (x, numbers), named = made(example_call.arguments)
    >>> x.shape, numbers, named
    (torch.Size([2, 3]), [1, None], {'scale': 0.5})

Tensors are described by sizes, strides, dtype, device and marks, without elements; the functions that ran by their
code. A call with an object of the program cannot be described, since no other process has that object.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar

import torch

from frontends.pytorch.calls.marks import ATTRIBUTE, Mark, marks_of
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.recording.inputs import Choice

DEEPEST: Final = 16
"""The maximal nesting of containers."""
LARGEST: Final = 2**40
"""The maximal size of a tensor in bytes, none of which is touched."""
MOST_AXES: Final = 64
FLOAT: Final = struct.Struct(">d")
DTYPES: Final[Mapping[str, torch.dtype]] = {
    str(each).removeprefix("torch."): each for each in vars(torch).values() if isinstance(each, torch.dtype)
}
KINDS: Final = ("static", "dynamic", "unbacked")
Described = dict[str, object]
Kind = TypeVar("Kind")


class Undescribed(Exception):
    """An argument that no other process could reconstruct."""


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """A traced call.

    Attributes:
        arguments: the arguments as JSON; None if they cannot be described, for the `reason`.
        functions: the functions of the program that ran: module, name, code.
        gradients: whether gradients were enabled; `inference`: whether it was inference mode.
        default: the default dtype.
    """

    arguments: Described | None
    reason: str
    functions: tuple[tuple[str, str, CodeType], ...]
    gradients: bool
    inference: bool
    default: str

    @staticmethod
    def of(
        args: Sequence[object],
        kwargs: Mapping[str, object],
        functions: Iterable[FunctionType],
        *,
        reads: bool = False,
    ) -> ExampleCall:
        """`reads`: numbers of captured state are among the arguments."""
        arguments, reason = None, ""
        try:
            if reads:
                raise Undescribed("numbers that it reads without being given them change")
            if torch._C._is_any_autocast_enabled():
                raise Undescribed("it was traced under autocast")
            arguments = _Writer().described_call(args, kwargs)
        except Exception as error:
            # any error of torch for an unexpected kind of tensor: the call goes on
            reason = str(error)
        return ExampleCall(
            arguments,
            reason,
            tuple([(each.__module__ or "", each.__qualname__, own_code(each)) for each in functions]),
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            dtype_name(torch.get_default_dtype()),
        )

    def sources(self) -> list[list[str]]:
        """The functions, each with a hash of its code."""
        return [[module, name, source_of(code)] for module, name, code in self.functions]


def source_of(code: CodeType) -> str:
    """A hash of code, independent of its file's location."""
    return hashlib.sha256("\n".join(_code_texts(code)).encode("utf-8", "backslashreplace")).hexdigest()


def _code_texts(code: CodeType) -> Iterable[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags))
    yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount))
    yield repr(getattr(code, "co_exceptiontable", b""))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_texts(constant)
        else:
            yield _constant(constant)


def _constant(value: object) -> str:
    """The text of a constant, equal in every process: sets are sorted."""
    if isinstance(value, frozenset):
        return f"frozenset({sorted(map(_constant, value))})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    return f"{type(value).__name__} {value!r}"


class _Writer:
    """Writes arguments as JSON: each tensor at its first occurrence, then by number."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._memory: set[int] = set()

    def described_call(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Described:
        return {"args": self._value(tuple(args), 0), "kwargs": self._value(dict(sorted(kwargs.items())), 0)}

    def _value(self, value: Any, depth: int) -> object:
        if depth > DEEPEST:
            raise Undescribed(f"its arguments are nested deeper than {DEEPEST}")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return {"int": hex(value)}
        if kind is float:
            return {"float": FLOAT.pack(value).hex()}
        if kind is torch.dtype:
            return {"dtype": dtype_name(value)}
        if kind is list or kind is tuple:
            return {kind.__name__: [self._value(each, depth + 1) for each in value]}
        if kind is dict:
            if any(type(key) is not str for key in value):
                raise Undescribed("a dictionary among its arguments has keys that are no text")
            return {"dict": [[key, self._value(each, depth + 1)] for key, each in value.items()]}
        if isinstance(value, torch.Tensor):
            return {"tensor": self._tensor(value)}
        raise Undescribed(f"an argument is an object of the class {kind.__qualname__}")

    def _tensor(self, x: torch.Tensor) -> object:
        known = self._numbers.get(id(x))
        if known is not None:
            return known
        self._numbers[id(x)] = len(self._numbers)
        if type(x) not in (torch.Tensor, torch.nn.Parameter):
            raise Undescribed(f"an argument is a tensor of the class {type(x).__qualname__}")
        if x.device.type != "cpu" or x.layout is not torch.strided:
            raise Undescribed(f"an argument is a tensor on {x.device} of layout {x.layout}")
        if x.is_conj() or x.is_neg():
            raise Undescribed("an argument is a tensor that is only marked as conjugate or negative")
        if x.requires_grad and not x.is_leaf:
            raise Undescribed("an argument is a tensor that operators made which autograd follows")
        memory = x.untyped_storage().data_ptr()
        if memory and memory in self._memory:
            raise Undescribed("two arguments lie in the same memory")
        self._memory.add(memory)
        return {
            "dtype": dtype_name(x.dtype),
            "sizes": list(x.shape),
            "strides": list(x.stride()),
            "offset": x.storage_offset(),
            "parameter": type(x) is torch.nn.Parameter,
            "requires_grad": x.requires_grad,
            "inference": x.is_inference(),
            "marks": [
                [axis, mark.choice.kind, mark.choice.lo, mark.choice.hi, mark.choice.strict, mark.text]
                for axis, mark in marks_of(x).items()
            ],
        }


def made(described: Mapping[str, object]) -> tuple[tuple[object, ...], dict[str, object]]:
    """Reconstruct described arguments; their tensors are uninitialized.

    Raises:
        ValueError: the description is malformed.
    """
    reader = _Reader()
    args, kwargs = reader.value(described.get("args"), 0), reader.value(described.get("kwargs"), 0)
    if type(args) is not tuple or type(kwargs) is not dict or described.keys() != {"args", "kwargs"}:
        raise ValueError("arguments")
    return args, kwargs


class _Reader:
    def __init__(self) -> None:
        self._tensors: list[torch.Tensor] = []

    def value(self, text: object, depth: int) -> object:
        if text is None or type(text) is bool or type(text) is str:
            return text
        if depth > DEEPEST + 1 or type(text) is not dict or len(text) != 1:
            raise ValueError("a value")
        ((kind, inside),) = text.items()
        match kind, inside:
            case "int", str():
                return int(inside, 16)
            case "float", str():
                (found,) = FLOAT.unpack(bytes.fromhex(inside)) if len(inside) == 2 * FLOAT.size else (None,)
                return checked(found, float)
            case "dtype", str() if inside in DTYPES:
                return DTYPES[inside]
            case "list", list():
                return [self.value(each, depth + 1) for each in inside]
            case "tuple", list():
                return tuple([self.value(each, depth + 1) for each in inside])
            case "dict", list():
                return self._dictionary(inside, depth)
            case "tensor", int() if type(inside) is int and 0 <= inside < len(self._tensors):
                return self._tensors[inside]
            case "tensor", dict():
                self._tensors.append(tensor(inside))
                return self._tensors[-1]
        raise ValueError(f"a value of kind {kind!r}")

    def _dictionary(self, items: Sequence[object], depth: int) -> dict[str, object]:
        found: dict[str, object] = {}
        for item in items:
            if type(item) is not list or len(item) != 2 or type(item[0]) is not str or item[0] in found:
                raise ValueError("a dictionary")
            found[item[0]] = self.value(item[1], depth + 1)
        return found


def tensor(described: Mapping[str, object]) -> torch.Tensor:
    """A tensor with this metadata; its memory is allocated, and not touched.

    Raises:
        ValueError: the description is malformed.
    """
    sizes, strides = numbers(described.get("sizes")), numbers(described.get("strides"))
    offset, dtype = checked(described.get("offset"), int), DTYPES.get(checked(described.get("dtype"), str))
    if len(sizes) != len(strides) or offset < 0 or dtype is None:
        raise ValueError("a tensor")
    last = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if (offset + last) * dtype.itemsize > LARGEST:
        raise ValueError(f"a tensor of more than {LARGEST} bytes")
    follows = checked(described.get("requires_grad"), bool)
    with torch.inference_mode(checked(described.get("inference"), bool)), torch.device("cpu"):
        try:
            found = torch.empty(offset + last, dtype=dtype)
            if (sizes, strides, offset) != ((last,), (1,), 0):
                # not a view, which programs can distinguish
                found = torch.empty(0, dtype=dtype).set_(found.untyped_storage(), offset, sizes, strides)
            if checked(described.get("parameter"), bool):
                found = torch.nn.Parameter(found, follows)
            elif follows:
                found.requires_grad_()
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"a tensor: {str(error).splitlines()[0]}") from None
    marks = {}
    for mark in checked(described.get("marks"), list):
        axis, kind, lo, hi, strict, text = mark if type(mark) is list and len(mark) == 6 else (None,) * 6
        least, most = [None if each is None else checked(each, int) for each in (lo, hi)]
        if kind not in KINDS or not 0 <= checked(axis, int) < len(sizes):
            raise ValueError("a mark")
        marks[axis] = Mark(Choice(kind, least, most, checked(strict, bool), why="marked"), checked(text, str), None)
    if marks:
        setattr(found, ATTRIBUTE, marks)
    return found


def numbers(value: object) -> tuple[int, ...]:
    """Sizes or strides.

    Raises:
        ValueError: they are none.
    """
    found = tuple([checked(each, int) for each in checked(value, list)])
    if any(not 0 <= each < LARGEST for each in found) or len(found) > MOST_AXES:
        raise ValueError("sizes")
    return found


def checked(value: object, kind: type[Kind]) -> Kind:
    """A value of this class.

    Raises:
        ValueError: it is another.
    """
    if type(value) is not kind:
        raise ValueError(f"a {kind.__name__}")
    return value


def dtype_name(dtype: torch.dtype) -> str:
    """What a dtype is called in `DTYPES`."""
    return str(dtype).removeprefix("torch.")
