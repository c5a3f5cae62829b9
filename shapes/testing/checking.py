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

from hypothesis import strategies as st

from shapes.rules.registry import Rule, rules
from shapes.testing.agreement import Disagreement, Sizes, disagreement
from shapes.testing.calls import Call
from shapes.testing.coverage import RuleReport, told
from shapes.testing.references.functions import Tensors, reference_of
from shapes.testing.specializing import Specialization
from shapes.testing.trying import PYTHONS_REFUSALS, Trial

INDENTED: Final = "    "


class RuleDisagrees(AssertionError):
    """A rule and an operator differ; `disagreement` says where, `report` what was covered before it was met."""

    def __init__(self, found: Disagreement, report: RuleReport | None = None) -> None:
        self.disagreement, self.report = found, report
        test = "\n".join([INDENTED + line if line else "" for line in pasted(found).splitlines()])
        super().__init__(f"{found}\n\nThe smallest call on which they differ, as a test:\n\n{test}")


class RuleSpecializes(RuleDisagrees):
    """A rule takes a size as a number although a formula would do; `specialization` says which."""

    def __init__(self, rule: Rule, found: Specialization, report: RuleReport | None = None) -> None:
        self.specialization, self.report = found, report
        self.disagreement = Disagreement(rule, found.call, found.expected, None, "on symbols")
        values = ", ".join([str(value) for value in found.values[:4]])
        sizes = [None if one is None else f"({', '.join(one)})" for one in found.formulas]
        AssertionError.__init__(
            self,
            f"{rule.name} takes {found.name} as a number, at each of {values}: "
            f"what it gives holds for one size at a time\n"
            f"  the operator gives: {', '.join([str(one) for one in sizes])}\n"
            f"  smallest call:      {rule.name}{found.call}\n"
            f"  fix:                compute with {found.name} itself; int(), hash() and an index make a number of it",
        )


class NothingAccepted(AssertionError):
    """The operator refused every call, so nothing was tested."""


def check_rule(  # type: ignore[explicit-any]
    rule: Rule | str | Callable[..., object],
    reference: Callable[..., object],
    /,
    *,
    calls: st.SearchStrategy[Call] | None = None,
    examples: int | None = None,
    seed: int | None = None,
    tensors: Tensors | None = None,
    **arguments: st.SearchStrategy[object],
) -> RuleReport:
    """Check that a rule gives the sizes that an operator gives, and refuses what it refuses.

    Args:
        rule: a rule, the name of a registered one, or a function of an environment and the operator's arguments.
        reference: the operator, a function of arrays (of NumPy, or of torch where it is torch's); or a function from a
            `Call` to the sizes of the outputs. An exception, or None for a `Call`, is a refusal.
        calls: what to call them with. Otherwise the operator's registered arguments, and for others what the signature
            of the rule, its questions and its constants suggest.
        examples: how many calls; by default those of Hypothesis' profile if one is chosen, else 300.
        seed: of the random calls; otherwise Hypothesis chooses one, or `--hypothesis-seed` does.
        tensors: whose arrays the reference takes, where that is not plain; "sizes" if it takes tuples of sizes.
        arguments: strategies for single parameters.

    Returns:
        What was covered.

    Raises:
        RuleDisagrees: with the smallest call on which they differ, and a test of it to paste.
        RuleSpecializes: the rule takes a size as a number although a formula gives what the operator gives.
        NothingAccepted: the operator refused every call.
        ReferenceFailed: the reference itself is broken.
    """
    __tracebackhide__ = True
    checked = rule_of(rule)
    trial = Trial(checked, reference_of(reference, tensors), calls, arguments, examples, seed)
    found = trial.run()
    if found is not None:
        raise RuleDisagrees(found, trial.report).with_traceback(None) from shown(found)
    if not trial.report.accepted:
        raise NothingAccepted(trial.nothing())
    for specialization in trial.specializations:
        raise RuleSpecializes(checked, specialization, trial.report)
    return told(trial.report)


def shown(found: Disagreement) -> Exception | None:
    """The exception of a rule that crashed, with the rule's own lines alone in its traceback."""
    crash = found.crash
    if crash is None:
        return None
    home = found.rule.function.__code__.co_filename if hasattr(found.rule.function, "__code__") else None
    trace = crash.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != home:
        trace = trace.tb_next
    crash.__cause__, crash.__suppress_context__ = None, True
    return crash.with_traceback(trace)


def check_call(  # type: ignore[explicit-any]
    rule: Rule | str | Callable[..., object], call: Call, expected: Sizes | tuple[int, ...] | None
) -> None:
    """Check one call: the sizes of the outputs that the operator gives (one shape, or a tuple of them), None where it
    refuses.

    Raises:
        RuleDisagrees: the rule does otherwise.
    """
    __tracebackhide__ = True
    wanted: Sizes | None = None
    if expected is not None:
        wanted = tuple([_sizes(one) for one in expected]) if _several(expected) else (_sizes(expected),)
    differs = disagreement(rule_of(rule), call, wanted, refusals=PYTHONS_REFUSALS)
    if differs is not None:
        raise RuleDisagrees(differs).with_traceback(None) from shown(differs)


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
