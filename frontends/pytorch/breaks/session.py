"""One call with graph breaks, by lazy evaluation: operators are queued, and run when a value is needed.

The session is a dispatch mode below autograd: autograd works on lazy tensors as on real ones. Torch's meta functions
infer an operator's results, once for each combination of sizes, and the result is cached.
"""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any, Final

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import SUPPORTED_NODES, is_structseq_class, tree_flatten, tree_map, tree_unflatten

from frontends.pytorch.breaks import pending
from frontends.pytorch.breaks.kinds import Kind
from frontends.pytorch.breaks.operators import LAID_BY_KERNELS, cause_of, concretizes, traits_of, written_together
from frontends.pytorch.breaks.pending import Leaving, Pending, Value, as_counted, pending_of
from frontends.pytorch.breaks.reads import Reads
from frontends.pytorch.breaks.remembered import Remembered
from frontends.pytorch.breaks.segments import TENSOR, VARIES, Shape, Step, TreeNode, one_by_one
from frontends.pytorch.decompositions.registry import PROFILER, is_composite
from frontends.pytorch.python.casting import casting_anew
from frontends.pytorch.python.interception import Symbolic, suspended
from frontends.pytorch.python.torch_calls import Arguments, Function, Keywords
from frontends.pytorch.recording.operations import draws_numbers, is_custom
from frontends.pytorch.source_location import origin

