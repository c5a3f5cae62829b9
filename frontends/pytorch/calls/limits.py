"""Recompile limits: per question, per function, and per module.

    >>> from frontends.pytorch.calls.dynamism import Policy
    >>> from frontends.pytorch.calls.limits import Limits
    >>> from frontends.pytorch.calls.recompiling import Question
    >>> limits = Limits(len, Policy(recompile_limit=2))
    >>> question = Question("x_size0 == #", "x_size0 == 3 fails at 4", counted=True)
    >>> limits.over(question, 1), limits.over(question, 2)
    (None, '2 recompilations for the same question: x_size0 == 3 fails at 4')
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from types import MethodType
from typing import Final

import torch

from frontends.pytorch.calls.dynamism import Policy
from frontends.pytorch.calls.recompiling import Question

_of_module: Final[weakref.WeakKeyDictionary[torch.nn.Module, int]] = weakref.WeakKeyDictionary()
"""The number of variants of a module's functions."""


class Limits:
    """A function's limits by its policy, and their use."""

    def __init__(self, fn: Callable[..., object], policy: Policy, *, counts_questions: bool = True) -> None:
        self.policy = policy
        self._counts_questions = counts_questions
        self._asked: Counter[str] = Counter()
        owner = fn if isinstance(fn, torch.nn.Module) else fn.__self__ if isinstance(fn, MethodType) else None
        self._module = owner if isinstance(owner, torch.nn.Module) else None

    def over(self, question: Question | None, variants: int) -> str | None:
        """Why a call is not traced, or None; counts the question."""
        if question is not None and question.counted:
            self._asked[question.key] += 1
            if self.is_exhausted(question):
                return f"{self.policy.recompile_limit} recompilations for the same question: {question.text}"
        return self.reached(variants)

    def is_exhausted(self, question: Question | None) -> bool:
        """Whether a question's recompile limit is exhausted."""
        if question is None or not question.counted or not self._counts_questions:
            return False
        return self._asked[question.key] >= self.policy.recompile_limit

    def reached(self, variants: int) -> str | None:
        """Why there can be no further variant, or None."""
        policy = self.policy
        if variants >= policy.variants:
            return f"{policy.variants} variants, the most that the policy allows"
        if self._module is not None and _of_module.get(self._module, 0) >= policy.of_module:
            return f"{policy.of_module} variants of one module, the most that the policy allows"
        return None

    def always_breaks(self, reason: str) -> bool:
        """Whether traces have failed at the same line too often to try again; counts this one."""
        self._asked[reason] += 1
        return self._asked[reason] >= self.policy.recompile_limit

    def added(self) -> None:
        """Count a new variant."""
        if self._module is not None:
            _of_module[self._module] = _of_module.get(self._module, 0) + 1
