"""Generated code that flattens the arguments of a call, and unflattens its results.

    >>> import torch
    >>> from torch.utils._pytree import tree_structure
    >>> from frontends.pytorch.calls.forms import Form
    >>> from frontends.pytorch.calls.argument_unpacking import Leaf, UnpackingPrinter, constant_state
    >>> leaves = [Leaf("x", "tensor", torch.Tensor, 2), Leaf("n", "integer", int)]
    >>> printer = UnpackingPrinter(leaves, tree_structure(((0, [0]), {})), Form(2, ()), constant_state)
    >>> print(*printer.prologue().statements[:9], sep="\\n")
    if len(_args) != 2 or _kwargs:
        return default
    x, _node_0 = _args
    if type(_node_0) is not list or len(_node_0) != 1:
        return default
    n, = _node_0
    if type(x) is not _type_0:
        return default
    if type(n) is not _type_1:

Each property of a tensor is read once, into locals; a call with a different pytree structure returns at the first
difference.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, Final, Literal

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import SUPPORTED_NODES, TreeSpec

from frontends.pytorch.calls.forms import Form
from frontends.pytorch.calls.result_assembly import defined, expression, returning, targets_text
from frontends.pytorch.graphs.captured import in_graph
from frontends.pytorch.python.fields import Fields, held_by, is_dictionary
from frontends.pytorch.python.python_calls import pattern as bits
from frontends.pytorch.python.wrappers import Lengths, Opened, apart
from frontends.pytorch.recording.given_back import GivenBack
from frontends.pytorch.recording.operations import is_random
from frontends.pytorch.running import Run
from frontends.pytorch.variant import Variant
from shapes.guards.arguments import Path, Prologue, usable

Call = Callable[[Sequence[object], Mapping[str, object]], object]
Kind = Literal["tensor", "integer", "float", "value", "object"]
READ: Final = (".dtype", ".device", ".requires_grad", ".is_contiguous()")
"""The properties that every variant guards besides sizes."""
BUILTINS: Final = frozenset(dir(builtins))
PAIRS: Final = 3
"""Up to this many tensors are compared pairwise."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the arguments.

    Attributes:
        name: its name in generated code.
        shown: its name in the program.
    """

    name: str
    kind: Kind
    type: type
    rank: int = 0
    shown: str = ""


def local_name(shown: str, place: int, reserved: Container[str]) -> str:
    """The name of an argument in generated code: its own, unless that is in use.

    Names of the code itself begin with an underscore, end with `_identity`, or are `reserved`; it also uses builtins.
    """
    name = shown if usable(f"{shown}_") and not shown.startswith("_") else f"arg{place}"
    while name in reserved or name in BUILTINS or name.endswith("_identity") or not usable(name):
        name += "_"
    return name


def constant_state() -> int:
    """Constant captured state, for a program that reads only its arguments."""
    return 0


def elsewhere() -> bool:
    """Whether operators are redefined: in another trace, in a mode, in a function transform."""
    return bool(
        torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
        or torch._C._functorch.peek_interpreter_stack()
        or forward_ad._current_level >= 0  # a tensor may have a tangent, which is not visible otherwise
    )


def pattern(*tensors: object) -> tuple[int, ...]:
    """The index of each tensor's first occurrence."""
    first: dict[int, int] = {}
    return tuple([first.setdefault(id(tensor), place) for place, tensor in enumerate(tensors)])


def differ(found: object, expected: object) -> bool:
    """Whether the keys of a container differ; a tensor as a key always does."""
    if isinstance(expected, list | tuple):
        return type(found) is not type(expected) or len(found) != len(expected) or any(map(differ, found, expected))
    return isinstance(found, torch.Tensor) or bool(found != expected)


