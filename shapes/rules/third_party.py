"""The environment that a shape rule of a third party is given: what it states is tested when the program runs.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.third_party import TestedEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> size = TestedEnv(env, "mylib.nonzero").unbacked("n", 2, 8)
    >>> [check.text for check in env.runtime_asserts()]
    ['n >= 2', 'n <= 8']

A rule of this package states what its operator guarantees. One that anybody registers may be wrong, and its facts would
be believed by every proof after it.
"""

from __future__ import annotations

from typing import Any

from shapes.env import ShapeEnv
from shapes.environment.reader import Question


class TestedEnv:
    """An environment in which a rule's facts about unbacked values become runtime checks."""

    def __init__(self, env: ShapeEnv, operator: str) -> None:
        """The environment `env` for the rule of an operator, which its checks name."""
        self._env = env
        self._operator = operator

    def __getattr__(self, name: str) -> Any:  # type: ignore[explicit-any]  # what an environment has
        return getattr(self._env, name)

    def unbacked(  # type: ignore[explicit-any]  # the options and results of the environment's
        self, name: str | None = None, lo: int | None = None, hi: int | None = None, **options: Any
    ) -> Any:
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
        """Check a fact when the program runs, and know it from here on."""
        self._env.expect_true(question, f"the shape rule of {self._operator} says so")
