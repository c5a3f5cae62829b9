"""Facts about the numbers and sizes that operators make from data, while torch captures a program.

    >>> import torch
    >>> from frontends.pytorch.shape_env import installed
    >>> router = torch.nn.Linear(3, 2)
    >>> def experts(x):
    ...     chosen = router(x).argmax(-1)
    ...     return x[chosen.argsort()].split(chosen.bincount(minlength=2).tolist())
    >>> with installed():
    ...     f = torch.compile(experts, backend="eager", dynamic=True, fullgraph=True)
    ...     sum(len(each) for each in f(torch.ones(5, 3)))
    5

A size gets the bounds of its operator's shape rule. While Dynamo reads a function, its operators are recorded as a
trace's are, and what is read from their results gets the facts of `shapes.rules.element_facts`. Bodies of loops and
branches have none, since an argument there stands for a new tensor in each round, and they may write: the facts end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._dynamo.symbolic_convert import tls
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakIdKeyDictionary

from frontends.operator_names.aten_operators import aten as vocabulary
from frontends.pytorch.meta_rules.registry import sizes_of, word_of
from frontends.pytorch.recording.contents import UNIQUE, Contents
from frontends.pytorch.recording.operations import EXCHANGES, Operation, Recording, bound
from frontends.pytorch.shape_env.translation import is_unbacked
from frontends.pytorch.symbolic.metadata import Metadata, name_of
from frontends.pytorch.symbolic.node import Nodes
from frontends.pytorch.symbolic.tensor import Result
from shapes.errors import ShapeError
from shapes.rules import Shape
from shapes.rules.broadcasting import same
from shapes.rules.elements import Elements
from shapes.symbolic.choices import Int, Truth
from shapes.symbolic.numbers import SymInt

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

aten: Final = torch.ops.aten
SIZED: Final = (
    *UNIQUE, aten.nonzero.default, aten.masked_select.default, aten.index.Tensor, aten.bincount.default,
    aten.repeat_interleave.Tensor,
)  # fmt: skip
"""Operators that make sizes from data."""


class Asked:
    """The environment of a shape rule whose unbacked sizes torch has made: what the rule says of them is collected."""

    def __init__(self, env: Any, sizes: Sequence[SymInt]) -> None:
        self._env = env
        self._sizes = list(sizes)
        self.facts: list[Truth] = []

    def __getattr__(self, name: str) -> Any:  # what an environment has
        return getattr(self._env, name)

    def unbacked(self, name: str | None = None, lo: int | None = None, hi: int | None = None) -> SymInt:
        """Torch's next size."""
        if not self._sizes:
            raise Opaque
        size = self._sizes.pop(0)
        self.facts += [size >= lo] if lo is not None else []
        self.facts += [size <= hi] if hi is not None else []
        return size

    def postulate(self, fact: Truth) -> None:
        self.facts.append(fact)

    def require(self, question: Truth, message: str = "") -> None:
        """Torch has checked its arguments."""


class Opaque(Exception):
    """A number of torch's has no exact form here."""


