"""Shape rules of operators: from the shapes that go in to the shapes that come out, without any framework.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rule, rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, h, w = env.sizes("b h w")
    >>> rules["conv2d"](env, (b, 3, h, w), (8, 3, 3, 3), stride=2)
    Shape(b, 8, ceildiv(h, 2) - 1, ceildiv(w, 2) - 1)

A rule takes an environment and shapes where the operator takes tensors, keeps the operator's argument names, and is
found by its plain name. What it needs of the sizes becomes a requirement of the environment: nothing where the facts
settle it, an error where they contradict it. New rules register themselves:

    >>> @rule("mylib.window")
    ... def window(env, x, size, step=1):
    ...     env.require(size <= x[-1], "window is longer than the axis")
    ...     return (*x[:-1], (x[-1] - size) // step + 1, size)
    >>> rules["mylib.window"](env, (b, h), 4, step=2)
    Shape(b, h//2 - 1, 4)
    >>> [guard.text for guard in env.guards()]
    ['w >= 3', 'h >= 4']
"""

from shapes.rules.registry import Outcome, Refused, Requirement, Rule, Rules, rule, rules
from shapes.rules.shape import Shape

__all__ = ["Outcome", "Refused", "Requirement", "Rule", "Rules", "Shape", "rule", "rules"]