def autocast() -> tuple[tuple[Any, ...], ...]:
    """The state of autocast, by kind of device."""
    return tuple(
        [
            (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
            for device in ("cpu", "cuda")
            if torch.is_autocast_enabled(device)
        ]
    )


class UnpackingPrinter:
    """Emits the statements that unpack a call's arguments, and those of the call itself."""

    def __init__(
        self, leaves: Sequence[Leaf], structure: TreeSpec, form: Form, captured_state: Callable[[], object]
    ) -> None:
        self.leaves = leaves
        self.structure = structure
        self.form = form
        self.captured_state = captured_state
        self.scope: dict[str, object] = dict(form.scope or {})
        self.names = [leaf.name for leaf in leaves]
        self._given_back: Container[int] = ()

    def prologue(self) -> Prologue:
        lines = self.unpacking(checked=True)
        read: dict[Path, str] = {}
        tensors = [leaf for leaf in self.leaves if leaf.kind == "tensor"]
        classes = [(leaf.name, leaf.type) for leaf in self.leaves if leaf.kind != "value"]
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
            # another rank, or a layout without strides
            lines += ["try:", *reading, "except (ValueError, RuntimeError):", "    return default"]
        for leaf in self.leaves:
            if leaf.kind == "object":
                lines.append(f"{leaf.name}_identity = id({leaf.name})")
            elif leaf.kind == "float":
                self.scope["_bits"] = bits
                lines.append(f"{leaf.name}_bits = _bits({leaf.name})")
        lines += self._ambient([leaf.name for leaf in tensors])
        return Prologue(("_args", "_kwargs"), tuple(lines), read, self.scope)

    def _ambient(self, tensors: Sequence[str]) -> list[str]:
        scope = self.scope
        scope["_grad_mode"], scope["_default_dtype"] = torch.is_grad_enabled, torch.get_default_dtype
        scope["_any_autocast"], scope["_autocast"] = torch._C._is_any_autocast_enabled, autocast
        scope["_modes"] = torch._C._len_torch_dispatch_stack
        scope["_function_modes"] = torch._C._len_torch_function_stack
        scope["_transforms"] = torch._C._functorch.peek_interpreter_stack
        scope["_forward"] = forward_ad
        scope["_captured_state"], scope["_pattern"] = self.captured_state, pattern
        lines = [
            "if _modes() or _function_modes() or _transforms() or _forward._current_level >= 0:",
            "    return default",
            "grad_mode = _grad_mode()",
            "default_dtype = _default_dtype()",
            "autocast = _autocast() if _any_autocast() else None",
            f"captured_state = {'_captured_state()' if self.captured_state is not constant_state else 0}",
        ]
        if len(tensors) <= PAIRS:
            pairs = [f"{a} is {b}" for place, a in enumerate(tensors) for b in tensors[:place]]
            same = " or ".join(pairs)
        else:
            same = f"len({{{', '.join([f'id({name})' for name in tensors])}}}) != {len(tensors)}"
        shown = f"_pattern({', '.join(tensors)}) if {same} else None" if same else "None"
        return [*lines, f"repeated = {shown}"]

    def unpacking(self, *, checked: bool) -> list[str]:
        """Statements that assign the leaves to locals, or return if the form differs."""
        self._remaining = iter(self.names)
        self._serial = 0
        lines = self.form.statements(checked=checked)
        arguments, named = self.structure.children()
        lines += self._children(arguments, "_args", checked)
        if named.context:
            inner: list[str] = []
            targets = self._targets(named, inner, checked)
            given = [f"{target} = _kwargs[{name!r}]" for target, name in zip(targets, named.context)]
            if checked and self.form.expression is None:
                given = ["try:", *["    " + line for line in given], "except KeyError:", "    return default"]
            lines += [*given, *inner]
        return lines

    def _children(self, spec: TreeSpec, source: str, checked: bool) -> list[str]:
        inner: list[str] = []
        targets = self._targets(spec, inner, checked)
        return [*([f"{targets_text(targets)} = {source}"] if targets else []), *inner]

    def _targets(self, spec: TreeSpec, inner: list[str], checked: bool) -> list[str]:
        """Names for the children of a node; statements that unpack inner nodes are appended to `inner`."""
        targets = []
        for child in spec.children():
            if child.is_leaf():
                targets.append(next(self._remaining))
                continue
            name = f"_node_{self._serial}"
            self._serial += 1
            targets.append(name)
            inner += self._node(child, name, checked)
        return targets

    def _node(self, spec: TreeSpec, name: str, checked: bool) -> list[str]:
        """Statements that unpack a node."""
        number = name.removeprefix("_node_")
        count = len(spec.children())
        lines: list[str] = []
        source = name
        kind = spec.type
        if int(number) in self._given_back:
            lines.append(f"_given_{number} = {name}")
        if kind in (tuple, list):
            test = f"type({name}) is not {kind.__name__} or len({name}) != {count}"
        elif kind is Lengths:
            test = f"type({name}) is not {self._named('type', torch.Size)} or len({name}) != {count}"
        elif kind is dict:
            self.scope[f"_keys_{number}"] = list(spec.context)
            keys = f"list({name})", f"_keys_{number}"
            named = all(type(key) is str for key in spec.context)
            differing = " != ".join(keys) if named else f"_differ({', '.join(keys)})"
            test = f"type({name}) is not dict or {differing}"
            self.scope["_differ"] = differ
            source = f"{name}.values()"
        elif kind is Fields and is_dictionary(spec.context[0], spec.context[1:]):
            own = self._named("type", spec.context[0])
            self.scope[f"_keys_{number}"] = list(spec.context[1:])
            self.scope["_attributes"] = object.__getattribute__
            lines += [f"if type({name}) is not {own}:", "    return default"] if checked else []
            lines.append(f"{name} = _attributes({name}, '__dict__')")
            test = f"list({name}) != _keys_{number}"
            source = f"{name}.values()"
        else:
            takes_apart = {Opened: apart, Fields: held_by}.get(kind)
            of_node = kind if takes_apart is None else spec.context[0]
            container = spec.context if kind.__name__ == "namedtuple" else of_node
            own = self._named("type", container)
            self.scope[f"_flatten_{number}"] = takes_apart or SUPPORTED_NODES[kind].flatten_fn
            self.scope[f"_context_{number}"] = spec.context
            lines += [f"if type({name}) is not {own}:", "    return default"] if checked else []
            lines.append(f"{name}, _found = _flatten_{number}({name})")
            test = f"_differ(_found, _context_{number}) or len({name}) != {count}"
            self.scope["_differ"] = differ
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

    def call(self, variant: Variant, run: Run) -> FunctionType:
        """A function from arguments to the traced function's results; `_run` and `_variant` are its globals."""
        if variant.effects or variant.needs_distinct:
            return self._call_with_effects(variant, run)
        scope: dict[str, object] = {**self.scope, "_run": run, "_variant": variant}
        names = [self.names[place] for place in variant.places]
        flat = names == self.names and self._is_flat()
        self._given_back = variant.given_back
        lines = self.form.statements(checked=False) if flat else self.unpacking(checked=False)
        self._given_back = ()
        given = "_args" if flat else f"({', '.join(names)},)" if names else "()"
        shown = expression(variant.structure, scope)
        if len(variant.outputs) == 1 and in_graph(variant.outputs[0]) and shown.replace("{}", "") == "":
            lines.append(f"return _run({given})[0]")
        else:
            lines.append(f"{targets_text(output_names(variant))} = _run({given})")
            lines.append(f"return {shown.format(*output_values(variant, scope))}")
        return defined("call(_args, _kwargs)", lines, scope)

    def _call_with_effects(self, variant: Variant, run: Run) -> FunctionType:
        """The same with side effects. The program itself runs if a container is passed twice or is captured state too,
        and if the graph raises: nothing was mutated by then."""
        scope: dict[str, object] = {**self.scope, "_run": run, "_variant": variant, "_program": variant.program}
        scope["_watched"], scope["_map"], scope["_id"] = variant.watched, map, id
        nodes = changeable(self.structure)
        self._given_back = {*variant.given_back, *nodes}
        again = "return _program(*_all_args, **_all_kwargs)"
        # another thread may have mutated a container since the look-up
        unpacking = [line.replace("return default", again) for line in self.unpacking(checked=bool(nodes))]
        lines = ["_all_args, _all_kwargs = _args, _kwargs", *unpacking]
        self._given_back = ()
        if nodes:
            given = ", ".join([f"_given_{number}" for number in nodes])
            lines += [f"_ids = set(_map(_id, ({given},)))", f"if len(_ids) != {len(nodes)} or _ids & _watched:"]
            lines.append(f"    {again}")
        names = [self.names[place] for place in variant.places]
        given = f"({', '.join([*names, ''])})"
        is_plain = not variant.written and not any(map(is_random, variant.recording.operations))
        if not is_plain:
            scope["_torch_state"] = partial(torch_state, variant)
            lines.append(f"_before = _torch_state({given})")
        lines += ["try:", f"    {targets_text(output_names(variant))} = _run({given})", "except Exception:"]
        if not is_plain:
            scope["_is_put_back"] = is_put_back
            lines += ["    if not _is_put_back(*_before):", "        raise"]
        lines.append(f"    {again}")
        shown = expression(variant.structure, scope).format(*output_values(variant, scope))
        return defined("call(_args, _kwargs)", [*lines, *returning(shown, variant.effects, scope)], scope)

    def _is_flat(self) -> bool:
        arguments, named = self.structure.children()
        return not named.context and all(child.is_leaf() for child in arguments.children())


def output_names(variant: Variant) -> list[str]:
    return [f"_{place}" for place in range(len(variant.outputs))]


def output_values(variant: Variant, scope: dict[str, object]) -> list[str]:
    """The outputs by name: of the graph, among the arguments, or constants, which are added to the scope."""
    names = output_names(variant)
    for place, output in enumerate(variant.outputs):
        if type(output) is GivenBack:
            names[place] = f"_given_{output.number}"
        elif not in_graph(output):
            scope[f"_constant_{place}"], names[place] = output, f"_constant_{place}"
    return names


def torch_state(variant: Variant, given: Sequence[Any]) -> tuple[list[torch.Tensor], list[int], torch.Tensor]:
    """The tensors that a call will write, their versions, and the generator's state."""
    written: list[torch.Tensor] = [given[place] if type(place) is int else place for place, _ in variant.written]
    return written, [-1 if each.is_inference() else each._version for each in written], torch.get_rng_state()


def is_put_back(written: Sequence[torch.Tensor], versions: Sequence[int], numbers: torch.Tensor) -> bool:
    """Whether nothing has changed after a graph that raised: kernels write at their end."""
    if any(each.is_inference() or each._version != version for each, version in zip(written, versions)):
        return False
    torch.set_rng_state(numbers)
    return True


def changeable(structure: TreeSpec) -> list[int]:
    """The numbers of the mutable containers in a call's arguments."""

    def nodes(spec: TreeSpec) -> Iterator[TreeSpec]:
        for child in spec.children():
            if not child.is_leaf():
                yield child
                yield from nodes(child)

    kinds = [node.type for each in structure.children() for node in nodes(each)]
    fixed = (tuple, Lengths, Opened)
    return [number for number, kind in enumerate(kinds) if kind not in fixed and kind.__name__ != "namedtuple"]
