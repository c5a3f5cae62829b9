"""Predictions of operators of a program's own: by a shape rule, a fake implementation, or samples.

    >>> from frontends.pytorch.custom_operators import custom_op  # registers its rules in RULES

Operators of `torch.library` are traced by their fake implementation. Without one, the operator runs on samples, and a
rule is inferred from them (`shapes.testing.infer_rule`): it is listed in `variant.inferred_rules`.

A rule or fake implementation is a prediction: each result is compared with it at run time (`backends.results`), and so
are a rule's facts about unbacked values. A schema's mutated arguments are trusted: a kernel that mutates another one is
not detected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch._library import fake_impl, simple_registry
from torch._library.utils import has_fake_kernel
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

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

RULES: Final[dict[object, Rule]] = {}
"""The shape rules of custom operators."""

# ---------------------------------------------------------------------- in a trace


def template(
    recorder: Trace, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords, tensors: Sequence[Traced]
) -> Template:
    """Predict a custom operator's results by its rule, its fake implementation, or an inferred rule."""
    if not all(is_tensors(each.type) for each in func._schema.returns) or (
        len(func._schema.returns) > 1 and is_list(func)
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
    kinds = [recorder.kinds.laid(list(shape), None, 0, dtype_of(shape, dtype), device) for shape in flat(outputs)]
    output: object = kinds if is_list(func) else kinds[0] if len(func._schema.returns) == 1 else tuple(kinds)
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
                f"{func.name()} has no shape rule, and takes several tensors or sizes in `{name}`: write a rule"
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
            raise TraceError(f"{func.name()} has no shape rule, and its results are not contiguous: write a rule")
        sizes = tuple([tuple(output.shape) for output in outputs])
        for contents in CONTENTS:
            others = made([contents(value) if isinstance(value, torch.Tensor) else value for value in values])
            if others is not None and tuple([tuple(output.shape) for output in others]) != sizes:
                raise TraceError(f"{func.name()} has no shape rule, and its sizes depend on elements: write a rule")
        return sizes

    try:
        rule = infer_rule(reference, 500, name=func.name().replace("::", "."), examples=200, **varied)
    except NotInferred as error:
        raise TraceError(
            f"{func.name()} has no shape rule, and none was inferred by running it: {error}; write a rule"
            " (custom_op(...).shape_rule, or torch.library.register_fake)"
        ) from error
    dtypes = [str(output.dtype).removeprefix("torch.") for output in results]

    def typed(env: ShapeEnv, *args: object, **kwargs: object) -> tuple[Shape, ...]:
        named = {argument.name: value for argument, value in bound(func, args, kwargs)}
        shapes = flat(rule(env, *[named[name] for name in varied]))
        return tuple([Shape(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)])

    typed.__doc__ = rule.__doc__
    return Rule(rule.name, typed)


def flat(outputs: Any) -> list[Shape]:
    return [outputs] if isinstance(outputs, Shape) else [shape for shape in outputs if shape is not None]


def is_tensors(kind: object) -> bool:
    """Return True if a schema's type is a tensor, an optional tensor, or a list of tensors."""
    return str(kind) in ("Tensor", "Optional[Tensor]", "List[Tensor]")


def is_list(func: torch._ops.OpOverload) -> bool:
    return any(isinstance(each.type, torch.ListType) for each in func._schema.returns)


def dtype_of(shape: Shape, otherwise: torch.dtype) -> torch.dtype:
    return otherwise if shape.dtype is None else getattr(torch, shape.dtype)
