"""The backend of `torch.compile`: graphs that Dynamo captures run by our variants and kernels.

    >>> import torch
    >>> from frontends.pytorch.dynamo.backend import symshape
    >>> f = torch.compile(lambda x: (x * 2).relu(), backend=symshape, dynamic=True)
    >>> f(torch.tensor([-1.0, 3.0])), f(torch.tensor([1.0, -2.0, 4.0]))
    (tensor([0., 6.]), tensor([2., 0., 8.]))

Dynamo guards on what a program reads; a graph reads nothing but its inputs. Sizes are symbols where torch has made them
symbols, related as torch knows them to be. What kernels want beyond is a branch here: a further variant of the same
graph, never another graph of Dynamo's. What we do not capture runs as Dynamo gave it, operator by operator.
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
from frontends.pytorch.errors import ConstraintViolation, TraceError, reason_of, refusal
from frontends.pytorch.source_location import origin
from shapes.accepted import did_you_mean
from shapes.errors import ShapeError, UndecidedGuard

OPTIONS: Final = ("backend", "policy")
"""What runs a graph (cpu, triton, eager), and how often it is compiled again (`Policy`)."""
NO_NAMES: Final[Mapping[str, object]] = {}
log: Final = logging.getLogger("symshape")


def symshape(
    module: torch.fx.GraphModule,
    inputs: Sequence[object],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., object]:
    """A graph of Dynamo compiled: `torch.compile(model, backend="symshape", options={"backend": "cpu"})`.

    Never raises: where a backend does, torch leaves Dynamo's evaluation of frames on, and from then on deep recursion
    that Python can take overflows the stack. What is wrong is said by the first call of the graph.
    """
    try:
        return compiled(module, dict(options or {}), mode)
    except ShapeError as error:
        return refused(error)


def compiled(module: torch.fx.GraphModule, options: Mapping[str, Any], mode: str | None) -> Region:
    """The same.

    Raises:
        ShapeError: an option that is none.
    """
    for name in options:
        if name not in OPTIONS:
            wrong(f"options={{{name!r}: ...}}", f"{', '.join(OPTIONS)}{did_you_mean(name, OPTIONS)}")
    if mode not in (None, "default"):
        wrong(f"mode={mode!r}", "no mode: what is fast is measured, not chosen")
    return Region(module, backend=options.get("backend", "cpu"), policy=options.get("policy"))


def refused(error: ShapeError) -> Callable[..., NoReturn]:
    """The graph of a program that was compiled with what is no option."""

    def call(*args: object) -> NoReturn:
        raise error

    return call


def wrong(what: str, expected: str) -> NoReturn:
    raise ConstraintViolation(refusal(f"{what}: expected {expected}", 'torch.compile(f, backend="symshape")', origin()))


class Region:
    """A graph of Dynamo, compiled when it is first called.

    Attributes:
        compilation: its variants; None where there can be none.
        reason: why it runs operator by operator, if so.
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
        # what is no function of a variant may trace, which is to be caught
        if type(call) is FunctionType:
            return call(args, NO_NAMES)
        return self._found(args)(*args)

    def _found(self, args: tuple[object, ...]) -> Callable[..., object]:
        """What runs a call; the graph is traced if need be."""
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
        """The call after a trace that failed, perhaps as the program does with these arguments: if so, what it raises
        is the answer. If it does not, the graph is not traced again."""

        def call(*args: object) -> object:
            found = self._operators(*args)
            self._left(reason_of(error))
            return found

        return call

    def _left(self, reason: str) -> None:
        """From now on the graph runs operator by operator."""
        self.reason = reason
        log.warning("runs operator by operator, as Dynamo captured it: %s", reason)


def unwrapped(module: torch.fx.GraphModule) -> frozenset[int]:
    """Take the reading of Python floats out of a graph, or of those that its operators are given: Dynamo hands them
    over as tensors that the graph reads with `item`. It is told to hand over the floats, which for each of a model's
    saves a call of torch; the places of those that come as tensors all the same."""
    found = set()
    for place, node in enumerate(module.graph.find_nodes(op="placeholder")):
        given = node.meta.get("grapharg")
        readers = readers_of(module, node) if getattr(given, "pass_arg_as_tensor", False) else None
        if readers is not None:
            for each, tensor in readers:
                each.replace_all_uses_with(tensor)
                each.graph.erase_node(each)
            if is_float(node):
                # the code that calls the graph is made when the graph is
                given.pass_arg_as_tensor = False
            else:
                found.add(place)
    return frozenset(found)


def is_float(node: torch.fx.Node) -> bool:
    """Whether an input that comes as a tensor is a float of the program, not a number of NumPy's, say."""
    number = getattr(node.meta.get("example_value"), "item_memo", None)
    symbol = number.node._expr if isinstance(number, torch.SymFloat) else None
    return isinstance(symbol, sympy.Symbol) and symbol_is_type(symbol, SymT.FLOAT)


def readers_of(
    module: torch.fx.GraphModule, node: torch.fx.Node
) -> list[tuple[torch.fx.Node, torch.fx.Node]] | None:
    """What takes the number out of a tensor, wherever a graph hands it on to; None where something else uses it."""
    found = []
    for user in node.users:
        if user.target == "item":
            found.append((user, node))
            continue
        inside = given_to(module, user, node)
        if inside is None:
            return None
        graph, places = inside
        for place in places:
            more = readers_of(graph, place)
            if more is None:
                return None
            found += more
    return list(dict.fromkeys(found))


__all__ = ["Region", "symshape"]
