"""Native dispatch: calls in C for variants that consist of kernels alone.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x, y, z: torch.relu(x * y + z), backend="cpu")
    >>> x, y, z = torch.tensor([-1.0, 2.0]), torch.tensor([1.0, 3.0]), torch.ones(2)
    >>> f(x, y, z)
    tensor([0., 7.])
    >>> f.native.entry((x, y, z), {})
    tensor([0., 7.])
    >>> f.native.entry((x, y, 3), {})
    NotImplemented

The CPU backend's launcher unpacks the arguments, finds the variant, allocates and runs it. If it returns
NotImplemented, the general dispatch handles the call (`frontends.pytorch.calls.signatures`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from torch.utils._pytree import TreeSpec

from backends.cpu.launcher.entry import Call, Form, Leaf, Structure, Variant, made_entry
from backends.cpu.launcher.program import Description, Fixed, make_native
from backends.cpu.launcher.whole_graph import described
from frontends.pytorch.calls import forms
from frontends.pytorch.calls.argument_unpacking import Kind, changeable, constant_state
from frontends.pytorch.calls.result_assembly import assembler
from frontends.pytorch.calls.signatures import Signature
from frontends.pytorch.graphs.captured import in_graph
from frontends.pytorch.python.memoized import replayed
from frontends.pytorch.variant import Variant as Traced
from shapes.guards.codegen import Check
from shapes.guards.emit_c import NotNative
from shapes.guards.toolchain import Unavailable

MOST: Final = 64
"""An entry tries its variants in sequence; further ones are found by the decision tree."""


class Native:
    """The host programs of a function's variants.

    Attributes:
        entry: runs a call, or returns NotImplemented; None if no variant is a host program.
    """

    def __init__(self) -> None:
        self.entry: Call | None = None
        self._variants: dict[Signature, list[Variant]] = {}

    def add(self, signature: Signature, variant: Traced, values: Sequence[object], check: Check) -> None:
        """Add a variant traced for these values of the signature's arguments."""
        known = self._variants.setdefault(signature, [])
        if len(known) >= MOST:
            return
        try:
            made = _variant(signature, variant, dict(zip(signature.arguments, values)), check)
            made_entry([_form(signature, next(iter(signature.forms)), [made])])
        except NotNative:
            return
        known.append(made)

    def refresh(self) -> None:
        """Rebuild the entry for the current variants and forms."""
        entries = [
            _form(signature, form, variants)
            for signature, variants in self._variants.items()
            for form in signature.forms
            if variants
        ]
        self.entry = made_entry(entries) if entries else None


def _form(signature: Signature, form: forms.Form, variants: Sequence[Variant]) -> Form:
    """The entry for calls of one form."""
    arguments, named = signature.structure.children()
    is_flat = not named.context and all(child.is_leaf() for child in arguments.children())
    return Form(
        tuple([Leaf(_kind(leaf.kind), leaf.type, leaf.rank) for leaf in signature.leaves]),
        tuple(variants),
        None if is_flat else (_structure(arguments), _structure(named)),
        None if signature.captured_state is constant_state else signature.captured_state,
        None if form.expression is None else _bind(form),
    )


def _structure(spec: TreeSpec) -> Structure:
    if spec.is_leaf():
        return None
    if spec.type not in (tuple, list, dict):
        raise NotNative(f"arguments in a {spec.type.__qualname__}")
    keys = tuple(spec.context) if spec.type is dict else ()
    return spec.type, keys, tuple([_structure(child) for child in spec.children()])


def _bind(form: forms.Form) -> Call:
    """A function that binds the arguments, or returns None for another form."""
    lines = [*form.statements(checked=True), "return _args, _kwargs"]
    scope: dict[str, Any] = {**(form.scope or {}), "default": None}
    text = "\n".join(["def bind(_args, _kwargs):", *["    " + line for line in lines]])
    exec(compile(text, "<bind>", "exec"), scope)
    return scope.pop("bind")


