"""Find the program for the arguments of a call, and run it, in C.

    >>> import torch
    >>> from backends.cpu.launcher import launcher
    >>> from backends.cpu.launcher.entry import Form, Leaf, Variant, made_entry
    >>> from backends.cpu.launcher.program import Description, Given, TensorArgument, make_native
    >>> same = make_native(
    ...     Description(tensors=[TensorArgument("x", "float32", 1)], symbols={}, outputs=[Given(0)], launches=[])
    ... )
    >>> variant = Variant(same, (False, 0.5), grad_mode=True, default_dtype=torch.float32, tensors=(0,))
    >>> form = Form((Leaf("tensor", torch.Tensor, 1), Leaf("value", float)), [variant])
    >>> entry = made_entry([form])
    >>> x = torch.ones(3)
    >>> entry((x, 0.5), {})
    [tensor([1., 1., 1.])]
    >>> entry((x, 0.25), {}), entry((x,), {})
    (NotImplemented, NotImplemented)

An entry takes positional arguments. It returns NotImplemented for a call that it does not support: their number or
classes are others; a torch mode or transform intercepts operators; or no program accepts the sizes. It checks all
guards of a program, as nothing checks them later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Final, Literal, TypeAlias

from backends.cpu.launcher import NativeProgram, Unavailable, launcher
from shapes.guards.emit_c import NotNative

Asks: TypeAlias = Literal["modes", "requires_grad", "marks"]
"""Modes and transforms with the grad mode and the default dtype; the tensors' `requires_grad`; their negative bit."""
EVERYTHING: Final[tuple[Asks, ...]] = ("modes", "requires_grad", "marks")
KINDS: Final = ("tensor", "integer", "value", "object")

Call: TypeAlias = Callable[[tuple[object, ...], Mapping[str, object]], object]


@dataclass(frozen=True, slots=True)
class Leaf:
    """An argument: a tensor of a class and rank, an integer that guards may be about, a value (by equality),
    an object (by identity). A tensor's class is torch's or one that offers the DLPack C exchange API; the tensors of a
    program are of one library, and so are its results."""

    kind: Literal["tensor", "integer", "value", "object"]
    type: type
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Variant:
    """A program, and what it relies on.

    Attributes:
        values: by leaf: whether a tensor of torch requires a gradient, the value, or the object.
        tensors: which leaves are the tensors of the program.
        integers: which leaves are its integers.
        same: by leaf that is the same tensor as one before it, which one that is.
    """

    program: NativeProgram
    values: tuple[object, ...]
    grad_mode: bool
    default_dtype: object
    tensors: tuple[int, ...] = ()
    integers: tuple[int, ...] = ()
    same: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Form:
    """Calls with arguments of the same classes and ranks, and the programs for them."""

    leaves: tuple[Leaf, ...]
    variants: Sequence[Variant]


def made_entry(
    forms: Sequence[Form], *, asks: Collection[Asks] = EVERYTHING, function: FunctionType | None = None
) -> Call:
    """The call of the first program that is for a call, in the order of the forms and of their variants. A caller that
    has guarded some of what an entry asks, for example by Dynamo's guards, leaves it out of `asks`: without all three a
    call takes a third less. Classes, ranks, dtypes, devices, sizes and strides are always read. An entry for a Python
    function takes no call once that has other code.

    Raises:
        NotNative: arguments that the launcher cannot read.
    """
    found = launcher()
    if isinstance(found, Unavailable):
        raise NotNative(found.reason)
    asked = sum([1 << EVERYTHING.index(each) for each in {*asks}])
    code = None if function is None else function.__code__
    try:
        return found.Entry(asked, function, code, *[_described(form) for form in forms])
    except ValueError as error:
        raise NotNative(str(error)) from error


def call_first(kind: type, owner: str, name: str) -> None:
    """Have C call the entry of an instance of a class, `instance.owner.name`, before the class's `__call__`, which is
    called where there is no entry, where it gives NotImplemented, and for keyword arguments. It is left as it is, so
    that a tracer can read it. All classes have the same names. Through `__call__` a call takes 0.25 us more."""
    found = launcher()
    if not isinstance(found, Unavailable):
        found.call_first(kind, owner, name)


def _described(form: Form) -> tuple[object, ...]:
    leaves = tuple([(KINDS.index(leaf.kind), leaf.type, leaf.rank) for leaf in form.leaves])
    variants = []
    for v in form.variants:
        firsts = tuple([v.same.get(place, place) for place in range(len(leaves))])
        variants.append((v.program, v.values, v.grad_mode, v.default_dtype, v.tensors, v.integers, firsts))
    return leaves, tuple(variants)
