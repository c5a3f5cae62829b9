"""Native dispatch: calls in C for variants that consist of kernels alone.

    >>> import torch
    >>> from frontends.pytorch.variants.compiled_graph import CompiledGraph
    >>> graph = CompiledGraph(lambda x, y: (torch.relu(x * y),), ["x", "y"], None, backend="cpu")
    >>> x, y = torch.tensor([-1.0, 2.0]), torch.tensor([1.0, 3.0])
    >>> graph(x, y)
    [tensor([0., 6.])]
    >>> graph.entry((x, y), {}), graph.entry((x, 3), {})
    ([tensor([0., 6.])], NotImplemented)

The CPU backend's launcher checks the inputs, finds the variant, allocates and runs it. Of a variant that calls
operators or has a gradient it tests the guards, which takes a tenth of the time that Python takes. If it returns
NotImplemented, the generated dispatch handles the call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from backends.cpu.launcher.entry import EVERYTHING, Asks, Call, Form, Leaf, Variant, made_entry
from backends.cpu.launcher.program import Description, Fixed, TensorArgument, make_native
from backends.cpu.launcher.whole_graph import described
from frontends.pytorch.graphs.form import in_graph
from frontends.pytorch.graphs.outputs import Outputs, View
from frontends.pytorch.variant import Variant as Traced
from frontends.pytorch.variants.arguments import GraphArguments
from frontends.pytorch.variants.arguments import Leaf as Given
from shapes.choices import STATIC
from shapes.guards.codegen import Check
from shapes.guards.emit_c import NotNative
from shapes.guards.toolchain import Unavailable

MOST: Final = 64
"""An entry tries its variants in sequence; further ones are found by the decision tree."""
Variants = dict[GraphArguments, list[Variant]]


class Native:
    """The host programs of a graph's variants, and the guards of those that are none.

    Attributes:
        entry: runs a call, or returns NotImplemented; None if no variant is a host program.
        found: finds the callable for a call, or returns NotImplemented; None if all variants are host programs.
        programs: each with its inputs and its description.
    """

    def __init__(self, asks: Sequence[Asks] = EVERYTHING) -> None:
        """`asks` are the settings and marks that a call is checked for; the caller guards all others."""
        self.asks = asks
        self.entry: Call | None = None
        self.found: Call | None = None
        self.programs: list[tuple[GraphArguments, Variant, Description]] = []
        self._run: Variants = {}
        self._found: Variants = {}
        self._marks_matter = False

    def add(
        self,
        arguments: GraphArguments,
        variant: Traced,
        given: Mapping[str, Any],
        call: Callable[..., object],
        check: Check,
    ) -> None:
        """Add a variant that was traced for these values of the arguments' names, with its check: it runs in C, or
        `call` is found. A variant with a varying float is left out.
        """
        if any(each.is_float and each.choice is not STATIC for each in variant.integers):
            return
        if any(leaf.kind == "float" for leaf in arguments.leaves):
            # the launcher compares constant floats itself
            check = arguments.check(variant, floats=False)
        try:
            made, description = native_variant(arguments, variant, given, check)
            entry = _entry(self._run, arguments, made, self.asks)
        except NotNative:
            self._marks_matter |= variant.marks_matter
            asks = [each for each in self.asks if each != "marks" or self._marks_matter]
            with contextlib.suppress(NotNative):
                found = calling_variant(arguments, variant, given, call, check)
                self.found = _entry(self._found, arguments, found, asks)
            return
        self.programs.append((arguments, made, description))
        self.entry = entry


def _entry(known: Variants, arguments: GraphArguments, variant: Variant, asks: Sequence[Asks]) -> Call:
    """The entry of these variants and another one, which is added to them.

    Raises:
        NotNative: the launcher cannot read the arguments, or there are too many variants.
    """
    variants = [*known.get(arguments, ()), variant]
    if len(variants) > MOST:
        raise NotNative(f"more than {MOST} variants")
    more = {**known, arguments: variants}
    entry = made_entry([Form(tuple(map(leaf_of, each.leaves)), more[each]) for each in more], asks=asks)
    known[arguments] = variants
    return entry


def leaf_of(leaf: Given) -> Leaf:
    """An input for the launcher."""
    # floats are compared by their bits
    return Leaf("value" if leaf.kind == "float" else leaf.kind, leaf.type, leaf.rank)


def native_variant(
    arguments: GraphArguments, variant: Traced, given: Mapping[str, Any], check: Check
) -> tuple[Variant, Description]:
    """A variant for the launcher, and its description.

    Raises:
        NotNative: it needs an operation that the launcher lacks.
    """
    if variant.joint is not None or any(variant.with_gradient):
        raise NotNative("it computes gradients")
    if _returns_detached_beside(variant):
        raise NotNative("a tensor is returned beside a detached one in the same memory")
    description = _description(arguments, variant, check)
    made = _made(arguments, variant, given, description)
    passed = [given[arguments.leaves[place].name] for place in (*made.tensors, *made.integers)]
    if description.has_operators and made.program(*passed) is NotImplemented:
        raise NotNative("its operators are faster by torch")
    return made, description


def calling_variant(
    arguments: GraphArguments,
    variant: Traced,
    given: Mapping[str, Any],
    call: Callable[..., object],
    check: Check,
) -> Variant:
    """A variant for the launcher that tests the guards, and whose result is a callable.

    Raises:
        NotNative: the launcher cannot test a guard.
    """
    leaves = [arguments.leaves[place] for place in arguments.tensors]
    description = Description(
        tensors=[
            TensorArgument(leaf.name, str(each.dtype).removeprefix("torch."), leaf.rank, each.contiguous)
            for leaf, each in zip(leaves, variant.inputs, strict=True)
        ],
        integers=[arguments.leaves[place].name for place in arguments.integers],
        symbols={},
        outputs=[Fixed(call)],
        launches=[],
        structure=None,
        guards=check,
    )
    return _made(arguments, variant, given, description)


def _made(arguments: GraphArguments, variant: Traced, given: Mapping[str, Any], description: Description) -> Variant:
    """A variant for the launcher."""
    if given["autocast"] is not None:
        raise NotNative("autocast is on")
    program = make_native(description)
    if isinstance(program, Unavailable):
        raise NotNative(program.reason)
    kinds = [(leaf.kind, given[leaf.name]) for leaf in arguments.leaves]
    compared = tuple([x.requires_grad if kind == "tensor" else None if kind == "integer" else x for kind, x in kinds])
    places = tuple(arguments.tensors), tuple(arguments.integers)
    return Variant(program, compared, given["grad_mode"], given["default_dtype"], *places)


def _returns_detached_beside(variant: Traced) -> bool:
    """Return True if one value is returned as several tensors: the launcher would return one tensor several times."""
    how = () if variant.relations is None else variant.relations.how
    apart = [output for output, each in zip(variant.outputs, how) if each == "apart"]
    return any(sum([other is output for other in variant.outputs]) > 1 for output in apart)


def _description(arguments: GraphArguments, variant: Traced, check: Check) -> Description:
    """The host program of a variant, with the check's names of arguments."""
    if variant.running is None or len(variant.running.hosts) != 1:
        raise NotNative("it runs operator by operator")
    by_place = described(variant.running.hosts[0])
    leaves = arguments.leaves
    count = len(variant.inputs)
    names = {f"x{place}": leaves[leaf].name for place, leaf in enumerate(variant.places[:count])}
    names.update({f"n{place}": leaves[leaf].name for place, leaf in enumerate(variant.places[count:])})
    how = () if variant.relations is None else variant.relations.how
    hidden = tuple([each if isinstance(each, View) and each.of == "hidden" else None for each in how])
    if len(by_place.outputs) != len(variant.outputs):
        raise NotNative("its outputs are not those of the function")
    outputs = [each if in_graph(value) else Fixed(value) for each, value in zip(by_place.outputs, variant.outputs)]
    return replace(
        by_place,
        tensors=[
            replace(tensor, name=names[tensor.name], contiguous=given.contiguous)
            for tensor, given in zip(by_place.tensors, variant.inputs, strict=True)
        ],
        integers=[leaves[leaf].name for leaf in arguments.integers],
        symbols={symbol: (names[str(head)], *steps) for symbol, (head, *steps) in by_place.symbols.items()},
        outputs=outputs,
        changed=Outputs(hidden).around(list) if any(hidden) else None,
        guards=check,
    )