aten: Final = torch.ops.aten
BELOW_GRADIENTS: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
NORMALIZING: Final = (aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
MOST_OUTCOMES: Final = 50_000


class Session(TorchDispatchMode):
    """One call of a program: the queued operators, and their node in the tree."""

    def __init__(self, program: Remembered) -> None:
        super().__init__()
        self.program: Final = program
        self.place: TreeNode = program.stretches.root
        self.values: list[Value] = []
        self.numbers: list[object] = []
        self.operators = 0
        self.captured = 0
        self._numbered: dict[int, int] = {}
        self._inputs: list[Value] = []
        self._lifted: dict[int, tuple[torch.Tensor, Value]] = {}
        self._flushed = (0, 0)

    @contextmanager
    def running(self) -> Iterator[None]:
        pending.enter(self)
        try:
            with Symbolic(None, (), self._leaves), Reads(self), casting_anew(), self:
                yield
        finally:
            pending.leave()

    def _leaves(self, what: str, fix: str) -> None:
        """The program does something that must follow the queued operators, such as printing or seeding."""
        self.interrupted(what.partition(":")[0])

    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: OpOverload, types: object, args: Arguments = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self.outside(func.name(), func, args, kwargs)
        if func is aten.lift_fresh.default and not isinstance(args[0], Pending):
            return args[0]
        if func.namespace == PROFILER:
            return func(*args, **kwargs)
        if is_composite(func):
            with self:
                # not by torch's Python functions, which omit the dropout of recurrent layers
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        is_trusted = not is_custom(func) and func not in self.program.distrusted
        if concretizes(func, args) or not is_trusted or kwargs.get("generator") is not None:
            # the program may seed the generator next
            return self.eagerly(func, args, kwargs)
        if self.program.is_exact and draws_numbers(func):
            # the program may read torch's default generator next
            return self.eagerly(func, args, kwargs)
        given = Given(self)
        try:
            given.read(func, args, kwargs)
            key = tuple(given.key)
            outcome = self.program.outcomes.get(key)
            if outcome is None:
                if len(self.program.outcomes) > MOST_OUTCOMES:
                    self.program.outcomes.clear()
                    self.program.kinds.clear()
                outcome = self.program.outcomes[key] = self._outcome(func, args, kwargs, given.values)
        except Exception:
            return self.eagerly(func, args, kwargs)
        if not isinstance(outcome, Outcome):
            return self.eagerly(func, args, kwargs)
        counted = written_together(func, args, kwargs)
        if counted:
            torch._C._increment_version(counted)
        return self._queued(outcome, given)

    # ------------------------------------------------------------------ results

    def value_of(self, tensor: torch.Tensor) -> Value:
        """The value of a tensor; a real one becomes an input of the segment."""
        if isinstance(tensor, Pending):
            return tensor.value
        found = self._lifted.get(id(tensor))
        kind = self.kind_of(tensor, tensor.device)
        if found is None or found[1].kind is not kind:
            marked = tensor.is_conj() or tensor.is_neg()
            if tensor.layout is not torch.strided or tensor.is_quantized or marked or type(tensor) not in PLAIN:
                raise TypeError("a tensor that no graph takes")
            found = self._lifted[id(tensor)] = (tensor, Value(self, kind, tensor))
        return found[1]

    def kind_of(self, tensor: torch.Tensor, device: torch.device) -> Kind:
        key = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype, device)
        found = self.program.kinds.get(key)
        if found is None:
            found = self.program.kinds[key] = Kind(key)
        return found

    def _outcome(self, func: OpOverload, args: Arguments, kwargs: Keywords, tensors: Sequence[Value]) -> object:
        """Infer the result by torch's meta function, or by a kernel where only that determines it."""
        by_kernel = func in LAID_BY_KERNELS and all(each.kind.device.type == "cpu" for each in tensors)
        where = "cpu" if by_kernel and not all(each.kind.is_packed for each in tensors) else "meta"
        order = iter(tensors)
        indices: dict[int, int] = {}
        twins: dict[int, torch.Tensor] = {}

        def on_meta(value: object) -> object:
            if isinstance(value, torch.Tensor):
                found = next(order)
                twin = twins.get(id(found))
                if twin is None:
                    twin = twins[id(found)] = found.kind.on(where)
                    indices[id(twin)] = tensors.index(found)
                return twin
            return torch.device(where) if isinstance(value, torch.device) else value

        device = kwargs.get("device")
        device = device_of(tensors) if device is None else torch.device(device)
        meta_args, meta_kwargs = tree_map(on_meta, (args, dict(kwargs)))
        if any(argument.name == "device" for argument in func._schema.arguments) and not tensors:
            meta_kwargs["device"] = torch.device("meta")
        with torch.no_grad():
            output = func(*meta_args, **meta_kwargs)
        if func in NORMALIZING and not args[5]:
            # in evaluation the CPU kernel saves nothing, unlike torch's meta function
            output = (output[0], *[saved.new_empty(0) if device.type == "cpu" else saved for saved in output[1:3]])
        for twin_of, twin in zip(dict.fromkeys(map(id, tensors)), twins.values()):
            if tuple(twin.shape) != next(each for each in tensors if id(each) == twin_of).kind.sizes:
                return NotImplemented

        def piece(value: object) -> Kind | int | None:
            if isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested:
                place = indices.get(id(value))
                return self.kind_of(value, device) if place is None else place
            if value is None:
                return None
            raise TypeError("an operator that gives more than tensors")

        listed = isinstance(output, list | tuple)
        pieces = tuple([piece(value) for value in (output if listed else (output,))])
        traits = traits_of(func)
        step = Step(
            func,
            tuple([shape(value, varies) for value, varies in zip(args, traits.varying)]),
            tuple([(name, shape(value, name in traits.varying_names)) for name, value in kwargs.items()]),
            tuple([place for place, each in enumerate(pieces) if type(each) is Kind]),
            listed,
        )
        known = self.program.steps.setdefault((func, step.positional, step.named, step.outputs, listed), step)
        return Outcome(known, pieces, type(output) if listed else None)

    # ------------------------------------------------------------------ the queue

    def _queued(self, outcome: Outcome, given: Given) -> Any:
        operands: list[int] = []
        values, numbered = self.values, self._numbered
        before = len(values)
        for value in given.values:
            number = numbered.get(id(value))
            if number is None:
                number = numbered[id(value)] = len(values)
                values.append(value)
                self._inputs.append(value)
            operands.append(number)
        step = outcome.step
        self.place = self.place.after(step, tuple(operands), given.numbers, len(values) - before)
        self.numbers += given.numbers
        self.operators += 1
        made: list[object] = []
        for piece in outcome.pieces:
            if isinstance(piece, Kind):
                value = Value(self, piece, made_by=step.target)
                numbered[id(value)] = len(values)
                values.append(value)
                made.append(pending_of(value))
            else:
                made.append(None if piece is None else given.tensors[piece])
        if outcome.form is None:
            return made[0]
        return made if outcome.form is list else tuple(made)

    def flush(self) -> None:
        """Run what waits."""
        if self.place.depth == 0:
            self._flushed = (0, 0)
            return
        place, values, inputs, numbers = self.place, self.values, self._inputs, self.numbers
        given = {id(value) for value in inputs}
        needed = [n for n, value in enumerate(values) if id(value) not in given and value.is_needed()]
        self.place, self.values, self.numbers = self.program.stretches.root, [], []
        self._numbered, self._inputs = {}, []
        captured = 0
        with (
            _disable_current_modes(),
            torch._C.DisableTorchFunction(),
            torch._C._AutoDispatchBelowAutograd(),
            torch._C._ExcludeDispatchKeyGuard(BELOW_GRADIENTS),
            # the queued operators include their casts
            torch._C._DisableAutocast(),
        ):
            reals = [value.real for value in inputs]
            found = self.program.stretches.segment(place, needed)
            if found is None:
                made = list(enumerate(one_by_one(place, reals, numbers)))
            else:
                segment, holes, known = found
                varying = [number for number, hole in zip(numbers, holes) if hole is VARIES]
                started = time.perf_counter()
                outputs = segment.run([value.kind for value in inputs], [*reals, *varying])
                self.program.in_graphs += time.perf_counter() - started
                made = list(zip(segment.outputs, outputs))
                captured = place.depth if known else 0
            for number, real in made:
                values[number].real = real
                self._settle(values[number], real)
        self.captured += captured
        self._flushed = (place.depth, captured)

    def _settle(self, value: Value, real: torch.Tensor) -> None:
        """Correct a value's metadata where an operator's meta function differs from its kernel. An operator with other
        sizes is not deferred from here on."""
        kind = value.kind
        if tuple(real.shape) != kind.sizes:
            self.program.distrusted.add(value.made_by)
        elif real.stride() == kind.strides and real.storage_offset() == kind.offset:
            return
        value.kind = self.kind_of(real, real.device)
        for holder in tuple(value.holders):
            tensor = holder()
            if tensor is not None:
                pending.become(tensor, value)

    # ------------------------------------------------------------------ not deferred

    def interrupted(self, cause: str) -> None:
        """The program needs what waits, outside of the graph."""
        place = origin()
        self.flush()
        self.program.broke(cause, place, *self._flushed)

    def outside(self, cause: str, function: Function, args: Arguments, kwargs: Keywords | None = None) -> Any:
        """Run a function outside of graphs, on real tensors and without this mode."""
        self.interrupted(cause)
        opened, named = self.left((tuple(args), kwargs or {}))
        with suspended(), _disable_current_modes(), torch._C.DisableTorchFunction():
            return function(*opened, **named)

    def eagerly(self, func: OpOverload, args: Arguments, kwargs: Keywords) -> Any:
        """Flush the queue, and run an operator eagerly."""
        self.interrupted(cause_of(func))
        self.operators += 1

        output = func(*tree_map(pending.real_of, args), **tree_map(pending.real_of, kwargs))
        if func._schema.is_mutable:
            waiting = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Pending)]
            for tensor in waiting:
                held = tensor.value.materialize()
                kind = self.kind_of(held, held.device)
                if kind is not tensor.value.kind:
                    pending.become(tensor, Value(self, kind, held))
            same = {id(tensor.value.real): tensor for tensor in waiting}
            return tree_map(lambda value: same.get(id(value), value), output)
        return output

    def finish(self) -> None:
        """The end of the call: flush the queue, whether the program succeeded or not."""
        self.flush()
        program = self.program
        program.operators += self.operators
        program.captured += self.captured
        program.last = (self.operators, self.captured)
        for tensor, _ in self._lifted.values():
            if tensor.is_leaf and type(tensor.grad) is Pending:
                tensor.grad = tensor.grad.value.materialize()

    def left(self, returned: object) -> Any:
        """The program's results, with real tensors."""
        return self._left(returned, {})

    def _left(self, value: Any, seen: dict[int, tuple[object, object]]) -> Any:
        """A value with real tensors; mutable containers are updated in place."""
        if id(value) in seen:
            return seen[id(value)][1]
        found = value
        if isinstance(value, Pending):
            found = Leaving.apply(value) if value.requires_grad else as_counted(value)
        elif type(value) in SETTLED or isinstance(value, type | ModuleType | FunctionType | torch.nn.Module):
            return value
        seen[id(value)] = value, found
        if isinstance(value, tuple):
            items = [self._left(item, seen) for item in value]
            if any(one is not other for one, other in zip(items, value)):
                found = again(value, items)
        elif isinstance(value, list | deque):
            for place, item in enumerate(list(value)):
                value[place] = self._left(item, seen)
        elif isinstance(value, dict):
            for key, item in list(dict.items(value)):
                real = self._left(item, seen)
                if real is not item:
                    dict.__setitem__(value, key, real)
        elif type(value) in SUPPORTED_NODES:
            leaves, structure = tree_flatten(value, is_leaf=lambda each: each is not value)
            found = tree_unflatten([self._left(leaf, seen) for leaf in leaves], structure)
        if not isinstance(value, torch.Tensor) and type(getattr(value, "__dict__", None)) is dict:
            self._left(vars(value), seen)
        seen[id(value)] = value, found
        return found


