"""Custom operators: kernel, shape rule and gradient in one object, which traces with symbolic sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.custom_operators import custom_op
    >>> @custom_op("docs::window")
    ... def window(x: torch.Tensor, size: int, step: int = 1) -> torch.Tensor:
    ...     return x.unfold(-1, size, step).clone()
    >>> @window.shape_rule
    ... def _(env, x, size, step=1):
    ...     env.require(size <= x[-1], "the window is longer than the axis")
    ...     return (*x[:-1], (x[-1] - size) // step + 1, size)
    >>> variant = trace(lambda x: window(x, 3, step=2), (torch.randn(2, 9),))
    >>> [str(guard) for guard in variant.guards]
    ['x.shape[1] >= 3']
    >>> variant.graph(torch.randn(4, 6))[0].shape
    torch.Size([4, 2, 3])

`window.check(...)` compares rule and kernel at many sizes (`shapes.testing.check_rule`), `window.infer_shape_rule(...)`
finds the rule by running the kernel on samples, for an operator without one,
`window.gradient(backward, save)` is the gradient, `window.kernel("cuda")` another kernel.

Torch's own tracers (Dynamo, export, make_fx) call the rule with their symbolic sizes: it runs on sizes of this engine,
and the conditions it relied on become guards of torch's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from frontends.pytorch.errors import TraceError
from frontends.pytorch.graphs.graph import Sizes, conditions_of
from frontends.pytorch.meta_rules.registry import sizes_of
from frontends.pytorch.recording.predictions import RULES, dtype_of, flat, is_list
from frontends.pytorch.shape_env.translation import whole
from shapes.env import ShapeEnv
from shapes.rules import Rule
from shapes.rules.registry import rules
from shapes.rules.third_party import TestedEnv
from shapes.symbolic.numbers import SymInt

if TYPE_CHECKING:
    import sympy

    from solver.terms.expr import Expr

Kernel = Callable[..., object]


def custom_op(name: str, *, mutates: Iterable[str] = ()) -> Callable[[Kernel], CustomOperator]:
    """Define an operator from a function of tensors; `mutates` are the arguments that it mutates.

    The function's annotations determine its schema: `torch.Tensor`, `int`, `float`, `bool`, `str` and lists of them.
    """
    return lambda kernel: CustomOperator(name, kernel, mutates=mutates)


class CustomOperator:
    """An operator with its shape rule, kernels and gradient.

    Attributes:
        op: the operator in graphs.
        rule: its shape rule, once registered.
    """

    def __init__(self, name: str, kernel: Kernel, *, mutates: Iterable[str] = ()) -> None:
        self.name = name
        mutated = tuple(mutates)
        schema = torch.library.infer_schema(kernel, mutates_args=mutated)
        self._definition = torch.library.custom_op(name, _packing(kernel), mutates_args=mutated, schema=schema)
        self.op: torch._ops.OpOverload = self._definition._opoverload
        self.rule: Rule | None = None
        functools.update_wrapper(self, kernel)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._definition(*args, **kwargs)

    def shape_rule(self, function: Callable[..., object]) -> Callable[..., object]:
        """Register the shape rule: a function of an environment and the operator's arguments, with shapes for tensors.

        A result has the dtype of the first tensor unless the rule names one: `Shape(sizes, dtype="int64")`.
        """
        self.rule = RULES[self.op] = rules.rule(self.name.replace("::", "."))(function)
        self._definition.register_fake(functools.partial(_fake, self.op, self.rule))
        return function

    def infer_shape_rule(self, **arguments: Any) -> Rule:
        """Infer the shape rule by running the kernel on samples until no more of them disagree; `arguments` are
        strategies for single parameters.

        Raises:
            NotInferred: nothing explains the sizes.
        """
        from shapes.testing import infer_rule

        found = infer_rule(self._definition._init_fn, name=self.name, tensors="torch", **arguments)
        self.shape_rule(found.function)
        return found

    def kernel(self, device: str) -> Callable[[Kernel], Kernel]:
        """Register a kernel for another device."""

        def register(function: Kernel) -> Kernel:
            self._definition.register_kernel(device)(_packing(function))
            return function

        return register

    def gradient(
        self, backward: Callable[..., object], save: Callable[..., None] | None = None
    ) -> Callable[..., object]:
        """Register the gradient: `backward(ctx, *gradients)`, with values saved by `save(ctx, inputs, output)`."""
        self._definition.register_autograd(backward, setup_context=save)
        return backward

    def check(self, **arguments: Any) -> None:
        """Compare the shape rule with the kernel at many sizes; `arguments` are strategies for single parameters.

        Raises:
            RuleDisagrees: with the smallest call on which they differ.
        """
        from shapes.testing import check_rule

        if self.rule is None:
            raise TraceError(f"{self.name}: no shape rule to check")
        check_rule(self.rule, self._definition._init_fn, tensors="torch", **arguments)

    def __repr__(self) -> str:
        return f"<custom operator {self.op._schema}>"


def _packing(kernel: Kernel) -> Kernel:
    """A kernel with contiguous results, since a shape rule has no strides."""

    @functools.wraps(kernel)
    def packed(*args: object, **kwargs: object) -> object:
        result = kernel(*args, **kwargs)
        return tree_map(lambda value: value.contiguous() if isinstance(value, torch.Tensor) else value, result)

    return packed


# ---------------------------------------------------------------------- in torch's tracers


def _fake(op: torch._ops.OpOverload, rule: Rule, *args: object, **kwargs: object) -> object:
    """A fake implementation for torch's own tracers."""
    first = next(leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))
    sizes = TorchSizes(op.name())
    tested: Any = sizes  # in an environment's place
    named = {name: sizes_of(value, sizes.taken) for name, value in kwargs.items()}
    outputs = flat(rule(tested, *[sizes_of(arg, sizes.taken) for arg in args], **named))
    sizes.check()
    made = [
        first.new_empty([sizes.result(size) for size in shape], dtype=dtype_of(shape, first.dtype)) for shape in outputs
    ]
    return made[0] if len(op._schema.returns) == 1 and not is_list(op) else made if is_list(op) else tuple(made)