def _variant(signature: Signature, variant: Traced, given: Mapping[str, Any], check: Check) -> Variant:
    """A variant for the launcher.

    Raises:
        NotNative: it needs something that the launcher lacks.
    """
    refused = {
        "there is a gradient": variant.joint is not None or any(variant.with_gradient),
        "there is a float that varies": any(number.is_float for number in variant.numbers),
        "autocast is on": given["autocast"] is not None,
        "a container that was given is returned or changed": variant.given_back or variant.needs_distinct,
        "a container that was given may be one that is changed": variant.effects and changeable(signature.structure),
        "a tensor is returned beside a detached one in the same memory": _returns_detached_beside(variant),
    }
    for reason in [reason for reason, is_so in refused.items() if is_so]:
        raise NotNative(reason)
    tensors = variant.places[: len(variant.inputs)]
    integers = variant.places[len(variant.inputs) :]
    fixed = [place for place, leaf in enumerate(signature.leaves) if leaf.kind == "integer" and place not in integers]
    integers = (*integers, *fixed)
    program = make_native(_description(signature, variant, tensors, integers, check))
    if isinstance(program, Unavailable):
        raise NotNative(program.reason)
    return Variant(
        program,
        tuple([_expected(leaf.kind, given[leaf.name]) for leaf in signature.leaves]),
        given["grad_mode"],
        given["default_dtype"],
        None if signature.captured_state is constant_state else given["captured_state"],
        tensors,
        integers,
        {signature.tensors[place]: signature.tensors[first] for place, first in enumerate(given["repeated"] or ())},
        replayed(variant.memoized),
    )


def _returns_detached_beside(variant: Traced) -> bool:
    """Whether one value is returned as several tensors: the launcher would return one tensor several times."""
    how = () if variant.relations is None else variant.relations.how
    apart = [output for output, each in zip(variant.outputs, how) if each == "apart"]
    return any(sum([other is output for other in variant.outputs]) > 1 for output in apart)


def _kind(kind: Kind) -> Literal["tensor", "integer", "value", "object"]:
    """The launcher's kind of an argument; floats are compared by their bits."""
    return "value" if kind == "float" else kind


def _expected(kind: str, value: Any) -> object:
    """The launcher's guards on a leaf, besides its class and sizes."""
    return value.requires_grad if kind == "tensor" else None if kind == "integer" else value


def _description(
    signature: Signature, variant: Traced, tensors: Sequence[int], integers: Sequence[int], check: Check
) -> Description:
    """The host program of a variant, with the check's names of arguments."""
    if variant.running is None or len(variant.running.hosts) != 1:
        raise NotNative("it runs operator by operator")
    described_by_place = described(variant.running.hosts[0])
    names = {f"x{place}": signature.leaves[leaf].name for place, leaf in enumerate(tensors)}
    names.update({f"n{place}": signature.leaves[leaf].name for place, leaf in enumerate(integers)})
    if len(described_by_place.outputs) != len(variant.outputs):
        raise NotNative("other outputs than those of the function")
    return replace(
        described_by_place,
        tensors=[
            replace(tensor, name=names[tensor.name], contiguous=given.contiguous)
            for tensor, given in zip(described_by_place.tensors, variant.inputs, strict=True)
        ],
        integers=[signature.leaves[leaf].name for leaf in integers],
        symbols={symbol: (names[str(head)], *steps) for symbol, (head, *steps) in described_by_place.symbols.items()},
        outputs=[
            output if in_graph(value) else Fixed(value)
            for output, value in zip(described_by_place.outputs, variant.outputs)
        ],
        structure=_returned(variant),
        guards=check,
    )


def _returned(variant: Traced) -> Callable[[list[object]], object] | None:
    """The assembly of outputs: None for a single one, `tuple`, `list`, or a function of them, which also performs the
    side effects after the kernels."""
    spec = variant.structure
    if not variant.effects and spec.is_leaf():
        return None
    if not variant.effects and spec.type in (tuple, list) and all(child.is_leaf() for child in spec.children()):
        return spec.type
    return assembler(spec, variant.effects)
