"""Differential testing of a rule against the operator, shrunk to the smallest failing call, as a test to paste.

    >>> from shapes.testing import Call, Input, check_rule
    >>> from shapes.testing.checking import RuleDisagrees
    >>> def window(env, x, size, step=1):
    ...     env.require(size <= x[-1], "window is longer than the axis")
    ...     return (*x[:-1], (x[-1] - size) // step, size)                       # one too few
    >>> def windows(call: Call):
    ...     (*outer, length), size, step = call.args[0] or (0,), *call.args[1:]
    ...     return ((*outer, (length - size) // step + 1, size),) if size <= length and call.args[0] else None
    >>> try:
    ...     check_rule(window, windows)
    ... except RuleDisagrees as error:
    ...     print(error)
    window(Input((0,)), 0, 1): the operator gives ((1, 0),), the rule on these sizes ((0, 0),)
    <BLANKLINE>
    The smallest call on which they differ, as a test:
    <BLANKLINE>
        from shapes.testing import Call, Input, check_call
    <BLANKLINE>
        def test_window_0():
            check_call(window, Call((Input((0,)), 0, 1)), expected=((1, 0),))

`expected=None` says that the operator refuses. A rule that fails with another exception than a `ShapeError` disagrees;
only where the operator refuses too may an index be out of range, or a divisor zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from shapes.rules.registry import Rule, rules
from shapes.testing.agreement import Disagreement, Sizes, disagreement
from shapes.testing.arguments import arguments_for, operators_with_arguments
from shapes.testing.calls import Call
from shapes.testing.references.functions import Function, Tensors, reference_of
from shapes.testing.signatures import calls_for

PYTHONS_REFUSALS: Final = (IndexError, ZeroDivisionError)
"""The exceptions of `x[-1]` for a shape without axes, and of a step of zero: fine where the operator refuses as well.
"""
EXAMPLES: Final = 300
INDENTED: Final = "    "


class RuleDisagrees(AssertionError):
    """A rule and an operator differ; `disagreement` says where."""

    def __init__(self, found: Disagreement) -> None:
        self.disagreement = found
        test = "\n".join([INDENTED + line if line else "" for line in pasted(found).splitlines()])
        super().__init__(f"{found}\n\nThe smallest call on which they differ, as a test:\n\n{test}")


class NothingAccepted(AssertionError):
    """The operator refused every call, so nothing was tested."""


def check_rule(  # type: ignore[explicit-any]
    rule: Rule | str | Callable[..., object],
    reference: Callable[..., object],
    /,
    *,
    calls: st.SearchStrategy[Call] | None = None,
    examples: int = EXAMPLES,
    tensors: Tensors | None = None,
    **arguments: st.SearchStrategy[object],
) -> None:
    """Check that a rule gives the sizes that an operator gives, and refuses what it refuses.

    Args:
        rule: a rule, the name of a registered one, or a function of an environment and the operator's arguments.
        reference: the operator, a function of arrays (of NumPy, or of torch where it is torch's); or a function from a
            `Call` to the sizes of the outputs. An exception, or None for a `Call`, is a refusal.
        calls: what to call them with. Otherwise the operator's registered arguments, and for others what the signature
            of the rule suggests.
        examples: how many calls.
        tensors: whose arrays the reference takes, where that is not plain.
        arguments: strategies for single parameters.

    Raises:
        RuleDisagrees: with the smallest call on which they differ, and a test of it to paste.
        NothingAccepted: the operator refused every call.
    """
    checked = rule_of(rule)
    operator = reference_of(reference, tensors)
    found: list[Disagreement] = []
    accepted: list[Call] = []
    refused: list[Call] = []

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(_calls(checked, calls, arguments))
    def agrees(call: Call) -> None:
        expected = operator(call)
        (refused if expected is None else accepted).append(call)
        differs = disagreement(checked, call, expected, refusals=PYTHONS_REFUSALS)
        if differs is not None:
            found.append(differs)
            raise RuleDisagrees(differs)

    try:
        agrees()
    except Exception:
        if not found:
            raise
    if found:
        raise RuleDisagrees(found[-1]) from found[-1].crash  # the last one that was tried is the smallest
    if not accepted and refused:
        why = operator.refusal if isinstance(operator, Function) else None
        last = "" if why is None else f", the last with {type(why).__name__}: {why}"
        raise NothingAccepted(f"{checked.name}: the operator refused all {len(refused)} calls{last}")


def check_call(  # type: ignore[explicit-any]
    rule: Rule | str | Callable[..., object], call: Call, expected: Sizes | tuple[int, ...] | None
) -> None:
    """Check one call: the sizes of the outputs that the operator gives (one shape, or a tuple of them), None where it
    refuses.

    Raises:
        RuleDisagrees: the rule does otherwise.
    """
    wanted: Sizes | None = None
    if expected is not None:
        wanted = tuple([_sizes(one) for one in expected]) if _several(expected) else (_sizes(expected),)
    differs = disagreement(rule_of(rule), call, wanted, refusals=PYTHONS_REFUSALS)
    if differs is not None:
        raise RuleDisagrees(differs) from differs.crash


def _several(expected: Sizes | tuple[int, ...]) -> bool:
    return all(one is None or isinstance(one, tuple) for one in expected)


def _sizes(value: object) -> tuple[int, ...] | None:
    return None if not isinstance(value, tuple) else tuple([size for size in value if isinstance(size, int)])


def rule_of(rule: Rule | str | Callable[..., object]) -> Rule:  # type: ignore[explicit-any]
    """The rule meant.

    Raises:
        KeyError: there is no rule of that name.
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str):
        return rules[rule]
    return Rule(getattr(rule, "__name__", "rule"), rule)


def _calls(
    rule: Rule, calls: st.SearchStrategy[Call] | None, arguments: dict[str, st.SearchStrategy[object]]
) -> st.SearchStrategy[Call]:
    if calls is not None:
        return calls
    if not arguments and rule.name in operators_with_arguments():
        registered = rules.get(rule.name)
        if registered is None or registered.names == rule.names:
            return arguments_for(rule.name)
    return calls_for(rule, arguments)


# ---------------------------------------------------------------------- the test to paste


def pasted(found: Disagreement) -> str:
    """A test of one call."""
    name = found.rule.name
    registered = rules.get(name) is found.rule
    shown = ["x".join([str(size) for size in each]) for each in found.call.inputs()]
    title = "_".join([name.replace(".", "_"), *shown])
    return "\n".join(
        [
            *["from shapes.rules import rules"] * registered,
            "from shapes.testing import Call, Input, check_call",
            "",
            f"def test_{title.rstrip('_')}():",
            f"{INDENTED}check_call({f'rules[{name!r}]' if registered else name}, {found.call!r}, "
            f"expected={found.expected!r})",
        ]
    )
