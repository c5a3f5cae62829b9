"""The options of `compile`, among them the policy of recompilation: limits, and options of kernels.

>>> from frontends.pytorch.variants.policy import Policy
>>> Policy(recompile_limit=0)
Traceback (most recent call last):
shapes.errors.ConstraintViolation: recompile_limit=0: expected a number of at least 1
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypedDict

from backends import named
from backends.decisions.costs import Expected
from backends.decisions.questions import KINDS
from frontends.pytorch.errors import ConstraintViolation, rejected
from frontends.pytorch.recording.inputs import Dynamic
from shapes.accepted import did_you_mean, is_truth, shown
from shapes.relations import Statements

OF_OBJECT: Final = re.compile(r"\w+\(")


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of recompilation, and options of kernels.

    Attributes:
        recompile_limit: the number of recompilations for one question about sizes; then calls that no variant accepts
            fall back to eager. There are four times as many for one about an object, such as a list's length: by
            default torch's own limit.
        variants: the number of variants of a graph, and of Dynamo's graphs of a function.
        withheld: kinds of decisions (`backends.decisions.questions`) that kernels do without, to measure their worth.
        guards: the expected use of a variant, if profitable guards may be added for faster kernels; None adds none
            (see `backends.decisions.costs`).
        ranks_timeout: the seconds within which all ranks of a process group must compile a function for the first time,
            so that they decide alike what is dynamic. None waits 30 seconds, after which a rank decides alone; 0 lets
            each rank decide alone at once. Only for `compile`.
    """

    recompile_limit: int = 2
    variants: int = 64
    withheld: frozenset[str] = frozenset()
    guards: Expected | None = None
    ranks_timeout: float | None = None

    def limit(self, question: str) -> int:
        """The number of recompilations for a question: one about an object is about a function of it."""
        return 4 * self.recompile_limit if OF_OBJECT.match(question) else self.recompile_limit

    def __post_init__(self) -> None:
        for name in ("recompile_limit", "variants"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConstraintViolation(f"{name}={value!r}: expected a number of at least 1")
        timeout: object = self.ranks_timeout
        is_time = isinstance(timeout, int | float) and type(timeout) is not bool and 0 <= timeout < float("inf")
        if timeout is not None and not is_time:
            text = f"ranks_timeout={shown(timeout)}: expected seconds, 0 to decide on each rank alone, or None"
            raise ConstraintViolation(text)
        withheld: object = self.withheld
        if not isinstance(withheld, Collection) or isinstance(withheld, str):
            raise ConstraintViolation(f"withheld={shown(self.withheld)}: expected a set of kinds of decisions")
        unknown = sorted(map(str, set(self.withheld) - KINDS))
        if unknown:
            known = f"the kinds of decisions are {', '.join(sorted(KINDS))}"
            raise ConstraintViolation(f"withheld={unknown}: {known}{did_you_mean(unknown[0], KINDS)}")
        if not (self.guards is None or isinstance(self.guards, Expected)):
            raise ConstraintViolation(f"guards={shown(self.guards)}: expected an Expected, or None")


Setting: TypeAlias = "bool | Dynamic | Statements | None"


class Options(TypedDict, total=False):
    """The options of `compile`."""

    dynamic: Setting
    backend: str
    fullgraph: bool
    policy: Policy | None


DYNAMIC = "True, False, None, a function or relations"


def check_options(
    fn: object, *, dynamic: object = None, backend: str = "eager", fullgraph: object = False, policy: object = None
) -> None:
    """Reject what is no function, and invalid options.

    Raises:
        ConstraintViolation: with what is accepted.
    """
    if isinstance(fn, type):
        rejected(f"compile({fn.__qualname__}): a class", f"compile({fn.__qualname__}(...)), an instance of the class")
    if not callable(fn):
        rejected(f"compile({shown(fn)}): expected a function or a module", "compile(f), not compile(f(x))")
    named(backend)
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
