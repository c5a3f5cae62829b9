"""Call signatures: pytree structure and types of the arguments, and the dispatch among variants for each.

    >>> import torch
    >>> from frontends.pytorch.calls.signatures import Signature
    >>> def f(batch, scale): ...
    >>> signature = Signature.of(f, ({"x": torch.ones(2, 3), "n": 4}, 0.5), {})
    >>> [(leaf.name, leaf.kind) for leaf in signature.leaves]
    [('batch_0', 'tensor'), ('batch_1', 'integer'), ('scale', 'float')]
    >>> print(*signature.dispatch.prologue.statements[:6], sep="\\n")
    if len(_args) != 2 or _kwargs:
        return default
    _node_0, scale = _args
    if type(_node_0) is not dict or list(_node_0) != _keys_0:
        return default
    batch_0, batch_1 = _node_0.values()

Calls of one form (`frontends.pytorch.calls.forms`) share a `Dispatch`: one generated function that reads sizes, dtype,
device, layout and all other guarded properties once, and finds the variant by a decision tree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves

from frontends.pytorch.calls.argument_unpacking import (
    READ,
    Call,
    Kind,
    Leaf,
    UnpackingPrinter,
    autocast,
    constant_state,
    local_name,
    pattern,
)
from frontends.pytorch.calls.forms import Form
from frontends.pytorch.errors import unsupported
from frontends.pytorch.python.python_calls import pattern as pattern_of
from frontends.pytorch.python.wrappers import opened
from frontends.pytorch.recording.arguments import leaf_names
from frontends.pytorch.recording.inputs import LARGEST, check_supported
from frontends.pytorch.running import Run
from frontends.pytorch.variant import Variant
from shapes.env import ShapeEnv
from shapes.guards.arguments import Path, Source
from shapes.guards.codegen import Check
from shapes.guards.dispatch import Dispatch

VALUES: Final = (
    *(bool, complex, str, bytes, type(None), type(Ellipsis)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)
"""Classes whose instances are compared by value."""
AMBIENT: Final[Mapping[str, Callable[[], object]]] = {
    "grad_mode": torch.is_grad_enabled,
    "default_dtype": torch.get_default_dtype,
    "autocast": lambda: autocast() if torch._C._is_any_autocast_enabled() else None,
}
"""Guarded ambient state."""


Lookup = Callable[[Sequence[object], Mapping[str, object]], Call | None]


class Lookups:
    """The look-ups of one form: variants, and fallbacks."""

    def __init__(self, signature: Signature, form: Form) -> None:
        self.printer = UnpackingPrinter(signature.leaves, signature.structure, form, signature.captured_state)
        prologue = self.printer.prologue()
        self.dispatch: Dispatch[Callable[..., object]] = Dispatch(signature.arguments, prologue=prologue)
        self.others: Dispatch[Callable[..., object]] = Dispatch(signature.arguments, prologue=prologue)


class Signature:
    """Calls with the same pytree structure and types of arguments.

    Attributes:
        leaves: the flattened arguments.
        forms: the argument forms of such calls, each with its look-ups.
        given_up: sources that are no longer tested before the eager fallback, since they always differ.
        otherwise: the fallback for all calls that no variant accepts, once there is one.
        keeps: whether such a call has stored one of its tensors where it outlives the call.
    """

    def __init__(
        self, leaves: Sequence[Leaf], structure: TreeSpec, form: Form, captured_state: Callable[[], object]
    ) -> None:
        self.leaves = tuple(leaves)
        self.structure = structure
        self.captured_state = captured_state
        self.tensors = [place for place, leaf in enumerate(leaves) if leaf.kind == "tensor"]
        self.given_up: set[Source] = set()
        self.otherwise: Call | None = None
        self.keeps = False
        self._kept: list[object] = []
        """Objects that are tested by identity, which nothing else may take over."""
        self._variants: list[tuple[Check, dict[Source, Hashable], Callable[[Lookups], Call]]] = []
        self._others: list[tuple[dict[Source, Hashable], Call]] = []
        self.forms: dict[Form, Lookups] = {form: Lookups(self, form)}

    @property
    def is_of_values(self) -> bool:
        """Whether the arguments are tensors and constants in built-in containers."""
        return all(leaf.kind != "object" for leaf in self.leaves)

    @staticmethod
    def of(
        fn: Callable[..., object],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        captured_state: Callable[[], object] = constant_state,
        form: Form | None = None,
    ) -> Signature:
        """The signature of a call: that of the bound arguments, whatever the form."""
        args, kwargs = opened((tuple(args), dict(sorted(kwargs.items()))))
        leaves, structure = tree_flatten((args, kwargs))
        if any_key_is_tensor(structure):
            unsupported("a dictionary whose keys are tensors", "pass the tensors as its values, or in a list")
        names = leaf_names(fn, args, kwargs, len(leaves))
        reserved = {*AMBIENT, "captured_state", "repeated"}
        described = []
        for place, (name, leaf) in enumerate(zip(names, leaves)):
            kind = kind_of(leaf)
            if kind == "tensor":
                check_supported(name, leaf)
            elif kind == "object" and is_dataclass(type(leaf)) and holds_tensors(leaf):
                what = f"{name}: a {type(leaf).__qualname__} that holds tensors, and is given twice or holds itself"
                unsupported(what, f"torch.utils._pytree.register_dataclass({type(leaf).__qualname__}), once")
            local = local_name(name, place, reserved)
            reserved.add(local)
            rank = leaf.dim() if isinstance(leaf, torch.Tensor) else 0
            described.append(Leaf(local, kind, type(leaf), rank, name))
        return Signature(described, structure, form or Form(len(args), tuple(kwargs)), captured_state)

    @property
    def dispatch(self) -> Dispatch[Callable[..., object]]:
        """The dispatch of the first form."""
        return next(iter(self.forms.values())).dispatch

    def knows(self, form: Form) -> bool:
        """Add a form; returns whether it was known."""
        if form in self.forms:
            return True
        made = self.forms[form] = Lookups(self, form)
        for check, tests, call in self._variants:
            made.dispatch.add(check, call(made), tests=tests)
        for tests, other in self._others:
            made.others.add(self._anything(), other, tests=tests)
        return False

    def depend_on(self, captured_state: Callable[[], object]) -> None:
        """Guard by this captured state, instead of the previous one."""
        self.captured_state = captured_state
        self._variants.clear()
        self._others.clear()
        self.forms = {form: Lookups(self, form) for form in self.forms}

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for calls of the same signature."""
        return self.structure, tuple([(leaf.kind, leaf.type, leaf.rank) for leaf in self.leaves])

    @property
    def arguments(self) -> list[str]:
        """The arguments of the dispatch: leaves, identities of objects, and captured state."""
        objects = [f"{leaf.name}_identity" for leaf in self.leaves if leaf.kind == "object"]
        floats = [f"{leaf.name}_bits" for leaf in self.leaves if leaf.kind == "float"]
        return [*[leaf.name for leaf in self.leaves], *objects, *floats, *AMBIENT, "repeated", "captured_state"]

    def shown(self, path: Path) -> str:
        """The program's name for a guard source."""
        head, *steps = path
        for leaf in self.leaves:
            if head in (leaf.name, f"{leaf.name}_identity"):
                head = leaf.shown
        return "".join([str(step) for step in (head, *steps)])

    def values(self, leaves: Sequence[Any]) -> list[object]:
        """The values of `arguments` for a call."""
        objects = [id(value) for leaf, value in zip(self.leaves, leaves) if leaf.kind == "object"]
        floats = [pattern_of(value) for leaf, value in zip(self.leaves, leaves) if leaf.kind == "float"]
        ambient = [read() for read in AMBIENT.values()]
        return [*leaves, *objects, *floats, *ambient, self.repeated(leaves), self.captured_state()]

    def repeated(self, leaves: Sequence[object]) -> tuple[int, ...] | None:
        """The pattern of tensors that are the same object, or None."""
        tensors = [leaves[place] for place in self.tensors]
        return pattern(*tensors) if len({id(tensor) for tensor in tensors}) < len(tensors) else None

    def add(self, variant: Variant, values: Sequence[object], run: Run) -> Check:
        """Add a variant traced for these `values`; returns its check, without static floats, which the caller must
        compare."""
        given: dict[str, Any] = dict(zip(self.arguments, values))
        floats = {
            number.symbol: (f"{leaf.name}_bits",)
            for leaf, number in zip(
                [leaf for leaf in self.leaves if leaf.kind == "float"],
                [number for number in variant.integers if number.is_float],
                strict=True,
            )
        }
        check = self._check(variant, given["repeated"], floats)
        tests = self.tests(given, marks_matter=variant.marks_matter)
        self._variants.append((check, tests, lambda lookups: lookups.printer.call(variant, run)))
        for lookups in self.forms.values():
            lookups.dispatch.add(check, lookups.printer.call(variant, run), tests=tests)
        is_compared = floats and not any(number.is_float for number in variant.numbers)
        return self._check(variant, given["repeated"], {}) if is_compared else check

    def _check(self, variant: Variant, repeated: Sequence[int] | None, floats: Mapping[str, Source]) -> Check:
        """The check of a call's numbers for a variant."""
        sources: dict[str, Source | list[Source]] = dict(floats)
        in_tensors: set[str] = set()
        by_place = iter(variant.inputs)
        for place, leaf in enumerate(self.leaves):
            if leaf.kind == "tensor" and (repeated is None or self._is_first(place, repeated)):
                for symbol, path in next(by_place).symbols:
                    if is_backed(variant, symbol):
                        sources[symbol] = (leaf.name, *path)
                        in_tensors.add(symbol)
        integers = [leaf for leaf in self.leaves if leaf.kind == "integer"]
        for leaf, number in zip(integers, [each for each in variant.integers if not each.is_float]):
            if number.choice.kind != "unbacked":
                sources[number.symbol] = (leaf.name,)
        known = {**dict.fromkeys(in_tensors, (0, LARGEST)), **dict.fromkeys(floats, (0, 2**64 - 1))}
        return variant.env.compile_guards(sources, arguments=self.arguments, known=known)

    def add_other(self, values: Sequence[object], call: Call, *, but: Path | None) -> None:
        """Add a fallback for calls like this one, ignoring the sources in `but`."""
        if but is not None:
            self.given_up.add(but)
        # a fallback for arguments with the negative bit is not for others
        marked = any(isinstance(value, torch.Tensor) and value.is_neg() for value in values)
        tests = self.tests(dict(zip(self.arguments, values)), marks_matter=marked)
        tests = {path: wanted for path, wanted in tests.items() if path not in self.given_up}
        self._others.append((tests, call))
        for lookups in self.forms.values():
            lookups.others.add(self._anything(), call, tests=tests)

    def _anything(self) -> Check:
        return ShapeEnv().compile_guards({}, arguments=self.arguments)

    def _is_first(self, place: int, repeated: Sequence[int]) -> bool:
        """Whether this is a tensor's first occurrence."""
        number = self.tensors.index(place)
        return repeated[number] == number

    def tests(self, given: Mapping[str, Any], *, marks_matter: bool = False) -> dict[Source, Hashable]:
        """The expected values of all sources that are no sizes."""
        tests: dict[Source, Hashable] = {}
        for leaf in self.leaves:
            value = given[leaf.name]
            if leaf.kind == "tensor":
                for step in READ:
                    attribute = getattr(value, step[1:].removesuffix("()"))
                    tests[leaf.name, step] = attribute() if step.endswith("()") else attribute
                if value.dtype.is_complex:
                    # the negative bit changes the value of the same memory
                    tests[leaf.name, ".is_conj()"] = value.is_conj()
                if marks_matter:
                    tests[leaf.name, ".is_neg()"] = value.is_neg()
            elif leaf.kind == "value":
                tests.update(value_tests(leaf.name, value))
            elif leaf.kind == "object":
                self._kept.append(value)
                tests[f"{leaf.name}_identity",] = id(value)
        for name in (*AMBIENT, "repeated", "captured_state"):
            tests[name,] = given[name]
        return tests


