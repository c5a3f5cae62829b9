"""Failures of a compiled program: a result that differs from eager torch's, an error, or a guard.

    >>> import torch
    >>> from frontends.pytorch.minifier.failures import Settings, failure_of
    >>> settings = Settings("eager", True, 1e-5, 1e-6)
    >>> def halved(x):
    ...     return x.view(2, -1)
    >>> str(failure_of(halved, lambda: [torch.ones(4, 2)], settings))
    'specializes: guard ...'
    >>> failure_of(torch.relu, lambda: [torch.ones(4, 2)], settings)

Each check compiles separately, with `fullgraph=True`, after eager torch has run: an error in eager torch is no failure.
Both runs use the same seed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Literal

import torch
from torch.utils._pytree import tree_leaves

from frontends.pytorch.dynamo.compiled import compile

Kind = Literal["raises", "differs", "specializes"]
Made = Callable[[], Sequence[object]]


@dataclass(frozen=True, slots=True)
class Settings:
    """The options with which a program is compiled, and the tolerances of its results.

    None for the dtype's defaults.
    """

    backend: str
    dynamic: bool | None
    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure.

    Attributes:
        what: the description.
        where: for an error, its class and the raising functions, which identify the failure.
        lines: for guards, their lines of the program.
    """

    kind: Kind
    what: str
    where: tuple[object, ...] = ()
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"

    def is_same(self, other: Failure | None) -> bool:
        """Return True if a smaller program's failure is the same."""
        return other is not None and other.kind == self.kind and other.where == self.where


def failure_of(
    fn: Callable[..., object],
    made: Made,
    settings: Settings,
    kind: Kind | None = None,
    named: Mapping[str, Any] = MappingProxyType({}),
) -> Failure | None:
    """The failure of a program on the arguments from `made`, or None; of one kind, if given."""
    try:
        expected = observed(lambda *given: fn(*given, **named), made())
    except Exception:
        return None
    compiled = compile(fn, backend=settings.backend, dynamic=settings.dynamic, fullgraph=True)
    try:
        found = observed(lambda *given: compiled(*given, **named), made())
    except Exception as error:
        if kind not in (None, "raises"):
            return None
        what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return Failure("raises", what, (type(error), *raised_by(error.__traceback__)))
    if kind in (None, "differs"):
        try:
            torch.testing.assert_close(found, expected, rtol=settings.rtol, atol=settings.atol, equal_nan=True)
        except AssertionError as error:
            return Failure("differs", str(error).strip().partition("\n")[0])
    if kind in (None, "specializes"):
        guards = [guard for variant in compiled._program.variants for guard in variant.guards]
        if guards:
            lines = tuple([str(guard.origin) for guard in guards])
            return Failure("specializes", f"guard {', '.join(map(str, guards))}", (), lines)
    return None


def observed(run: Callable[..., object], given: Sequence[object]) -> list[object]:
    """The observable results of a call: results, written arguments, and gradients."""
    torch.manual_seed(0)
    returned = [each for each in tree_leaves(run(*given)) if isinstance(each, torch.Tensor)]
    tensors = [each for each in tree_leaves(list(given)) if isinstance(each, torch.Tensor)]
    gradients: list[object] = []
    followed = [each for each in returned if each.requires_grad]
    learned = [each for each in tensors if each.requires_grad]
    if followed and learned:
        ones = [torch.ones_like(each) for each in followed]
        gradients = list(torch.autograd.grad(followed, learned, ones, allow_unused=True))
    return [*[each.detach() for each in (*returned, *tensors)], *gradients]


def raised_by(step: TracebackType | None) -> list[tuple[str, str]]:
    """The two innermost functions of an error."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(step)]
    return [(code.co_filename, code.co_name) for code in codes[-2:]]
