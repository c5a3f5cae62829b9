"""The form of a call: how its arguments nest, which of them are tensors, and generated code that takes it apart.

    >>> import torch
    >>> from frontends.pytorch.signatures import Signature
    >>> def f(batch, scale): ...
    >>> signature = Signature.of(f, ({"x": torch.ones(2, 3), "n": 4}, 0.5), {})
    >>> [(leaf.name, leaf.kind) for leaf in signature.leaves]
    [('batch_0', 'tensor'), ('batch_1', 'integer'), ('scale', 'value')]
    >>> print(*signature.opening.statements[:6], sep="\\n")
    if len(_args) != 2 or _kwargs:
        return default
    _node_0, scale = _args
    if type(_node_0) is not dict or list(_node_0) != _keys_0:
        return default
    batch_0, batch_1 = _node_0.values()

Calls of one form share a `Dispatch`: one generated function that reads sizes, dtype, device, layout and whatever else
variants rely on, once each, and finds the variant by a decision tree over all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Final, Literal

import torch
from torch.utils._pytree import SUPPORTED_NODES, LeafSpec, TreeSpec, tree_flatten, tree_leaves

from frontends.pytorch.inputs import LARGEST, check_supported, refuse
from frontends.pytorch.tracing import Variant, in_graph, leaf_names
from shapes.arguments import Opening, Path, Source, usable
from shapes.dispatch import Dispatch
from shapes.env import ShapeEnv

Kind = Literal["tensor", "integer", "value", "object"]
VALUES: Final = (
    bool,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(Ellipsis),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
)
"""Classes whose instances are told apart by value."""
READ: Final = (".dtype", ".device", ".requires_grad", ".is_contiguous()")
"""What every variant relies on, beside the sizes."""
PAIRS: Final = 3
"""So many tensors are compared with each other one by one."""
AMBIENT: Final[Mapping[str, Callable[[], object]]] = {
    "grad_mode": torch.is_grad_enabled,
    "default_dtype": torch.get_default_dtype,
    "autocast": lambda: autocast() if torch._C._is_any_autocast_enabled() else None,
}
"""What a program relies on without being given it."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One of the arguments, taken out of what contains it."""

    name: str
    kind: Kind
    type: type
    rank: int = 0


def nothing_around() -> int:
    """The state of what a program reads that is given everything."""
    return 0


