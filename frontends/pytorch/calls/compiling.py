"""`compile`: a function that is traced when it is called, and called by its graphs from then on.

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
    x.size(0) is 5, was 3

A call looks for a variant whose guards hold (`frontends.pytorch.calls.signatures`); where there is none, the function
is traced for the arguments at hand, with the sizes as symbols that `frontends.pytorch.calls.dynamism` says. Each
recompilation has a cause, and a question that asked for it; the same question is answered so only a few times
(`Policy.recompile_limit`), after which calls that no variant accepts fall back to eager.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Unpack, overload

from backends import named
from frontends.pytorch.calls.compiled import Compiled
from frontends.pytorch.calls.dynamism import Policy
from frontends.pytorch.calls.options import Options, Setting, check_settings


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
    """A function or module that is traced when it is called, and called by its graphs from then on.

    `dynamic` is True (every size is a symbol), False (none but what is marked), None (automatic: those that are seen to
    differ), a function of name, axis and size, or relations by name of the input: `{"x": ("b", "5*b")}`. With
    `fullgraph`, what cannot be in a graph is an error; otherwise such calls run with graph breaks.
    """
    options: Options = {"dynamic": dynamic, "backend": backend, "fullgraph": fullgraph, "policy": policy}
    if fn is None:
        named(backend)
        check_settings(dynamic=dynamic, fullgraph=fullgraph, policy=policy)
        return functools.partial(compile, **options)
    if isinstance(fn, staticmethod | classmethod):
        # what is in a class stays what it is there
        return type(fn)(compile(fn.__func__, **options))
    if isinstance(fn, Compiled):
        fn = fn._compilation.fn
    return Compiled(fn, **options)
