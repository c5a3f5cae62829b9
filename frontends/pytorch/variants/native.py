"""Native dispatch: calls in C for variants that consist of kernels alone.

    >>> import torch
    >>> from frontends.pytorch.variants.compiled_graph import CompiledGraph
    >>> graph = CompiledGraph(lambda x, y: (torch.relu(x * y),), ["x", "y"], None, backend="cpu")
    >>> x, y = torch.tensor([-1.0, 2.0]), torch.tensor([1.0, 3.0])
    >>> graph(x, y)
    [tensor([0., 6.])]
    >>> graph.entry((x, y), {}), graph.entry((x, 3), {})
    ([tensor([0., 6.])], NotImplemented)

The CPU backend's launcher checks the inputs, finds the variant, allocates and runs it. If it returns NotImplemented,
the generated dispatch handles the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from backends.cpu.launcher.entry import EVERYTHING, Asks, Call, Form, Leaf, Variant, made_entry
from backends.cpu.launcher.program import Description, Fixed, make_native
from backends.cpu.launcher.whole_graph import described
from frontends.pytorch.graphs.form import in_graph
from frontends.pytorch.recording.inputs import STATIC
from frontends.pytorch.variant import Variant as Traced
from frontends.pytorch.variants.arguments import GraphArguments
from frontends.pytorch.variants.arguments import Leaf as Given
from shapes.guards.codegen import Check
from shapes.guards.emit_c import NotNative
from shapes.guards.toolchain import Unavailable

MOST: Final = 64
"""An entry tries its variants in sequence; further ones are found by the decision tree."""


class Native:
    """The host programs of a graph's variants.

    Attributes:
        entry: runs a call, or returns NotImplemented; None if no variant is a host program.
        programs: each with its inputs and its description.
    """

    def __init__(self, asks: Sequence[Asks] = EVERYTHING) -> None:
        """With fewer `asks`, the caller guards the rest of what tensors do not show."""
        self.asks = asks
        self.entry: Call | None = None
        self.programs: list[tuple[GraphArguments, Variant, Description]] = []
        self._variants: dict[GraphArguments, list[Variant]] = {}

    def add(self, arguments: GraphArguments, variant: Traced, given: Mapping[str, Any]) -> None:
        """Add a variant that was traced for these values of the arguments' names, where it can run in C."""
        known = self._variants.setdefault(arguments, [])
        if len(known) >= MOST:
            return
        try:
            made, description = native_variant(arguments, variant, given)
            made_entry([_form(arguments, [made])])
        except NotNative:
            return
        known.append(made)
        self.programs.append((arguments, made, description))
        forms = [_form(each, variants) for each, variants in self._variants.items() if variants]
        self.entry = made_entry(forms, asks=self.asks)


def _form(arguments: GraphArguments, variants: Sequence[Variant]) -> Form:
    return Form(tuple(map(leaf_of, arguments.leaves)), tuple(variants))


def leaf_of(leaf: Given) -> Leaf:
    """An input for the launcher."""
    # floats are compared by their bits
    return Leaf("value" if leaf.kind == "float" else leaf.kind, leaf.type, leaf.rank)


def native_variant(
    arguments: GraphArguments, variant: Traced, given: Mapping[str, Any]
) -> tuple[Variant, Description]:
    """A variant for the launcher, and its description.

    Raises:
        NotNative: it needs something that the launcher lacks.
    """
    refused = {
        "there is a gradient": variant.joint is not None or any(variant.with_gradient),
        "there is a float that varies": any(each.is_float and each.choice is not STATIC for each in variant.integers),
        "autocast is on": given["autocast"] is not None,
        "a tensor is returned beside a detached one in the same memory": _returns_detached_beside(variant),
    }
    for reason in [reason for reason, is_so in refused.items() if is_so]:
        raise NotNative(reason)
    check = arguments.check(variant, floats=False)
    leaves = arguments.leaves
    tensors = variant.places[: len(variant.inputs)]
    integers = variant.places[len(variant.inputs) :]
    fixed = [place for place, leaf in enumerate(leaves) if leaf.kind == "integer" and place not in integers]
    integers = (*integers, *fixed)
    description = _description(arguments, variant, tensors, integers, check)
    program = make_native(description)
    if isinstance(program, Unavailable):
        raise NotNative(program.reason)
    made = Variant(
        program,
        tuple([_expected(leaf.kind, given[leaf.name]) for leaf in leaves]),
        given["grad_mode"],
        given["default_dtype"],
        tensors,
        integers,
    )
    return made, description


def _returns_detached_beside(variant: Traced) -> bool:
    """Return True if one value is returned as several tensors: the launcher would return one tensor several times."""
    how = () if variant.relations is None else variant.relations.how
    apart = [output for output, each in zip(variant.outputs, how) if each == "apart"]
    return any(sum([other is output for other in variant.outputs]) > 1 for output in apart)


def _expected(kind: str, value: Any) -> object:
    """The launcher's guards on an input, besides its class and sizes."""
    return value.requires_grad if kind == "tensor" else None if kind == "integer" else value


def _description(
    arguments: GraphArguments, variant: Traced, tensors: Sequence[int], integers: Sequence[int], check: Check
) -> Description:
    """The host program of a variant, with the check's names of arguments."""
    if variant.running is None or len(variant.running.hosts) != 1:
        raise NotNative("it runs operator by operator")
    by_place = described(variant.running.hosts[0])
    leaves = arguments.leaves
    names = {f"x{place}": leaves[leaf].name for place, leaf in enumerate(tensors)}
    names.update({f"n{place}": leaves[leaf].name for place, leaf in enumerate(integers)})
    if len(by_place.outputs) != len(variant.outputs):
        raise NotNative("other outputs than those of the function")
    return replace(
        by_place,
        tensors=[
            replace(tensor, name=names[tensor.name], contiguous=given.contiguous)
            for tensor, given in zip(by_place.tensors, variant.inputs, strict=True)
        ],
        integers=[leaves[leaf].name for leaf in integers],
        symbols={symbol: (names[str(head)], *steps) for symbol, (head, *steps) in by_place.symbols.items()},
        outputs=[
            output if in_graph(value) else Fixed(value) for output, value in zip(by_place.outputs, variant.outputs)
        ],
        structure=list,
        guards=check,
    )
