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

Inputs are distinct tensors and numbers in a flat sequence, as Dynamo gives them. A graph with other inputs runs as it
was captured, and so does a call that gives one tensor twice.
"""

from __future__ import annotations

import builtins
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch.autograd import forward_ad

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.callers import check_supported
from frontends.pytorch.variant import Variant
from shapes.choices import LARGEST
from shapes.guards.arguments import Path, Prologue, Source, usable
from shapes.guards.codegen import Check
from solver.floats.ordinals import pattern as bits

Kind = Literal["tensor", "integer", "float"]
READ: Final = (".dtype", ".device", ".requires_grad", ".is_contiguous()")
"""The properties of a tensor that every variant guards besides sizes."""
AMBIENT: Final = ("grad_mode", "default_dtype", "autocast")
"""Guarded ambient state."""
BUILTINS: Final = frozenset(dir(builtins))


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
    """Return True if a mode, a function transform or forward-mode differentiation redefines operators."""
    return bool(
        torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
        or torch._C._functorch.peek_interpreter_stack()
        or forward_ad._current_level >= 0
    )


def is_repeated(args: Sequence[object]) -> bool:
    """Return True if a tensor is given twice."""
    tensors = [id(each) for each in args if isinstance(each, torch.Tensor)]
    return len(set(tensors)) < len(tensors)


def kind_of(name: str, value: object) -> Kind:
    """Raises Unsupported for an input that is no tensor and no number."""
    if isinstance(value, torch.Tensor):
        check_supported(name, value)
        return "tensor"
    if type(value) is int:
        return "integer"
    if type(value) is float:
        return "float"
    unsupported(f"{name}: an input of the class {type(value).__qualname__}", "pass tensors and numbers")


class GraphArguments:
    """The inputs of a graph, as the call had them for which it was captured."""

    def __init__(self, names: Sequence[str], values: Sequence[object]) -> None:
        """Raises Unsupported for an input that the tracer does not accept."""
        self.leaves: list[Leaf] = []
        for place, (name, value) in enumerate(zip(names, values, strict=True)):
            kind = kind_of(name, value)
            known = {leaf.name for leaf in self.leaves} | {*AMBIENT}
            local = name if usable(f"{name}_") and not name.startswith("_") else f"arg{place}"
            while local in known or local in BUILTINS or not usable(local):
                local += "_"
            rank = value.dim() if isinstance(value, torch.Tensor) else 0
            self.leaves.append(Leaf(local, kind, type(value), rank))
        self.tensors = [place for place, leaf in enumerate(self.leaves) if leaf.kind == "tensor"]
        self.integers = [place for place, leaf in enumerate(self.leaves) if leaf.kind == "integer"]

    @property
    def key(self) -> tuple[object, ...]:
        """A key, equal for calls with inputs of the same kinds."""
        return tuple([(leaf.kind, leaf.type, leaf.rank) for leaf in self.leaves])

    @property
    def names(self) -> list[str]:
        """The arguments of the dispatch: inputs, bits of floats, and ambient state."""
        floats = [f"{leaf.name}_bits" for leaf in self.leaves if leaf.kind == "float"]
        return [*[leaf.name for leaf in self.leaves], *floats, *AMBIENT]

    def values(self, given: Sequence[Any]) -> list[object]:
        """The values of `names` for a call."""
        floats = [bits(value) for leaf, value in zip(self.leaves, given) if leaf.kind == "float"]
        ambient = [torch.is_grad_enabled(), torch.get_default_dtype(), autocast()]
        return [*given, *floats, *ambient]

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
            scope[f"_type_{place}"] = leaf.type
            lines += [f"if type({leaf.name}) is not _type_{place}:", "    return default"]
            if leaf.kind == "tensor":
                reading += list(_tensor_reads(leaf, read))
        if reading:
            # another rank, or a layout without strides
            lines += ["try:", *reading, "except (ValueError, RuntimeError):", "    return default"]
        for leaf in self.leaves:
            if leaf.kind == "float":
                scope["_bits"] = bits
                lines.append(f"{leaf.name}_bits = _bits({leaf.name})")
        lines += self._ambient(scope)
        return Prologue(("_args",), tuple(lines), read, scope)

    def _ambient(self, scope: dict[str, object]) -> list[str]:
        scope["_intercepted"] = intercepted
        scope["_grad_mode"], scope["_default_dtype"] = torch.is_grad_enabled, torch.get_default_dtype
        scope["_autocast"] = autocast
        tensors = [self.leaves[place].name for place in self.tensors]
        repeated = f"len({{{', '.join([f'id({name})' for name in tensors])}}}) != {len(tensors)}"
        return [
            "if _intercepted():" if len(tensors) < 2 else f"if _intercepted() or {repeated}:",
            "    return default",
            "grad_mode = _grad_mode()",
            "default_dtype = _default_dtype()",
            "autocast = _autocast()",
        ]

    # ------------------------------------------------------------------ guards

    def check(self, variant: Variant, *, floats: bool = True) -> Check:
        """The check of a call's numbers for a variant.

        Without `floats`, constant floats are left to the caller.
        """
        sources: dict[str, Source | list[Source]] = {}
        sized: set[str] = set()
        numbers = [number for number in variant.integers if number.is_float]
        named = [leaf for leaf in self.leaves if leaf.kind == "float"]
        if floats:
            bits_of = zip(named, numbers, strict=True)
            sources.update({number.symbol: (f"{leaf.name}_bits",) for leaf, number in bits_of})
        doubles = set(sources)
        for place, given in zip(self.tensors, variant.inputs, strict=True):
            for symbol, path in given.symbols:
                if is_backed(variant, symbol):
                    sources[symbol] = (self.leaves[place].name, *path)
                    sized.add(symbol)
        for place, each in zip(self.integers, [each for each in variant.integers if not each.is_float], strict=True):
            if each.choice.kind != "unbacked":
                sources[each.symbol] = (self.leaves[place].name,)
        known = {**dict.fromkeys(sized, (0, LARGEST)), **dict.fromkeys(doubles, (0, 2**64 - 1))}
        return variant.env.compile_guards(sources, arguments=self.names, known=known)

    def tests(self, given: Mapping[str, Any], *, marks_matter: bool) -> dict[Source, Hashable]:
        """The expected values of all that are no sizes, from the values of `names`."""
        tests: dict[Source, Hashable] = {}
        for leaf in self.leaves:
            value = given[leaf.name]
            if leaf.kind == "tensor":
                tests.update({(leaf.name, step): wanted for step, wanted in _properties(value, marks_matter)})
        tests.update({(name,): given[name] for name in AMBIENT})
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
    """Return True if guards may be about a symbol."""
    (atom,) = variant.env.names[symbol].symbols
    return variant.env.symbols[atom].kind == "backed"
