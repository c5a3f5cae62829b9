"""The recorder: records every operator with the metadata of its results, and computes nothing.

It is a dispatch mode below autograd, so it sees decomposed operators and gradients as well. Results are inferred once
for each combination of metadata and numbers, by a rule of ours (`frontends.pytorch.meta_rules`) or by torch's meta
function, and then looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from frontends.pytorch.decompositions.registry import is_composite
from frontends.pytorch.errors import unsupported
from frontends.pytorch.meta_rules.corrected import MEANT, corrected
from frontends.pytorch.meta_rules.pointwise import elementwise, is_elementwise
from frontends.pytorch.meta_rules.registry import ONCE, RULES
from frontends.pytorch.recording.callers import Versions, check_supported, refuse_followed_writes
from frontends.pytorch.recording.contents import Contents
from frontends.pytorch.recording.operations import Argument, Operation, Recording, draws_numbers, is_custom, is_view
from frontends.pytorch.recording.predictions import by_meta, template
from frontends.pytorch.recording.randomness import check_drawing
from frontends.pytorch.recording.special import SPECIAL, refuse_control_flow
from frontends.pytorch.source_location import origin
from frontends.pytorch.symbolic import formulas
from frontends.pytorch.symbolic.metadata import Kinds, Metadata, Template
from frontends.pytorch.symbolic.node import Nodes, TorchValue
from frontends.pytorch.symbolic.tensor import Arguments, Keywords, Result, Trace, Traced, become, tensor_of
from frontends.pytorch.symbolic.values import Value
from shapes.errors import ShapeError, UndecidedGuard

if TYPE_CHECKING:
    from shapes.env import ShapeEnv
    from shapes.rules.elements import Elements


class Recorder(Trace):
    """The mode that sees every operator."""

    def __init__(self, env: ShapeEnv, nodes: Nodes, kinds: Kinds | None = None) -> None:
        super().__init__(env, nodes, kinds)
        self.recording: Final = Recording()
        self.given: Final[set[Result]] = set()
        """The arguments of the traced function."""
        self.detached: Final[set[Result]] = set()
        """Results that a detached tensor stands for."""
        self.contents: Final = Contents(self.recording, env)
        self.saves_draws = False
        """True while a checkpoint saves the random numbers that are drawn."""
        self.versions: Final[Versions] = {}
        self._templates: dict[tuple[object, ...] | None, Template] = {}
        self._constants: dict[int, Result] = {}
        self._is_inference = torch.is_inference_mode_enabled()

    supports_higher_order_operators = True

    def __torch_dispatch__(
        self, func: torch._ops.OpOverload, types: Sequence[type], args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        if is_composite(func):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        if isinstance(func, torch._ops.HigherOrderOperator):
            refuse_control_flow(func.name())
        if types and any(hasattr(kind, "__tensor_flatten__") for kind in types):
            # a wrapper subclass dispatches first
            return NotImplemented
        if torch.is_inference_mode_enabled() is not self._is_inference:
            unsupported("inference mode is entered or left", "torch.no_grad(), or enter it around the call")
        if torch.Tag.inplace_view in func.tags and func is not torch.ops.aten.detach_.default:
            return self._viewed_in_place(func, args, kwargs or {})
        special = SPECIAL.get(func)
        if special is not None:
            done = special(self, func, args, kwargs or {})
            if done is not NotImplemented:
                return done
        if draws_numbers(func):
            check_drawing(kwargs, self.saves_draws)
        return self.operator(func, args, kwargs or {})

    def operator(self, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> Any:
        """Record an operator, and return tensors with the inferred metadata."""
        key: list[object] = [func]
        tensors: list[Traced] = []
        converted = tuple([self._argument(arg, key, tensors) for arg in args])
        named = {}
        for name, value in kwargs.items():
            key.append(name)
            named[name] = self._argument(value, key, tensors)
        signature: tuple[object, ...] | None = tuple(key)
        try:
            template = self._templates.get(signature)
        except TypeError:
            template, signature = None, None
        if template is None:
            with self.nodes.infers():
                template = infer(self, func, args, kwargs, tensors)
            if signature is not None and not template.once:
                self._templates[signature] = template
        if func._schema.is_mutable and torch.is_grad_enabled():
            refuse_followed_writes(func, args, kwargs, tensors)
        return self._record(func, converted, named, template, tensors)

    def _record(
        self,
        func: torch._ops.OpOverload,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        template: Template,
        tensors: Sequence[Traced],
    ) -> object:
        recording, recent = self.recording, self.nodes.made
        results: list[object] = []

        def made(piece: object) -> object:
            if type(piece) is Metadata:
                result = recording.result(piece)
                results.append(result)
                recent.append(piece.sizes)
                return tensor_of(piece, result)
            if type(piece) is int:
                tensor = tensors[piece]
                results.append(tensor.result)
                return tensor if tensor.lifted is None else tensor.lifted
            results.append(None)
            return None

        form: Any = template.output
        is_several = isinstance(form, list | tuple)
        output = [made(piece) for piece in (form if is_several else (form,))]
        outside: object = type(form)(output) if is_several else output[0]
        recorded = results if is_several else results[0]
        # this function and its caller are no source locations of the program
        is_own = self.backward and formulas.is_of_function()
        recording.operations.append(Operation(func, args, kwargs, recorded, self.backward, origin(2), is_own))
        return outside

    def number(self, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords, value: Value) -> TorchValue:
        """Record an operator whose result is an unbacked number, and return that."""
        key: list[object] = []
        converted = tuple([self._argument(arg, key, []) for arg in args])
        named = {name: self._argument(value, key, []) for name, value in kwargs.items()}
        node = self.nodes.node(value)
        self.recording.operations.append(Operation(func, converted, named, node, self.backward, origin()))
        return node.outside

    def _argument(self, value: Any, key: list[object], tensors: list[Traced]) -> Argument:
        """Convert an argument for the graph; its part of the inference key is appended to `key`."""
        kind = type(value)
        if kind is Traced:
            key.append(value.metadata)
            tensors.append(value)
            return value.result
        if kind is torch.SymInt or kind is torch.SymFloat or kind is torch.SymBool:
            node = value.node
            key.append(node)
            return node
        if kind is int or kind is bool or kind is float or value is None:
            key.append(kind)
            key.append(value)
            return value
        if kind is list or kind is tuple or isinstance(value, list | tuple):
            key.append(len(value))
            return [self._argument(item, key, tensors) for item in value]
        if isinstance(value, torch.Tensor):
            tensor = self.lift(value)
            key.append(tensor.metadata)
            tensors.append(tensor)
            return tensor.result
        key.append(value)
        return value

    def lift(self, tensor: torch.Tensor) -> Traced:
        """Lift a tensor of the program (a parameter, a buffer, a constant) into the graph."""
        if type(tensor) is Traced:
            return tensor
        found = self._constants.get(id(tensor))
        if found is None:
            check_supported("constant", tensor)
            if tensor.is_neg():
                unsupported("constant: a lazy negative (a tensor with the negative bit)", "use its `.resolve_neg()`")
            metadata = self.kinds.of(
                tuple(tensor.size()), tensor.stride(), tensor.storage_offset(), tensor.dtype, tensor.device
            )
            found = self._constants[id(tensor)] = self.recording.result(metadata, tensor)
            self.recording.constants.append(found)
            with torch._C.DisableTorchFunction():
                if not tensor.is_inference():
                    self.versions[id(tensor)] = tensor, tensor._version
        assert found.metadata is not None
        made = tensor_of(found.metadata, found)
        made.lifted = tensor
        return made

    def elements(self, tensor: torch.Tensor) -> Elements | None:
        return self.contents.of(self.contents.number(self.result_of(tensor)))

    def learn(self, tensor: torch.Tensor, elements: Elements) -> None:
        self.contents.learn(self.contents.number(self.result_of(tensor)), elements)

    def result_of(self, tensor: torch.Tensor) -> Result:
        """The graph value of a tensor."""
        return self.lift(tensor).result

    def _viewed_in_place(self, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
        """Make a tensor a view of what it was, as `t_` does; other tensors with the same value keep their sizes.

        Raises:
            Unsupported: its memory changes, or it is an argument of the traced function, or another tensor of the
                program.
        """
        tensor = args[0]
        if not isinstance(tensor, Traced) or tensor.is_given:
            unsupported("a tensor of the caller changes its sizes in place", "do it outside of the function")
        packet = getattr(torch.ops.aten, func._schema.name.removeprefix("aten::").removesuffix("_"), None)
        # `transpose` has a name of its own for it
        plain = getattr(packet, func._overloadname, None) or getattr(packet, "int", None)
        if plain is None or not is_view(plain):
            unsupported(f"{func}: the memory of a tensor changes", "make another tensor")
        view: Any = SPECIAL.get(plain, Recorder.operator)
        made = view(self, plain, args, kwargs)
        become(tensor, made.metadata, made.result)
        return tensor


def infer(
    recorder: Trace, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords, tensors: Sequence[Traced]
) -> Template:
    """Infer an operator's results.

    Raises:
        Unsupported: its name says that they are not dense.
    """
    rule = RULES.get(func)
    if rule is None and is_elementwise(func):
        rule = partial(elementwise, func)
    if rule is not None:
        try:
            found = rule(recorder, *args, **kwargs)
        except UndecidedGuard:
            raise
        except ShapeError:
            # torch reports the error itself
            found = NotImplemented
        if isinstance(found, Template):
            return found
        if found is not NotImplemented:
            return corrected(recorder, func, args, Template(found, once=func in ONCE))
    if is_custom(func):
        return template(recorder, func, args, kwargs, tensors)
    for kind in ("sparse", "nested"):
        if kind in func.name():
            fix = "make it outside of the function, or use dense operators"
            unsupported(f"a {kind} tensor: only dense ones are traced", fix)
    return corrected(recorder, func, args, by_meta(recorder, func, args, kwargs, tensors, run=MEANT.get(func)))