class DataSizes:
    """The data-dependent numbers and sizes of one environment."""

    def __init__(self, engine: ShapeEnv, torchs: Callable[[], Any]) -> None:
        self.depth = 0
        """The number of operators that torch is in: what one is made of says no more than it does."""
        self._torchs: Final = torchs
        self._env: Final = engine
        self._recording: Final = Recording()
        self._contents: Final = Contents(self._recording, engine)
        self._nodes: Final = Nodes(engine)
        self._results: Final = WeakIdKeyDictionary()
        self._last: torch.fx.Node | None = None
        self._is_read = False
        """True while Dynamo reads the function, outside of the bodies of loops and branches."""

    def made(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any], output: Any) -> None:
        """Learn from an operator that torch has applied to fake tensors."""
        reader: Any = getattr(tls, "current_tx", None)
        self._is_read = reader is not None and not reader.output.should_exit and reader.output.is_root_tracer()
        if self._is_read and self._may_have_written(reader.output.root_tracer.graph):
            self._results.clear()
        try:
            is_whole = self._is_read and self.depth == 0
            operation = None
            if is_whole:
                named = {name: self._argument(value) for name, value in kwargs.items()}
                operation = Operation(func, tuple(self._argument(args)), named, None)
            if func in SIZED:
                self._sized(func, args, kwargs, output)
            if operation is not None:
                operation.output = self._argument(output)
                self._recording.operations.append(operation)
                if func is aten._local_scalar_dense.default:
                    self._read(args[0], output)
        except ShapeError:
            pass  # the program raises
        except Opaque:
            if func._schema.is_mutable:
                self._results.clear()  # a write that is not recorded

    def _may_have_written(self, graph: torch.fx.Graph) -> bool:
        """Return True if the graph has a higher-order operator more: its body, or a kernel of the user's, may write."""
        before, self._last = self._last, next(iter(reversed(graph.nodes)), None)
        more = itertools.takewhile(lambda node: node is not before, reversed(graph.nodes))
        return any(isinstance(node.target, HigherOrderOperator) for node in more)

    # ------------------------------------------------------------------ in our terms

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._result(value)
        if isinstance(value, list | tuple):
            return [self._argument(each) for each in value]
        if isinstance(value, torch.SymInt):
            return self._nodes.node(self._number(value))
        # equal to nothing else
        return object() if isinstance(value, torch.SymFloat | torch.SymBool) else value

    def _result(self, tensor: torch.Tensor) -> Result:
        found = self._results.get(tensor)
        if found is None:
            shape = self._shape(tensor)
            kind = Metadata((), (), (), 0, tensor.dtype, tensor.device, _shape=shape)
            found = self._results[tensor] = self._recording.result(kind)
        return found

    def _shape(self, tensor: torch.Tensor, elements: Elements | None = None) -> Shape:
        return Shape([self._number(size) for size in tensor.shape], dtype=name_of(tensor.dtype), elements=elements)

    def _number(self, value: int | torch.SymInt) -> Int:
        if not isinstance(value, torch.SymInt):
            return value
        torchs, form = self._torchs(), form_of(value)
        expression = None if torchs is None or form is None else torchs.expression(form)
        if expression is None:
            raise Opaque
        return SymInt(self._env, expression, self._env.interner.true)

    # ------------------------------------------------------------------ facts

    def _read(self, tensor: torch.Tensor, value: object) -> None:
        """An element that the program reads."""
        if not isinstance(value, torch.SymInt):
            return
        number, contents = self._contents.number(self._result(tensor)), self._contents
        known = contents.read.get(number, contents.value(number))
        ours = self._number(value)
        if known is not None:
            self._env.postulate(known == ours)
        elif isinstance(ours, SymInt):
            contents.noted(number, ours)
        contents.read[number] = ours

    def _elements(self, tensor: torch.Tensor) -> Elements | None:
        is_known = self._is_read and tensor in self._results
        return self._contents.of(self._contents.number(self._results[tensor])) if is_known else None

    def _sized(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any], output: Any) -> None:
        """The bounds of sizes by the shape rule."""
        first = output[0] if isinstance(output, list | tuple) else output
        sizes = [self._number(size) for size in first.shape]
        fresh = [ours for ours, torchs in zip(sizes, first.shape) if is_fresh(torchs) and isinstance(ours, SymInt)]
        if not fresh:
            return
        rule: Any = vocabulary["unique" if func in UNIQUE else word_of(func)]
        asked: Any = Asked(self._env, fresh)
        with self._env.speculate():
            before = self._env.known
            if func in UNIQUE:
                named = {argument.name: value for argument, value in bound(func, args, kwargs)}
                found = rule(asked, self._ruled(args[0]), dim=named.get("dim"))
            else:
                found = rule(asked, *map(self._ruled, args), **{name: self._ruled(v) for name, v in kwargs.items()})
            if self._env.known is not before:
                return  # true under a condition that torch has not asked for
        outcome = found if isinstance(found, Shape) else found[0]
        for fact in [*asked.facts, *[size == predicted for size, predicted in zip(sizes, outcome)]]:
            self._env.postulate(fact)
        self._learn_total(func, args, sizes)

    def _ruled(self, value: Any) -> Any:
        """An argument of a shape rule."""
        return sizes_of(value, self._number, lambda tensor: self._shape(tensor, self._elements(tensor)))

    def _learn_total(self, func: Any, args: Sequence[Any], sizes: Sequence[Int]) -> None:
        """Other sizes that are made from the same elements are equal."""
        if func is aten.index.Tensor:
            selected = [each for each in args[1] if each is not None]
            tensor = selected[0] if len(selected) == 1 else None
            place = args[1].index(tensor) if tensor is not None else 0
        elif func is aten.masked_select.default:
            source, mask = (self._shape(each) for each in args[:2])
            as_large = len(mask) >= len(source) and all(map(same, source[::-1], mask[::-1]))
            tensor, place = args[1] if as_large else None, 0
        else:
            tensor, place = args[0] if func in (aten.nonzero.default, aten.repeat_interleave.Tensor) else None, 0
        is_counted = func is aten.repeat_interleave.Tensor or (tensor is not None and tensor.dtype is torch.bool)
        if self._is_read and tensor is not None and is_counted and tensor in self._results:
            self._contents.learn(self._contents.number(self._results[tensor]), Elements(total=sizes[place]))


def form_of(size: torch.SymInt) -> Any:
    """Torch's expression of a size; None for the length of the rows of a jagged tensor."""
    return getattr(size.node, "expr", None)


def is_fresh(size: Any) -> bool:
    """Return True if a size of torch's is a symbol that only the run knows."""
    form = form_of(size) if isinstance(size, torch.SymInt) else None
    return form is not None and form.is_Symbol and is_unbacked(form)


def exchanged(func: Any, args: Any, kwargs: Any) -> list[FakeTensor]:
    """The arguments of a collective whose numbers torch knows.

    Torch computes operators on constants while it captures: of a collective that would be an exchange that the other
    ranks don't expect, and their numbers would be constants of the graph.
    """
    if getattr(func, "namespace", None) not in EXCHANGES:
        return []
    leaves = pytree.tree_leaves((args, kwargs))
    return [each for each in leaves if isinstance(each, FakeTensor) and each.constant is not None]


DISPATCH: Final = FakeTensorMode.dispatch


def dispatch(self: FakeTensorMode, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Stands for torch's `FakeTensorMode.dispatch`: an environment of ours sees each operator with its results."""
    data = getattr(self.shape_env, "data_sizes", None)
    if data is None:
        return DISPATCH(self, func, types, args, kwargs or {})
    known = [(each, each.constant) for each in exchanged(func, args, kwargs)]
    for each, _ in known:
        each.constant = None
    data.depth += 1
    try:
        output = DISPATCH(self, func, types, args, kwargs or {})
    finally:
        data.depth -= 1
        if known and not func._schema.is_mutable:
            for each, constant in known:
                each.constant = constant
    if isinstance(func, torch._ops.OpOverload):
        data.made(func, args, kwargs or {}, output)
    return output


REPLACED: Final = ((FakeTensorMode, "dispatch", dispatch),)
