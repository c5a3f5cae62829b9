"""`compile`: a just-in-time compiled function, traced when it is called.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile
    ... def f(x, y):
    ...     return (x + y).relu()
    >>> for size in (3, 5, 7, 1):
    ...     _ = f(torch.randn(size, 8), torch.randn(8))
    >>> for variant in f.variants:
    ...     print(variant.cause)
    first call
    x.shape[0] is 5, was 3

PyTorch's Dynamo reads the function's Python; its graphs run by our variants and kernels, over sizes about which this
engine is asked (`frontends.pytorch.dynamo.program`). `torch.compile(fn, backend="symshape")` is the same compiler. Each
recompilation has a cause, and the number of those with the same one is limited (`Policy.recompile_limit`); beyond it,
calls that no variant accepts run eagerly.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Unpack, overload

from backends import named
from frontends.pytorch.dynamo.compiled import Compiled
from frontends.pytorch.variants.policy import Options, Policy, Setting, check_settings


@overload
def compile(fn: None = None, /, **options: Unpack[Options]) -> Callable[[Callable[..., object]], Compiled]: ...
@overload
def compile(fn: Callable[..., object], /, **options: Unpack[Options]) -> Compiled: ...
def compile(
    fn: Callable[..., object] | None = None,
    /,
    *,
    dynamic: Setting = None,
    backend: str = "eager",
    fullgraph: bool = False,
    policy: Policy | None = None,
) -> Compiled | Callable[[Callable[..., object]], Compiled]:
    """Compile a function or module just in time.

    `dynamic` is True (every size is a symbol), False (only marked ones), None (automatic: those that differ between
    calls), a function of name, axis and size, or relations by name of the input: `{"x": ("b", "5*b")}`. With
    `fullgraph`, a program that cannot be one graph is an error; otherwise Python runs between its graphs.
    """
    options: Options = {"dynamic": dynamic, "backend": backend, "fullgraph": fullgraph, "policy": policy}
    if fn is None:
        named(backend)
        check_settings(dynamic=dynamic, fullgraph=fullgraph, policy=policy)
        decorator: Callable[..., Any] = compile
        return functools.partial(decorator, **options)
    if isinstance(fn, staticmethod | classmethod):
        # static and class methods stay what they are
        return type(fn)(compile(fn.__func__, **options))
    if isinstance(fn, Compiled):
        fn = fn._program.fn
    return Compiled(fn, **options)
