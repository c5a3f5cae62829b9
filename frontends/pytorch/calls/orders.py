"""Hash-order dependence: whether code may depend on the order of a set, which differs between processes.

    >>> from frontends.pytorch.calls.orders import goes_by_order
    >>> def stacked(x, names):
    ...     return [x[name] for name in {"a", "b", *names}]
    >>> def known(name, names):
    ...     return name in names or name in {"a", "b"}
    >>> goes_by_order(stacked.__code__), goes_by_order(known.__code__)
    (True, False)

Membership tests do not depend on the order. Every other use of a set conservatively counts as dependent: the analysis
is syntactic, without data flow between functions.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType
from typing import Final

from frontends.pytorch.python.appended import ATTRIBUTES, names_unless, steps_of

BY_HASH: Final = frozenset(("set", "frozenset", "hash", "id"))
"""Names of functions that create sets, or expose hashes."""
OF_SETS: Final = frozenset(("union", "intersection", "difference", "symmetric_difference"))
VIEWS: Final = frozenset(("keys", "items"))
OPERATORS: Final = frozenset(("&", "|", "^", "-", "&=", "|=", "^=", "-="))
LOADS: Final = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))


@lru_cache(maxsize=4096)
def goes_by_order(code: CodeType) -> bool:
    """Whether this code, or inner code, may depend on the order."""
    steps = steps_of(code)
    names = {step.argval for step in steps if step.opname in LOADS}
    if not names.isdisjoint(BY_HASH) or not OF_SETS.isdisjoint(code.co_names):
        return True
    if not VIEWS.isdisjoint(code.co_names) and any(
        step.opname == "BINARY_OP" and step.argrepr in OPERATORS for step in steps
    ):
        return True
    # a set comprehension adds to its result: its caller is analyzed
    is_comprehension = code.co_name == "<setcomp>"
    makes = ("BUILD_SET", "SET_UPDATE", "SET_ADD")
    if not is_comprehension and any(step.opname in makes for step in steps):
        return True
    for place, step in enumerate(steps):
        if step.opname != "LOAD_CONST":
            continue
        if isinstance(step.argval, frozenset) and not _only_asked(steps, place + 1):
            return True
        if isinstance(step.argval, CodeType):
            is_set = step.argval.co_name == "<setcomp>"
            if goes_by_order(step.argval) or (is_set and not _only_asked(steps, _called(steps, place))):
                return True
    return False


def names_in_order(code: CodeType) -> frozenset[str]:
    """The names whose values this code and inner code use other than for membership tests and additions."""
    return names_unless(code, _is_asked)


def _is_asked(step: dis.Instruction, following: dis.Instruction) -> bool:
    return following.opname == "CONTAINS_OP" or (following.opname in ATTRIBUTES and following.argval == "add")


def _called(steps: list[dis.Instruction], place: int) -> int:
    """The index after the call of the comprehension whose code is loaded here."""
    for number in range(place, len(steps) - 1):
        if steps[number].opname == "GET_ITER" and steps[number + 1].opname == "CALL":
            return number + 2
    return len(steps)


def _only_asked(steps: list[dis.Instruction], place: int) -> bool:
    """Whether the top of the stack is used only for membership tests: immediately, or through a local variable without
    other uses."""
    if place >= len(steps):
        return False
    if steps[place].opname == "CONTAINS_OP":
        return True
    if steps[place].opname != "STORE_FAST":
        return False
    name = steps[place].argval
    for number, step in enumerate(steps):
        # an instruction may load two variables
        names = step.argval if type(step.argval) is tuple else (step.argval,)
        if number != place and name in names and "LOAD" in step.opname:
            if step.argval != name or number + 1 >= len(steps) or steps[number + 1].opname != "CONTAINS_OP":
                return False
    return "locals" not in {step.argval for step in steps if step.opname in LOADS}
