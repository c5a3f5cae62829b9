"""Calls that a rule's own questions lead to, so that no threshold, modulus or relation is left to luck.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.questions import asked
    >>> def halve(env, x):
    ...     return (x[0] // 2,) if x[0] > 13 else (x[0],)
    >>> [str(p) for p in asked(Rule("halve", halve), Call((Input((20,)),))).path]
    ['s0 >= 14']

`beginnings` are calls of every rank and relation; `questions` runs the rule on symbols that have a call's sizes and
keeps what it asks; `solving` finds sizes on the other side of each question, and where it is tight; `search` goes on
from there, as concolic testing does with branches. `shrinking` makes what was found small.
"""
