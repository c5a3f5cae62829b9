"""Reports of what is compiled, by both spellings.

    >>> import torch
    >>> from frontends.pytorch import explain
    >>> f = torch.compile(lambda x: x * 2 if x.shape[0] > 2 else x * 3, backend="symshape", dynamic=True)
    >>> out = f(torch.randn(4, 5))
    >>> explain(f).splitlines()[:4]
    ['<lambda>: 1 variant', '', 'variant 0: first call', '  x: float32[x.shape[0], x.shape[1]]']

The result of `torch.compile` tells which function makes its graphs, and each graph is noted under that function.
"""

from __future__ import annotations

from inspect import getclosurevars, isfunction
from typing import TYPE_CHECKING, Any

from torch._dynamo.eval_frame import _debug_get_cache_entry_list

from frontends.pytorch.dynamo.backend import CAPTURES
from frontends.pytorch.dynamo.compiled import Compiled
from frontends.pytorch.errors import rejected

if TYPE_CHECKING:
    from shapes.reports.report import Report


def explain(compiled: Any, *, kernels: bool = False) -> str:
    """Describe what `compile`, or `torch.compile` with the backend `symshape`, has returned: why it was compiled again,
    its variants with guards and their lines, graph breaks, and calls that run eagerly. With `kernels`, its kernels too.

    Raises:
        ShapeError: it is not compiled by this backend.
    """
    return report(compiled).text(kernels=kernels)


def report(compiled: Any) -> Report:
    """The description as data; `.save("report.html")` writes a page.

    Raises:
        ShapeError: it is not compiled by this backend.
    """
    if issubclass(type(compiled), Compiled):
        return compiled._program.report()
    function = getattr(compiled, "_compiled_call_impl", None) or compiled
    fn = getattr(function, "_orig_mod", None) or getattr(function, "_torchdynamo_orig_callable", None)
    wrapper = CAPTURES.wrapper(getattr(context_of(compiled), "callback", None))
    if wrapper is None:
        rejected(f"explain({compiled!r}): expected a compiled function", 'torch.compile(f, backend="symshape")')
    captured = CAPTURES.captured(wrapper)
    code = getattr(fn, "__code__", None)
    if not captured.graphs and code is not None:
        # torch gives equal settings the graphs that it has
        known = [each.backend for each in _debug_get_cache_entry_list(code) if each.backend == wrapper]
        captured = CAPTURES.captured(known[0]) if known else captured
    module: Any = compiled if function is not compiled and function is not fn else fn
    return captured.report(module)


def context_of(compiled: Any) -> Any:
    """Torch's context in which a function or module is compiled; None for one that `torch.compile` has not given."""
    function = getattr(compiled, "_compiled_call_impl", None) or compiled
    configured = getattr(function, "get_compiler_config", None)
    # a closure over the context
    return getclosurevars(configured).nonlocals.get("self") if isfunction(configured) else None
