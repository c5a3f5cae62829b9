"""Validation of `compile`'s arguments.

    >>> from frontends.pytorch import compile
    >>> compile(lambda x: x, dynamic="yes")
    Traceback (most recent call last):
    frontends.pytorch.errors.ConstraintViolation: dynamic='yes': expected True, False, None, a function or relations
      ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from frontends.pytorch.errors import rejected
from frontends.pytorch.recording.inputs import Dynamic
from frontends.pytorch.variants.policy import Policy
from frontends.pytorch.variants.relations import Statement
from shapes.accepted import is_truth, shown

Setting: TypeAlias = "bool | Dynamic | Mapping[str, Sequence[Statement]] | None"


class Options(TypedDict, total=False):
    """The options of `compile`."""

    dynamic: Setting
    backend: str
    fullgraph: bool
    policy: Policy | None


DYNAMIC = "True, False, None, a function or relations"


def check_options(fn: object, *, dynamic: object, fullgraph: object, policy: object) -> None:
    """Reject what is no function, and invalid options.

    Raises:
        ConstraintViolation: with what is accepted.
    """
    if isinstance(fn, type):
        rejected(f"compile({fn.__qualname__}): a class", f"compile({fn.__qualname__}(...)), an instance of the class")
    if not callable(fn):
        rejected(f"compile({shown(fn)}): expected a function or a module", "compile(f), not compile(f(x))")
    check_settings(dynamic=dynamic, fullgraph=fullgraph, policy=policy)


def check_settings(*, dynamic: object, fullgraph: object, policy: object) -> None:
    """Reject invalid options."""
    if not (dynamic is None or isinstance(dynamic, bool | Mapping) or callable(dynamic)):
        fix = 'dynamic=True, or relations by name of the input: dynamic={"x": ("b", "5*b")}'
        rejected(f"dynamic={shown(dynamic)}: expected {DYNAMIC}", fix)
    if not is_truth(fullgraph):
        rejected(f"fullgraph={shown(fullgraph)}: expected True or False", "fullgraph=True, or leave it out")
    if not (policy is None or isinstance(policy, Policy)):
        rejected(f"policy={shown(policy)}: expected a Policy", "policy=Policy(recompile_limit=2, variants=64)")
