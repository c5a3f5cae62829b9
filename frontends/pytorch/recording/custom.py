"""Custom operators: kernel, shape rule and gradient in one object, which traces with symbolic sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.recording.custom import custom_op
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

`window.check(...)` compares rule and kernel at many sizes (`shapes.testing.check_rule`),
`window.gradient(backward, save)` is the gradient, `window.kernel("cuda")` another kernel. Operators of `torch.library`
are traced by their fake implementation. Without one, the operator runs on samples, and a rule is inferred from them
(`shapes.testing.infer_rule`): it is listed in `variant.inferred_rules`.

A rule or fake implementation is a prediction: each result is compared with it at run time (`backends.results`), and so
are a rule's facts about unbacked values. A schema's mutated arguments are trusted: a kernel that mutates another one is
not detected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch._library import fake_impl, simple_registry
from torch._library.utils import has_fake_kernel
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from frontends.pytorch.errors import TraceError, unsupported
from frontends.pytorch.meta_rules.registry import sizes_of
from frontends.pytorch.recording.meta import by_meta
from frontends.pytorch.recording.operations import bound
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.metadata import Template
from frontends.pytorch.symbolic.tensor import Trace, Traced
from shapes.env import ShapeEnv
from shapes.environment.reader import Question
from shapes.rules import Rule, Shape
from shapes.rules.registry import rules

Kernel = Callable[..., object]
RULES: Final[dict[object, Rule]] = {}
"""The shape rules of custom operators."""


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


def _fake(op: torch._ops.OpOverload, rule: Rule, *args: object, **kwargs: object) -> object:
    """A fake implementation for torch's own tracers, for concrete sizes."""
    first = next(leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))
    outputs = rule(ShapeEnv(), *[sizes_of(arg) for arg in args], **{name: sizes_of(v) for name, v in kwargs.items()})
    made = [
        first.new_empty([int(size) for size in shape], dtype=_dtype_of(shape, first.dtype)) for shape in _flat(outputs)
    ]
    return made[0] if len(op._schema.returns) == 1 and not _is_list(op) else made if _is_list(op) else tuple(made)


# ---------------------------------------------------------------------- in a trace


def template(
    recorder: Trace, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords, tensors: Sequence[Traced]
) -> Template:
    """Predict a custom operator's results by its rule, its fake implementation, or an inferred rule."""
    if not all(is_tensors(each.type) for each in func._schema.returns) or (
        len(func._schema.returns) > 1 and _is_list(func)
    ):
        what = f"{func.name()} gives more than tensors: {func._schema}"
        unsupported(what, "return tensors, or a single list of tensors")
    rule = RULES.get(func)
    if rule is None and (not func._schema.returns or has_fake_kernel(func)):
        fake = simple_registry.singleton.find(func._schema.name).fake_impl.kernel
        with DynamicSizes(recorder, func.name()) as sizes:
            found = by_meta(recorder, func, args, kwargs, tensors, run=func if fake is None else fake)
        return replace(found, once=True) if sizes.used else found
    inferred = ""
    if rule is None:
        rule = _inferred(func, args, kwargs)
        inferred = rule.__doc__ or rule.name
    env = recorder.env
    before = len(env.symbols)
    named = {name: sizes_of(value) for name, value in kwargs.items()}
    tested: Any = TestedEnv(env, func.name())  # in an environment's place
    outputs = rule(tested, *[sizes_of(arg) for arg in args], **named)
    like = next((tensor.metadata for tensor in tensors), None)
    dtype = like.dtype if like is not None else torch.get_default_dtype()
    device = like.device if like is not None else torch.get_default_device()
    kinds = [recorder.kinds.laid(list(shape), None, 0, _dtype_of(shape, dtype), device) for shape in _flat(outputs)]
    output: object = kinds if _is_list(func) else kinds[0] if len(func._schema.returns) == 1 else tuple(kinds)
    return Template(output, once=len(env.symbols) > before, inferred=inferred)


def predicted_by(func: torch._ops.OpOverload) -> str:
    """The source of a custom operator's prediction."""
    rule = RULES.get(func)
    if rule is not None:
        code = getattr(rule.function, "__code__", None)
        return f"the shape rule {rule.name}" + (f" ({code.co_filename}:{code.co_firstlineno})" if code else "")
    return "its fake implementation" if has_fake_kernel(func) else "the rule that was inferred from samples"


class TestedEnv:
    """The trace's environment for third-party rules: their facts about unbacked values become runtime checks."""

    def __init__(self, env: ShapeEnv, operator: str) -> None:
        self._env = env
        self._operator = operator

    def __getattr__(self, name: str) -> Any:  # what an environment has
        return getattr(self._env, name)

    def unbacked(self, name: str | None = None, lo: int | None = None, hi: int | None = None, **options: Any) -> Any:
        """An unbacked size, so not negative; tighter bounds are checked at run time."""
        if options.get("kind", "int") != "int":
            return self._env.unbacked(name, **options)
        value = self._env.unbacked(name, lo if lo is None else min(lo, 0), **options)
        if lo is not None and lo > 0:
            self.postulate(value >= lo)
        if hi is not None:
            self.postulate(value <= hi)
        return value

    def postulate(self, question: Question) -> None:
        self._env.expect_true(question, f"the shape rule of {self._operator} says so")