def is_backed(variant: Variant, symbol: str) -> bool:
    """Whether guards may be about a symbol."""
    (atom,) = variant.env.names[symbol].symbols
    return variant.env.symbols[atom].kind == "backed"


def flattened(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[list[object], TreeSpec]:
    """The leaves of a call's arguments; keyword arguments are sorted by name."""
    return tree_flatten(opened((tuple(args), dict(sorted(kwargs.items())))))


def kind_of(leaf: object) -> Kind:
    if isinstance(leaf, torch.Tensor):
        return "tensor"
    if type(leaf) is int:
        return "integer"
    if type(leaf) is float:
        return "float"
    return "value" if type(leaf) in VALUES else "object"


def holds_tensors(leaf: Any) -> bool:
    """Whether a field of a dataclass object, possibly with slots, contains a tensor; one may be missing."""
    values = [getattr(leaf, field.name, None) for field in fields(type(leaf))]
    return any(isinstance(each, torch.Tensor) for each in tree_leaves(values))


def any_key_is_tensor(structure: TreeSpec) -> bool:
    """Whether a structure has a tensor as a key: tensors are compared by identity there."""
    keys = tree_leaves(structure.context) if structure.type is not None else ()
    return any(isinstance(key, torch.Tensor) for key in keys) or any(map(any_key_is_tensor, structure.children()))


def value_tests(name: str, value: Any) -> dict[Source, Hashable]:
    """The tests that identify a value: complex numbers by text, since 0.0 == -0.0."""
    kind: type = type(value)
    tests: dict[Source, Hashable] = {(name, ".__class__"): kind}
    if type(value) is complex:
        tests[name, ".__repr__()"] = repr(value)
    elif value is not None and value is not Ellipsis:
        tests[name,] = value
    return tests


def lookup_of(signatures: Iterable[Signature]) -> Lookup:
    """Combine the look-ups of all forms: variants first, then fallbacks."""
    forms = [lookups for signature in signatures for lookups in signature.forms.values()]
    both = [*[lookups.dispatch for lookups in forms], *[lookups.others for lookups in forms]]
    filled = [dispatch for dispatch in both if dispatch.entries]
    for dispatch in filled:
        dispatch.lookup((), {})
    found = [dispatch.lookup for dispatch in filled]

    def lookup(args: Sequence[object], kwargs: Mapping[str, object]) -> Call | None:
        for each in found:
            call = each(args, kwargs)
            if call is not None:
                return call
        return None

    return found[0] if len(found) == 1 else lookup


def decisive(leaf: object) -> object:
    """The key properties of an argument, without the argument itself."""
    if isinstance(leaf, torch.Tensor):
        return leaf.shape, leaf.stride()
    return type(leaf) if kind_of(leaf) == "object" else leaf