class Signature:
    """Calls of one form.

    Attributes:
        leaves: the arguments in order.
        dispatch: the variants for calls of this form.
        opening: how the lookup gets at the arguments.
    """

    def __init__(self, leaves: Sequence[Leaf], structure: TreeSpec, surroundings: Callable[[], object]) -> None:
        self.leaves = tuple(leaves)
        self.structure = structure
        self.surroundings = surroundings
        self.tensors = [place for place, leaf in enumerate(leaves) if leaf.kind == "tensor"]
        self._kept: list[object] = []
        """Objects that are tested by identity, which nothing else may take over."""
        self._printer = OpeningPrinter(self)
        self.opening = self._printer.opening()
        self.dispatch: Dispatch[Callable[..., object]] = Dispatch(self.arguments, opening=self.opening)

    @staticmethod
    def of(
        fn: Callable[..., object],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        surroundings: Callable[[], object] = nothing_around,
    ) -> Signature:
        """The form of a call."""
        leaves, structure = flattened(args, kwargs)
        names = leaf_names(fn, args, dict(sorted(kwargs.items())), len(leaves))
        taken = {*AMBIENT, "surroundings", "repeated"}
        described = []
        for name, leaf in zip(names, leaves):
            kind = kind_of(leaf)
            if kind == "tensor":
                check_supported(name, leaf)
            elif kind == "object" and is_dataclass(leaf) and any_tensor(vars(leaf)):
                what = f"{name}: a {type(leaf).__qualname__} that holds tensors, which is not known to torch's pytree"
                refuse(what, f"torch.utils._pytree.register_dataclass({type(leaf).__qualname__}), once")
            while name in taken or not usable(name):
                name += "_"
            taken.add(name)
            described.append(Leaf(name, kind, type(leaf), leaf.dim() if isinstance(leaf, torch.Tensor) else 0))
        return Signature(described, structure, surroundings)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for calls of the same form."""
        return self.structure, tuple([(leaf.kind, leaf.type, leaf.rank) for leaf in self.leaves])

    @property
    def arguments(self) -> list[str]:
        """What the dispatch is about: the leaves, identities of objects, and what is around."""
        objects = [f"{leaf.name}_identity" for leaf in self.leaves if leaf.kind == "object"]
        return [*[leaf.name for leaf in self.leaves], *objects, *AMBIENT, "repeated", "surroundings"]

    def values(self, leaves: Sequence[object]) -> list[object]:
        """The values of `arguments` for a call."""
        objects = [id(value) for leaf, value in zip(self.leaves, leaves) if leaf.kind == "object"]
        ambient = [read() for read in AMBIENT.values()]
        return [*leaves, *objects, *ambient, self.repeated(leaves), self.surroundings()]

    def repeated(self, leaves: Sequence[object]) -> tuple[int, ...] | None:
        """Which tensors are the same object, if any."""
        tensors = [leaves[place] for place in self.tensors]
        return pattern(*tensors) if len({id(tensor) for tensor in tensors}) < len(tensors) else None

    def add(self, variant: Variant, values: Sequence[object], call: Callable[..., object]) -> None:
        """One more variant, traced for these `values`."""
        given = dict(zip(self.arguments, values))
        sources: dict[str, Source | list[Source]] = {}
        in_tensors: set[str] = set()
        repeated = given["repeated"]
        by_place = iter(variant.inputs)
        for place, leaf in enumerate(self.leaves):
            if leaf.kind == "tensor" and (repeated is None or self._is_first(place, repeated)):
                for symbol, path in next(by_place).symbols:
                    if is_backed(variant, symbol):
                        sources[symbol] = (leaf.name, *path)
                        in_tensors.add(symbol)
        integers = [leaf for leaf in self.leaves if leaf.kind == "integer"]
        for leaf, number in zip(integers, variant.integers):
            if number.choice.kind != "unbacked":
                sources[number.symbol] = (leaf.name,)
        known = dict.fromkeys(in_tensors, (0, LARGEST))
        check = variant.env.compile_guards(sources, arguments=self.arguments, known=known)
        self.dispatch.add(check, call, tests=self.tests(given))

    def add_any(self, values: Sequence[object], call: Callable[..., object], *, but: Path | None) -> None:
        """What to do with calls like this one, whatever the sizes, and whatever it is that is tested there."""
        tests = self.tests(dict(zip(self.arguments, values)))
        if but is not None:
            tests.pop(but)
        self.dispatch.add(ShapeEnv().compile_guards({}, arguments=self.arguments), call, tests=tests)

    def _is_first(self, place: int, repeated: Sequence[int]) -> bool:
        """Whether a tensor is not given before."""
        number = self.tensors.index(place)
        return repeated[number] == number

    def tests(self, given: Mapping[str, object]) -> dict[Source, Hashable]:
        """What is expected of everything that is no size."""
        tests: dict[Source, Hashable] = {}
        for leaf in self.leaves:
            value = given[leaf.name]
            if leaf.kind == "tensor":
                for step in READ:
                    attribute = getattr(value, step[1:].removesuffix("()"))
                    tests[leaf.name, step] = attribute() if step.endswith("()") else attribute
            elif leaf.kind == "value":
                tests.update(value_tests(leaf.name, value))
            elif leaf.kind == "object":
                self._kept.append(value)
                tests[f"{leaf.name}_identity",] = id(value)
        for name in (*AMBIENT, "repeated", "surroundings"):
            tests[name,] = given[name]
        return tests

    def call(self, variant: Variant, run: Callable[[Sequence[object]], Sequence[object]]) -> Callable[..., object]:
        """What a call does once its variant is found."""
        return self._printer.call(variant, run)


def is_backed(variant: Variant, symbol: str) -> bool:
    """Whether guards may be about a symbol."""
    (atom,) = variant.env.names[symbol].symbols
    return variant.env.symbols[atom].kind == "backed"


def flattened(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[list[object], TreeSpec]:
    """The leaves of the arguments of a call; those given by name in the order of their names."""
    return tree_flatten((tuple(args), dict(sorted(kwargs.items()))))


def kind_of(leaf: object) -> Kind:
    if isinstance(leaf, torch.Tensor):
        return "tensor"
    if type(leaf) is int:
        return "integer"
    return "value" if type(leaf) in VALUES else "object"


def any_tensor(value: object) -> bool:
    """Whether there is a tensor in a structure."""
    return any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(value))


def value_tests(name: str, value: object) -> dict[Source, Hashable]:
    """What tells a value from others: floats by their bits, as 0.0 == -0.0."""
    tests: dict[Source, Hashable] = {(name, ".__class__"): type(value)}
    if type(value) is float:
        tests[name, ".hex()"] = value.hex()
    elif type(value) is complex:
        tests[name, ".__repr__()"] = repr(value)
    elif value is not None and value is not Ellipsis:
        tests[name,] = value
    return tests


def pattern(*tensors: object) -> tuple[int, ...]:
    """For each tensor, where it comes up first."""
    first: dict[int, int] = {}
    return tuple([first.setdefault(id(tensor), place) for place, tensor in enumerate(tensors)])


def autocast() -> tuple[object, ...]:
    """The state of autocast, by kind of device."""
    return tuple(
        [
            (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
            for device in ("cpu", "cuda")
            if torch.is_autocast_enabled(device)
        ]
    )


class OpeningPrinter:
    """Prints the statements that take a call apart, and those of the call itself."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.scope: dict[str, object] = {}
        self.names = [leaf.name for leaf in signature.leaves]

    def opening(self) -> Opening:
        lines = self.unpacking(checked=True)
        read: dict[Path, str] = {}
        tensors = [self.signature.leaves[place] for place in self.signature.tensors]
        classes = [(leaf.name, leaf.type) for leaf in self.signature.leaves if leaf.kind != "value"]
        for name, kind in classes:
            label = self._named("type", kind)
            lines += [f"if type({name}) is not {label}:", "    return default"]
        reading = []
        for leaf in tensors:
            sizes = [f"_{leaf.name}_size{axis}" for axis in range(leaf.rank)]
            reading.append(f"    {targets_text(sizes)} = {leaf.name}.shape")
            read.update({(leaf.name, ".shape", axis): size for axis, size in enumerate(sizes)})
            for step in READ:
                local = read[leaf.name, step] = f"_{leaf.name}_{step[1:].removesuffix('()')}"
                reading.append(f"    {local} = {leaf.name}{step}")
        if reading:
            # of another rank, or of a layout without strides
            lines += ["try:", *reading, "except (ValueError, RuntimeError):", "    return default"]
        for leaf in self.signature.leaves:
            if leaf.kind == "object":
                lines.append(f"{leaf.name}_identity = id({leaf.name})")
        lines += self._ambient([leaf.name for leaf in tensors])
        return Opening(("_args", "_kwargs"), tuple(lines), read, self.scope)

    def _ambient(self, tensors: Sequence[str]) -> list[str]:
        scope = self.scope
        scope["_grad_mode"], scope["_default_dtype"] = torch.is_grad_enabled, torch.get_default_dtype
        scope["_any_autocast"], scope["_autocast"] = torch._C._is_any_autocast_enabled, autocast
        scope["_modes"], scope["_function_modes"] = (
            torch._C._len_torch_dispatch_stack,
            torch._C._len_torch_function_stack,
        )
        scope["_surroundings"], scope["_pattern"] = self.signature.surroundings, pattern
        lines = [
            "if _modes() or _function_modes():",
            "    return default",
            "grad_mode = _grad_mode()",
            "default_dtype = _default_dtype()",
            "autocast = _autocast() if _any_autocast() else None",
            f"surroundings = {'_surroundings()' if self.signature.surroundings is not nothing_around else 0}",
        ]
        if len(tensors) <= PAIRS:
            pairs = [f"{a} is {b}" for place, a in enumerate(tensors) for b in tensors[:place]]
            same = " or ".join(pairs)
        else:
            same = f"len({{{', '.join([f'id({name})' for name in tensors])}}}) != {len(tensors)}"
        shown = f"_pattern({', '.join(tensors)}) if {same} else None" if same else "None"
        return [*lines, f"repeated = {shown}"]

    def unpacking(self, *, checked: bool) -> list[str]:
        """Statements that put the leaves into locals of their names, or leave where the form is another."""
        self._leaves = iter(self.names)
        self._serial = 0
        lines: list[str] = []
        arguments, named = self.signature.structure.children()
        if checked:
            count = len(arguments.children())
            test = f"len(_args) != {count}" + (f" or len(_kwargs) != {named.num_children}" if named.context else "")
            lines += [f"if {test}{'' if named.context else ' or _kwargs'}:", "    return default"]
        lines += self._children(arguments, "_args", checked)
        if named.context:
            inner: list[str] = []
            targets = self._targets(named, inner, checked)
            given = [f"{target} = _kwargs[{name!r}]" for target, name in zip(targets, named.context)]
            if checked:
                given = ["try:", *["    " + line for line in given], "except KeyError:", "    return default"]
            lines += [*given, *inner]
        return lines

    def _children(self, spec: TreeSpec, source: str, checked: bool) -> list[str]:
        inner: list[str] = []
        targets = self._targets(spec, inner, checked)
        return [*([f"{targets_text(targets)} = {source}"] if targets else []), *inner]

    def _targets(self, spec: TreeSpec, inner: list[str], checked: bool) -> list[str]:
        """Names for the children of a node; what takes those apart that are nodes goes to `inner`."""
        targets = []
        for child in spec.children():
            if child.is_leaf():
                targets.append(next(self._leaves))
                continue
            name = f"_node_{self._serial}"
            self._serial += 1
            targets.append(name)
            inner += self._node(child, name, checked)
        return targets

    def _node(self, spec: TreeSpec, name: str, checked: bool) -> list[str]:
        """Statements that take a node apart."""
        number = name.removeprefix("_node_")
        count = len(spec.children())
        lines: list[str] = []
        source = name
        kind = spec.type
        if kind in (tuple, list):
            test = f"type({name}) is not {kind.__name__} or len({name}) != {count}"
        elif kind is dict:
            self.scope[f"_keys_{number}"] = list(spec.context)
            test = f"type({name}) is not dict or list({name}) != _keys_{number}"
            source = f"{name}.values()"
        else:
            container = spec.context if kind.__name__ == "namedtuple" else kind
            own = self._named("type", container)
            self.scope[f"_flatten_{number}"] = SUPPORTED_NODES[kind].flatten_fn
            self.scope[f"_context_{number}"] = spec.context
            lines += [f"if type({name}) is not {own}:", "    return default"] if checked else []
            lines.append(f"{name}, _found = _flatten_{number}({name})")
            test = f"_found != _context_{number} or len({name}) != {count}"
        if checked:
            lines += [f"if {test}:", "    return default"]
        return [*lines, *self._children(spec, source, checked)]

    def _named(self, label: str, value: object) -> str:
        for name, known in self.scope.items():
            if known is value:
                return name
        name = f"_{label}_{len(self.scope)}"
        self.scope[name] = value
        return name

    # ------------------------------------------------------------------ the call

    def call(self, variant: Variant, run: Callable[[Sequence[object]], Sequence[object]]) -> Callable[..., object]:
        """A function from arguments to what the traced function returns."""
        scope: dict[str, object] = {**self.scope, "_run": run, "_assembled": variant.assembled}
        names = [self.names[place] for place in variant.places]
        flat = names == self.names and self._is_flat()
        lines = [] if flat else self.unpacking(checked=False)
        given = "_args" if flat else f"({', '.join(names)},)" if names else "()"
        shown = expression(variant.structure)
        if shown is None:
            lines.append(f"return _assembled(_run({given}))")
        elif len(variant.outputs) == 1 and in_graph(variant.outputs[0]) and shown.replace("{}", "") == "":
            lines.append(f"return _run({given})[0]")
        else:
            outputs = [f"_{place}" for place in range(len(variant.outputs))]
            lines.append(f"{targets_text(outputs)} = _run({given})")
            for place, output in enumerate(variant.outputs):
                if not in_graph(output):
                    scope[f"_constant_{place}"], outputs[place] = output, f"_constant_{place}"
            lines.append(f"return {shown.format(*outputs)}")
        text = "\n".join(["def call(_args, _kwargs):", *["    " + line for line in lines]])
        exec(compile(text, "<call>", "exec"), scope)
        return scope["call"]

    def _is_flat(self) -> bool:
        arguments, named = self.signature.structure.children()
        return not named.context and all(child.is_leaf() for child in arguments.children())


def targets_text(names: Sequence[str]) -> str:
    """Names as the targets of an unpacking."""
    return f"{names[0]}," if len(names) == 1 else ", ".join(names) or "()"


def expression(spec: TreeSpec) -> str | None:
    """A structure as the text of an expression with `{}` for each leaf; None where text does not say it."""
    if isinstance(spec, LeafSpec) or spec.is_leaf():
        return "{}"
    parts = [expression(child) for child in spec.children()]
    if any(part is None for part in parts):
        return None
    if spec.type is tuple:
        return f"({', '.join(parts)},)" if parts else "()"
    if spec.type is list:
        return f"[{', '.join(parts)}]"
    if spec.type is dict and all(type(key) in (str, int) for key in spec.context):
        keys = [repr(key).replace("{", "{{").replace("}", "}}") for key in spec.context]
        return "{{" + ", ".join([f"{key}: {part}" for key, part in zip(keys, parts)]) + "}}"
    return None
