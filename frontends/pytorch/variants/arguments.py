"""The inputs of a captured graph in generated code: each property is read once, and compared by a decision tree.

    >>> import torch
    >>> from frontends.pytorch.variants.arguments import GraphArguments
    >>> arguments = GraphArguments(["x", "n"], [torch.ones(2, 3), 4])
    >>> [(leaf.name, leaf.kind) for leaf in arguments.leaves]
    [('x', 'tensor'), ('n', 'integer')]
    >>> print(*arguments.prologue().statements[:7], sep="\\n")
    if len(_args) != 2:
        return default
    x, n, = _args
    if type(x) is not _type_0:
        return default
    if type(n) is not _type_1:
        return default

Inputs are tensors and numbers in a flat sequence. Any other value is compared by equality or identity.
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch.autograd import forward_ad

from frontends.pytorch.recording.inputs import LARGEST, check_supported
from frontends.pytorch.variant import Variant
from shapes.guards.arguments import Path, Prologue, Source, usable
from shapes.guards.codegen import Check
from solver.floats.ordinals import pattern as bits

Kind = Literal["tensor", "integer", "float", "value", "object"]
READ: Final = (".dtype", ".device", ".requires_grad", ".is_contiguous()")
"""The properties of a tensor that every variant guards besides sizes."""
VALUES: Final = (
    *(bool, complex, str, bytes, type(None), type(Ellipsis)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)
"""Classes whose instances are compared by value."""
AMBIENT: Final = ("grad_mode", "default_dtype", "autocast")
"""Guarded ambient state."""
BUILTINS: Final = frozenset(dir(builtins))
PAIRS: Final = 3
"""Up to this many tensors are compared pairwise."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An input: its name in generated code, its kind and class, and a tensor's rank."""

    name: str
    kind: Kind
    type: type
    rank: int = 0


