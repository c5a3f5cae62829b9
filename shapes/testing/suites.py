"""A suite of tests of operators as checks of these operators: of each call that the tests make, and of its shape rule.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.suites import Operation, failures
    >>> def halve(env, x):
    ...     return (x[0] // 2,)
    >>> for rounded in (1, 2):
    ...     print(failures([Operation("halve", Call((Input((3,)),)), ((rounded,),), Rule("halve", halve))]))
    []
    ['shape rule: halve(Input((3,))): the operator gives ((2,),), the rule on these sizes ((1,),)']

A frontend observes the calls (`observing(namespaces)`, a context manager that gives a list of them) and brings the
checks that need its framework. `pytest --operators NAMESPACE` runs a suite this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module

from shapes.errors import ShapeError
from shapes.rules.registry import Rule
from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call
from shapes.testing.checking import RuleDisagrees, check_call

PYTORCH = "frontends.pytorch.recording.observing:observing"


@dataclass(frozen=True)
class Operation:
    """A call of an operator in a test.

    Attributes:
        sizes: the sizes of the results.
        rule: the shape rule of the operator, if it has one.
        checks: checks of the framework by name; each raises an exception where it fails.
    """

    name: str
    call: Call
    sizes: Sizes
    rule: Rule | None = None
    checks: Mapping[str, Callable[[], object]] = field(default_factory=dict)


Observing = Callable[[Sequence[str]], AbstractContextManager[list[Operation]]]


def observer(named: str) -> Observing:
    """The function `module:name` that observes operators.

    Raises:
        ShapeError: there is none.
    """
    module, _, name = named.partition(":")
    try:
        found: Observing = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ShapeError(
            f"{named}: no observer of operators: {error}\n"
            "  fix:    --operators-by MODULE:FUNCTION, a function from namespaces to a context manager"
        ) from None
    return found


def failures(operations: Sequence[Operation]) -> list[str]:
    """The failed checks of some calls, each with the operator and the call."""
    found = []
    for operation in operations:
        if operation.rule is not None:
            try:
                check_call(operation.rule, operation.call, operation.sizes)
            except RuleDisagrees as differs:
                found.append(f"shape rule: {differs.disagreement}")
        for name, check in operation.checks.items():
            try:
                check()
            except Exception as error:
                found.append(f"{name}: {operation.name}{operation.call}: {type(error).__name__}: {error}")
    return found
