"""The backend of `torch.compile`: graphs that Dynamo captures run by our variants and kernels.

    >>> import torch
    >>> from frontends.pytorch.dynamo.backend import symshape
    >>> f = torch.compile(lambda x: (x * 2).relu(), backend=symshape, dynamic=True)
    >>> f(torch.tensor([-1.0, 3.0])), f(torch.tensor([1.0, -2.0, 4.0]))
    (tensor([0., 6.]), tensor([2., 0., 8.]))

Dynamo guards what a program reads; a graph reads only its inputs. Sizes are symbolic where torch has made them so, with
torch's facts about them. A further decision for kernels is a branch here: another variant of the same graph, never
another graph of Dynamo's. A graph that we cannot capture runs operator by operator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, NoReturn

import sympy
import torch
from torch.utils._sympy.symbol import SymT, symbol_is_type

from frontends.pytorch.calls.compilation import Compilation
from frontends.pytorch.calls.dynamism import Policy
from frontends.pytorch.dynamo.graphs import function_of
from frontends.pytorch.dynamo.higher_order import given_to, graphs_in, with_checkpoints
from frontends.pytorch.dynamo.symbols import GraphSizes, read_off_tensors
from frontends.pytorch.errors import ConstraintViolation, TraceError, reason_of, rejected
from shapes.accepted import did_you_mean
from shapes.errors import ShapeError, UndecidedGuard

OPTIONS: Final = ("backend", "policy")
"""The kernel backend (cpu, triton, eager), and the recompilation `Policy`."""
NO_NAMES: Final[Mapping[str, object]] = {}
log: Final = logging.getLogger("symshape")


def symshape(
    module: torch.fx.GraphModule,
    inputs: Sequence[object],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., object]:
    """Compile a graph of Dynamo: `torch.compile(model, backend="symshape", options={"backend": "cpu"})`.

    Never raises: after a raising backend torch leaves Dynamo's frame evaluation on, and deep recursion overflows the
    stack from then on. Errors are raised by the first call of the graph.
    """
    try:
        return compiled(module, dict(options or {}), mode)
    except ShapeError as error:
        return refused(error)


def compiled(module: torch.fx.GraphModule, options: Mapping[str, Any], mode: str | None) -> Region:
    """The same, raising errors.

    Raises:
        ShapeError: an invalid option.
    """
    for name in options:
        if name not in OPTIONS:
            wrong(f"options={{{name!r}: ...}}", f"{', '.join(OPTIONS)}{did_you_mean(name, OPTIONS)}")
    if mode not in (None, "default"):
        wrong(f"mode={mode!r}", "no mode: what is fast is measured, not chosen")
    return Region(module, backend=options.get("backend", "cpu"), policy=options.get("policy"))


def refused(error: ShapeError) -> Callable[..., NoReturn]:
    """A graph that raises the error of an invalid option."""

    def call(*args: object) -> NoReturn:
        raise error

    return call


def wrong(what: str, expected: str) -> NoReturn:
    rejected(f"{what}: expected {expected}", 'torch.compile(f, backend="symshape")')


class Region:
    """A graph of Dynamo, compiled at its first call.

    Attributes:
        compilation: its variants; None if there can be none.
        reason: why it runs operator by operator, or empty.
    """

    def __init__(self, module: torch.fx.GraphModule, *, backend: str, policy: Policy | None) -> None:
        with_checkpoints(module)
        self._floats = unwrapped(module)
        read_off_tensors(module.graph)
        for each in graphs_in(module):
            each.recompile()
        self._operators = module.forward
        self.reason = ""
        self.compilation: Any = None
        try:
            graph, sizes = module.graph, GraphSizes(module.graph)
            self.compilation = Compilation(
                function_of(graph, module), backend=backend, policy=policy, fullgraph=True, graph=sizes
            )
        except ShapeError:
            raise
        except Exception as error:
            self._left(reason_of(error))

    def __call__(self, *args: Any) -> object:
        if self._floats:
            args = tuple([value.item() if place in self._floats else value for place, value in enumerate(args)])
        if self.reason:
            return self._operators(*args)
        compilation = self.compilation
        enter = compilation.enter
        if enter is not None:
            result = enter(args, {})
            if result is not NotImplemented:
                return result
        call = compilation.lookup(args, NO_NAMES)
        # anything but a variant's function may trace, whose errors must be caught
        if type(call) is FunctionType:
            return call(args, NO_NAMES)
        return self._found(args)(*args)

    def _found(self, args: tuple[object, ...]) -> Callable[..., object]:
        """Find the callable for a call; traces the graph if necessary."""
        try:
            call = self.compilation.found(args, {})
        except ConstraintViolation:
            raise
        except (TraceError, UndecidedGuard) as error:
            self._left(str(error))
            return self._operators
        except Exception as error:
            return self._perhaps_raised(error)
        return lambda *args: call(args, {})

    def _perhaps_raised(self, error: Exception) -> Callable[..., object]:
        """Run a call after a failed trace; if the program raises too, that is the result. Otherwise the graph is not
        traced again."""

        def call(*args: object) -> object:
            found = self._operators(*args)
            self._left(reason_of(error))
            return found

        return call

    def _left(self, reason: str) -> None:
        """Run the graph operator by operator from now on."""
        self.reason = reason
        log.warning("runs operator by operator, as Dynamo captured it: %s", reason)


def unwrapped(module: torch.fx.GraphModule) -> frozenset[int]:
    """Remove the reads of Python floats from a graph and its subgraphs: Dynamo passes floats as tensors that the graph
    reads by `item`. Here it is made to pass the floats, which saves one torch call for each; returns the indices of
    those that are passed as tensors all the same."""
    found = set()
    for place, node in enumerate(module.graph.find_nodes(op="placeholder")):
        given = node.meta.get("grapharg")
        readers = readers_of(module, node) if getattr(given, "pass_arg_as_tensor", False) else None
        if readers is not None:
            for each, tensor in readers:
                each.replace_all_uses_with(tensor)
                each.graph.erase_node(each)
            if is_float(node):
                # the calling code is generated with the graph
                given.pass_arg_as_tensor = False
            else:
                found.add(place)
    return frozenset(found)


def is_float(node: torch.fx.Node) -> bool:
    """Whether a tensor input is a float of the program, not for example a NumPy scalar."""
    number = getattr(node.meta.get("example_value"), "item_memo", None)
    symbol = number.node._expr if isinstance(number, torch.SymFloat) else None
    return isinstance(symbol, sympy.Symbol) and symbol_is_type(symbol, SymT.FLOAT)


def readers_of(
    module: torch.fx.GraphModule, node: torch.fx.Node
) -> list[tuple[torch.fx.Node, torch.fx.Node]] | None:
    """The nodes that read a tensor's number, also in subgraphs; None if there is another use."""
    found = []
    for user in node.users:
        if user.target == "item":
            found.append((user, node))
            continue
        inside = given_to(module, user, node)
        if inside is None:
            return None
        graph, operands = inside
        for place in operands:
            more = readers_of(graph, place)
            if more is None:
                return None
            found += more
    return list(dict.fromkeys(found))