def autocast() -> tuple[tuple[Any, ...], ...] | None:
    """The state of autocast, by kind of device; None while it is disabled."""
    if not torch._C._is_any_autocast_enabled():
        return None
    return tuple(
        [
            (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
            for device in ("cpu", "cuda")
            if torch.is_autocast_enabled(device)
        ]
    )


def intercepted() -> bool:
    """Whether a mode, a function transform or forward-mode differentiation redefines operators."""
    return bool(
        torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
        or torch._C._functorch.peek_interpreter_stack()
        or forward_ad._current_level >= 0
    )


def first_occurrences(*tensors: object) -> tuple[int, ...]:
    """The index of each tensor's first occurrence."""
    first: dict[int, int] = {}
    return tuple([first.setdefault(id(tensor), place) for place, tensor in enumerate(tensors)])


def kind_of(leaf: object) -> Kind:
    if isinstance(leaf, torch.Tensor):
        return "tensor"
    if type(leaf) is int:
        return "integer"
    if type(leaf) is float:
        return "float"
    return "value" if type(leaf) in VALUES else "object"


class GraphArguments:
    """The inputs of a graph, as the call had them for which it was captured."""

    def __init__(self, names: Sequence[str], values: Sequence[object]) -> None:
        """Raises Unsupported for a tensor that the tracer does not accept."""
        self.leaves: list[Leaf] = []
        for place, (name, value) in enumerate(zip(names, values, strict=True)):
            kind = kind_of(value)
            if isinstance(value, torch.Tensor):
                check_supported(name, value)
            known = {leaf.name for leaf in self.leaves} | {*AMBIENT, "repeated"}
            local = name if usable(f"{name}_") and not name.startswith("_") else f"arg{place}"
            while local in known or local in BUILTINS or local.endswith("_identity") or not usable(local):
                local += "_"
            rank = value.dim() if isinstance(value, torch.Tensor) else 0
            self.leaves.append(Leaf(local, kind, type(value), rank))
        self.tensors = [place for place, leaf in enumerate(self.leaves) if leaf.kind == "tensor"]
        self._kept = [value for leaf, value in zip(self.leaves, values) if leaf.kind == "object"]
        """Objects compared by identity, which no other object may take over."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for calls with inputs of the same kinds."""
        return tuple([(leaf.kind, leaf.type, leaf.rank) for leaf in self.leaves])

    @property
    def names(self) -> list[str]:
        """The arguments of the dispatch: inputs, identities, bits of floats, and ambient state."""
        objects = [f"{leaf.name}_identity" for leaf in self.leaves if leaf.kind == "object"]
        floats = [f"{leaf.name}_bits" for leaf in self.leaves if leaf.kind == "float"]
        return [*[leaf.name for leaf in self.leaves], *objects, *floats, *AMBIENT, "repeated"]

    def values(self, given: Sequence[Any]) -> list[object]:
        """The values of `names` for a call."""
        objects = [id(value) for leaf, value in zip(self.leaves, given) if leaf.kind == "object"]
        floats = [bits(value) for leaf, value in zip(self.leaves, given) if leaf.kind == "float"]
        ambient = [torch.is_grad_enabled(), torch.get_default_dtype(), autocast()]
        return [*given, *objects, *floats, *ambient, self.repeated(given)]

    def repeated(self, given: Sequence[object]) -> tuple[int, ...] | None:
        """The pattern of tensors that are the same object, or None."""
        tensors = [given[place] for place in self.tensors]
        found = first_occurrences(*tensors)
        return found if len(set(found)) < len(found) else None

    # ------------------------------------------------------------------ generated code

    def prologue(self) -> Prologue:
        """The statements that read a call's inputs, and return `default` for inputs of other kinds."""
        scope: dict[str, object] = {}
        names = [leaf.name for leaf in self.leaves]
        lines = [f"if len(_args) != {len(names)}:", "    return default"]
        if names:
            lines.append(f"{', '.join(names)}, = _args")
        read: dict[Path, str] = {}
        reading: list[str] = []
        for place, leaf in enumerate(self.leaves):
            if leaf.kind == "value":
                continue
            scope[f"_type_{place}"] = leaf.type
            lines += [f"if type({leaf.name}) is not _type_{place}:", "    return default"]
            if leaf.kind == "tensor":
                reading += list(_tensor_reads(leaf, read))
        if reading:
            # another rank, or a layout without strides
            lines += ["try:", *reading, "except (ValueError, RuntimeError):", "    return default"]
        for leaf in self.leaves:
            if leaf.kind == "object":
                lines.append(f"{leaf.name}_identity = id({leaf.name})")
            elif leaf.kind == "float":
                scope["_bits"] = bits
                lines.append(f"{leaf.name}_bits = _bits({leaf.name})")
        lines += self._ambient(scope)
        return Prologue(("_args",), tuple(lines), read, scope)

    def _ambient(self, scope: dict[str, object]) -> list[str]:
        scope["_intercepted"], scope["_pattern"] = intercepted, first_occurrences
        scope["_grad_mode"], scope["_default_dtype"] = torch.is_grad_enabled, torch.get_default_dtype
        scope["_autocast"] = autocast
        tensors = [self.leaves[place].name for place in self.tensors]
        if len(tensors) <= PAIRS:
            same = " or ".join([f"{a} is {b}" for place, a in enumerate(tensors) for b in tensors[:place]])
        else:
            same = f"len({{{', '.join([f'id({name})' for name in tensors])}}}) != {len(tensors)}"
        return [
            "if _intercepted():",
            "    return default",
            "grad_mode = _grad_mode()",
            "default_dtype = _default_dtype()",
            "autocast = _autocast()",
            f"repeated = _pattern({', '.join(tensors)}) if {same} else None" if same else "repeated = None",
        ]

    # ------------------------------------------------------------------ guards

    def check(self, variant: Variant, repeated: Sequence[int] | None, *, floats: bool = True) -> Check:
        """The check of a call's numbers for a variant; without `floats`, constant floats are left to the caller."""
        sources: dict[str, Source | list[Source]] = {}
        sized: set[str] = set()
        numbers = [number for number in variant.integers if number.is_float]
        named = [leaf for leaf in self.leaves if leaf.kind == "float"]
        if floats:
            bits_of = zip(named, numbers, strict=True)
            sources.update({number.symbol: (f"{leaf.name}_bits",) for leaf, number in bits_of})
        doubles = set(sources)
        inputs = iter(variant.inputs)
        for number, place in enumerate(self.tensors):
            if repeated is not None and repeated[number] != number:
                continue
            for symbol, path in next(inputs).symbols:
                if is_backed(variant, symbol):
                    sources[symbol] = (self.leaves[place].name, *path)
                    sized.add(symbol)
        integers = [leaf for leaf in self.leaves if leaf.kind == "integer"]
        for leaf, each in zip(integers, [each for each in variant.integers if not each.is_float], strict=True):
            if each.choice.kind != "unbacked":
                sources[each.symbol] = (leaf.name,)
        known = {**dict.fromkeys(sized, (0, LARGEST)), **dict.fromkeys(doubles, (0, 2**64 - 1))}
        return variant.env.compile_guards(sources, arguments=self.names, known=known)

    def tests(self, given: Mapping[str, Any], *, marks_matter: bool) -> dict[Source, Hashable]:
        """The expected values of all that are no sizes, from the values of `names`."""
        tests: dict[Source, Hashable] = {}
        for leaf in self.leaves:
            value = given[leaf.name]
            if leaf.kind == "tensor":
                tests.update({(leaf.name, step): wanted for step, wanted in _properties(value, marks_matter)})
            elif leaf.kind == "value":
                kind: type = type(value)
                tests[leaf.name, ".__class__"] = kind
                if type(value) is complex:
                    # 0.0 == -0.0
                    tests[leaf.name, ".__repr__()"] = repr(value)
                elif value is not None and value is not Ellipsis:
                    tests[leaf.name,] = value
            elif leaf.kind == "object":
                tests[f"{leaf.name}_identity",] = id(value)
        tests.update({(name,): given[name] for name in (*AMBIENT, "repeated")})
        return tests


def _tensor_reads(leaf: Leaf, read: dict[Path, str]) -> Iterator[str]:
    """Statements that read a tensor's sizes and properties into locals, which are noted in `read`."""
    sizes = [f"_{leaf.name}_size{axis}" for axis in range(leaf.rank)]
    unpacked = f"{', '.join(sizes)}," if sizes else "()"
    yield f"    {unpacked} = {leaf.name}.shape"
    read.update({(leaf.name, ".shape", axis): size for axis, size in enumerate(sizes)})
    for step in READ:
        local = read[leaf.name, step] = f"_{leaf.name}_{step[1:].removesuffix('()')}"
        yield f"    {local} = {leaf.name}{step}"


def _properties(value: torch.Tensor, marks_matter: bool) -> Iterator[tuple[str, Hashable]]:
    for step in READ:
        attribute = getattr(value, step[1:].removesuffix("()"))
        yield step, attribute() if step.endswith("()") else attribute
    if value.dtype.is_complex:
        yield ".is_conj()", value.is_conj()
    if marks_matter:
        yield ".is_neg()", value.is_neg()


def is_backed(variant: Variant, symbol: str) -> bool:
    """Whether guards may be about a symbol."""
    (atom,) = variant.env.names[symbol].symbols
    return variant.env.symbols[atom].kind == "backed"