SETTLED: Final = (int, float, bool, str, bytes, complex, type(None), torch.Tensor, torch.nn.Parameter, torch.Size)
"""Classes whose values contain no lazy tensor."""


def again(value: Any, items: Sequence[object]) -> object:
    """A tuple with other items; a subclass keeps its attributes."""
    if type(value) is tuple:
        return tuple(items)
    if is_structseq_class(type(value)):
        return type(value)(items)
    made = tuple.__new__(type(value), items)
    if hasattr(value, "__dict__"):
        vars(made).update(vars(value))
    return made


PLAIN: Final = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class Given:
    """The arguments of an operator.

    Attributes:
        key: the cache key of the operator's result.
        tensors: the tensors in order, with their `values`.
        numbers: the numbers that may vary between calls.
    """

    __slots__ = ("key", "numbers", "session", "tensors", "values")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.key: list[object] = []
        self.tensors: list[torch.Tensor] = []
        self.values: list[Value] = []
        self.numbers: list[object] = []

    def read(self, func: OpOverload, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Analyze the arguments."""
        traits, key, values = traits_of(func), self.key, self.values
        key.append(func)
        for value, varies in zip(args, traits.varying):
            self._read(value, varies, traits.is_pointwise)
        for name, value in kwargs.items():
            key.append(name)
            self._read(value, name in traits.varying_names, traits.is_pointwise)
        if len(values) > 1:
            # the same tensor twice differs from two with equal metadata
            key += map(values.index, values)

    def _read(self, value: Any, varies: bool, is_pointwise: bool) -> None:
        kind, key = type(value), self.key
        if kind is Pending or isinstance(value, torch.Tensor):
            found = value.value if kind is Pending else self.session.value_of(value)
            self.tensors.append(value)
            self.values.append(found)
            key.append(found.kind)
        elif kind is int or kind is float:
            key.append(kind)
            if varies:
                self.numbers.append(value)
            if not (varies and is_pointwise):
                key.append(value)
        elif kind is list or kind is tuple or isinstance(value, list | tuple):
            key.append(len(value))
            for item in value:
                self._read(item, varies, is_pointwise)
        else:
            key.append(kind)
            key.append(repr(value) if kind is complex else value)


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an operator.

    Attributes:
        pieces: the metadata of each new tensor, the index of a returned argument, or None.
        form: `list` or `tuple` for several results.
    """

    step: Step
    pieces: tuple[Kind | int | None, ...]
    form: type | None


def shape(value: object, varies: bool) -> Shape:
    """The shape of an argument in a step."""
    if isinstance(value, torch.Tensor):
        return TENSOR
    if isinstance(value, list | tuple):
        return ("list", *[shape(item, varies) for item in value])
    if varies and type(value) in (int, float):
        return ("hole", type(value))
    return ("constant", type(value), repr(value) if type(value) is complex else "", value)


def device_of(tensors: Sequence[Value]) -> torch.device:
    for value in tensors:
        if value.kind.sizes:
            return value.kind.device
    return tensors[0].kind.device if tensors else torch.get_default_device()