class DynamicSizes:
    """The context of a fake implementation that creates unbacked sizes (`torch.library.get_ctx`)."""

    def __init__(self, recorder: Trace, operator: str) -> None:
        self.recorder = recorder
        self.used = False
        self._env = TestedEnv(recorder.env, operator)

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> torch.SymInt:
        """A new unbacked size with bounds."""
        self.used = True
        return self.recorder.nodes.wrap(self._env.unbacked(None, min, max))

    create_unbacked_symint = new_dynamic_size

    def __enter__(self) -> DynamicSizes:
        self._setting = fake_impl.set_ctx_getter(lambda: self)
        self._setting.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._setting.__exit__(*error)


# ---------------------------------------------------------------------- inferring

_found: Final[dict[object, Rule]] = {}
UNSIGNED: Final = (torch.bool, torch.uint8)


def _inferred(func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object]) -> Rule:
    """Infer a rule by running the operator.

    Raises:
        TraceError: none was found, or samples of its arguments cannot be generated.
    """
    given = {argument.name: value for argument, value in bound(func, args, kwargs)}
    key = (func, *[(name, _described(value)) for name, value in given.items()])
    found = _found.get(key)
    if found is None:
        with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
            found = _found[key] = _rule_of(func, given)
    return found


def _described(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return (value.dim(), value.dtype)
    return "int" if isinstance(value, int | torch.SymInt) and not isinstance(value, bool) else repr(value)


CONTENTS: Final[tuple[Callable[[torch.Tensor], torch.Tensor], ...]] = (
    torch.zeros_like,
    lambda x: torch.ones_like(x).neg() if x.dtype not in UNSIGNED else torch.ones_like(x),
    lambda x: (torch.arange(x.numel()).reshape(x.shape) % 2).to(x.dtype),
)
"""Element values for samples: the result sizes must not depend on them."""


def _rule_of(func: torch._ops.OpOverload, given: Mapping[str, object]) -> Rule:
    from hypothesis import strategies as st

    from shapes.testing import Call, infer_rule
    from shapes.testing.calls import Input
    from shapes.testing.inferring import NotInferred
    from shapes.testing.references.torch_eager import tensor_of as real_tensor

    varied: dict[str, Any] = {}  # strategies, among the keyword arguments of `infer_rule`
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            axes, dtype = value.dim(), str(value.dtype).removeprefix("torch.")
            varied[name] = st.lists(st.integers(0, 6), min_size=axes, max_size=axes).map(
                functools.partial(Input, dtype=dtype, low=0, high=2)
            )
        elif isinstance(value, int | torch.SymInt) and not isinstance(value, bool):
            varied[name] = st.integers(0, 6)
        elif any(isinstance(leaf, torch.Tensor | torch.SymInt) for leaf in tree_leaves(value)):
            raise TraceError(
                f"{func.name()} has no shape rule, and takes several tensors or sizes in `{name}`: write one"
            )
    # the cached search holds no traced tensor
    fixed = {name: value for name, value in given.items() if name not in varied}
    results: list[torch.Tensor] = []

    def made(values: Sequence[object]) -> list[torch.Tensor] | None:
        """The operator's results for these arguments; None if it fails on them."""
        try:
            found = func(**{**fixed, **dict(zip(varied, values))})
        except Exception:
            return None
        return [leaf for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)]

    def reference(call: Call) -> tuple[tuple[int, ...], ...] | None:
        values, _ = call.replaced(real_tensor)
        outputs = made(values)
        if outputs is None:
            return None
        results[:] = outputs
        if not all(output.is_contiguous() for output in outputs):
            raise TraceError(f"{func.name()} has no shape rule, and gives tensors that are not packed: write one")
        sizes = tuple([tuple(output.shape) for output in outputs])
        for contents in CONTENTS:
            others = made([contents(value) if isinstance(value, torch.Tensor) else value for value in values])
            if others is not None and tuple([tuple(output.shape) for output in others]) != sizes:
                raise TraceError(f"{func.name()} has no shape rule, and its sizes depend on elements: write one")
        return sizes

    try:
        rule = infer_rule(reference, 500, name=func.name().replace("::", "."), examples=200, **varied)
    except NotInferred as error:
        raise TraceError(
            f"{func.name()} has no shape rule, and none was found by running it: {error}; write one"
            " (custom_op(...).shape_rule, or torch.library.register_fake)"
        ) from error
    dtypes = [str(output.dtype).removeprefix("torch.") for output in results]

    def typed(env: ShapeEnv, *args: object, **kwargs: object) -> tuple[Shape, ...]:
        named = {argument.name: value for argument, value in bound(func, args, kwargs)}
        shapes = _flat(rule(env, *[named[name] for name in varied]))
        return tuple([Shape(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)])

    typed.__doc__ = rule.__doc__
    return Rule(rule.name, typed)


def _flat(outputs: Any) -> list[Shape]:
    return [outputs] if isinstance(outputs, Shape) else [shape for shape in outputs if shape is not None]


def is_tensors(kind: object) -> bool:
    """Return True if a schema's type is a tensor, an optional tensor, or a list of tensors."""
    return str(kind) in ("Tensor", "Optional[Tensor]", "List[Tensor]")


def _is_list(func: torch._ops.OpOverload) -> bool:
    return any(isinstance(each.type, torch.ListType) for each in func._schema.returns)


def _dtype_of(shape: Shape, otherwise: torch.dtype) -> torch.dtype:
    return otherwise if shape.dtype is None else getattr(torch, shape.dtype)