class TorchSizes(TestedEnv):
    """The environment of a rule that torch's tracers call: torch's sizes are its symbols, results are torch's again."""

    def __init__(self, operator: str) -> None:
        super().__init__(ShapeEnv(), operator)
        self._known: dict[sympy.Basic, SymInt] = {}
        self._torchs: dict[torch.fx.Node, Any] = {}
        self._graph = torch.fx.Graph()
        self._sizes = Sizes(self._graph)

    def taken(self, value: Any) -> Any:
        """A number of torch's, as the rule takes it."""
        if not isinstance(value, torch.SymInt):
            return value
        node = value.node
        if node.maybe_as_int() is not None:
            return int(value)
        if node.expr not in self._known:
            name, found = f"n{len(self._known)}", node.shape_env.bound_sympy(node.expr)
            lo, hi = whole(found.lower), whole(found.upper)
            symbol = self._env.symbol(name, lo, hi, node.hint) if node.has_hint() else self._env.unbacked(name, lo, hi)
            self._known[node.expr] = symbol
            self._bind(symbol.expr, value)
        return self._known[node.expr]

    def _bind(self, symbol: Expr, value: torch.SymInt) -> None:
        node = self._graph.placeholder(str(symbol))
        self._torchs[node] = value
        self._sizes.bind(symbol, lambda: node)

    def unbacked(self, name: str | None = None, lo: int | None = None, hi: int | None = None, **options: Any) -> Any:
        """A value that is known only at run time, for torch too."""
        value = super().unbacked(name, lo, hi, **options)
        self._bind(value.expr, torch.library.get_ctx().new_dynamic_size())
        return value

    def check(self) -> None:
        """Guard on the conditions that the rule relied on, and check its claims about values at run time."""
        for guard in self._env.guards():
            if not all(self._number(self._sizes.truth(prop)) for prop in (guard.domain, guard.prop)):
                raise TraceError(f"torch's hints contradict the guard {guard.text}")
        for check in self._env.runtime_asserts():
            for condition, message, error in conditions_of(check):
                torch._check_with(error, self._number(self._sizes.truth(condition)), lambda message=message: message)

    def result(self, size: SymInt | int) -> Any:
        """A size that the rule gave, as torch's."""
        return self._number(self._sizes.number(size))

    def _number(self, lowered: object) -> Any:
        """The value of a node of the graph."""
        for node in self._graph.nodes:
            if node not in self._torchs:
                self._torchs[node] = node.target(*torch.fx.map_arg(node.args, self._torchs.__getitem__))
        return self._torchs[lowered] if isinstance(lowered, torch.fx.Node) else lowered
