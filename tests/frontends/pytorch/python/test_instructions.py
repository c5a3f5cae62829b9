"""What is looked for in the instructions of all functions that a program may call, of which a model has thousands."""

from __future__ import annotations

import dis
import inspect
import itertools

import pytest
import torch

from frontends.pytorch.python import comparisons, effects

KEPT = torch.ones(2)
counter = 0


def says_nothing(x, y=None):
    if y is None:
        return x * 2
    return [each + 1 for each in y]


def compares_with_constants(x):
    return x is None, [each is not Ellipsis for each in x], x is not True


def compares(x):
    return x is KEPT


def assigns(x):
    def inside():
        global counter
        counter = x

    return inside


def deletes():
    global counter
    del counter


exec(
    f"def with_many_constants(x):\n  global counter\n  total = [{', '.join(f'x + {n}.5' for n in range(300))}]\n"
    "  counter = total\n  return x is KEPT\n"
)


def test_code_without_such_an_instruction_is_not_taken_apart(monkeypatch) -> None:
    """If it fails, the first trace of a process spends half its time on taking functions apart."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("taken apart")

    monkeypatch.setattr(dis, "get_instructions", refuse)
    made = [eval(f"lambda x, y=None: x + {number}") for number in range(3)]
    for function in (says_nothing, compares_with_constants, *made):
        assert effects.stored_names(function) == frozenset()
        assert comparisons.compared_tensor(function, ()) is None
    with pytest.raises(AssertionError, match="taken apart"):
        comparisons.compared_tensor(eval("lambda x: x is KEPT", globals()), ())


@pytest.mark.parametrize(
    ("function", "stored", "compared"),
    [
        (says_nothing, set(), None),
        (compares_with_constants, set(), None),
        (compares, set(), "KEPT"),
        (lambda x: (None is x, x is None, x is KEPT), set(), "KEPT"),
        (assigns, {"counter"}, None),
        (deletes, {"counter"}, None),
        (globals()["with_many_constants"], {"counter"}, "KEPT"),
    ],
)
def test_what_is_there_is_found(function, stored, compared) -> None:
    """If it fails, a global that a program assigns, or a tensor that it compares, is overlooked."""
    assert effects.stored_names(function) == stored
    assert comparisons.compared_tensor(function, ()) == compared


def test_the_same_is_found_as_by_looking_at_every_instruction() -> None:
    """If it fails, instructions are overlooked in code that people write."""
    functions = [each for _, each in inspect.getmembers(torch.nn.functional, inspect.isfunction)]
    functions += [each for _, each in inspect.getmembers(torch.hub, inspect.isfunction)]
    assert len(functions) > 100
    for function in functions:
        steps = [step for code in effects.codes(function.__code__) for step in dis.get_instructions(code)]
        expected = {step.argval for step in steps if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
        assert effects.stored_names(function) == expected
        steps = [step for step in dis.get_instructions(function) if step.opname not in ("CACHE", "EXTENDED_ARG")]
        pairs = [(before.opname, step.opname) for before, step in itertools.pairwise(steps)]
        count = sum(second == "IS_OP" and first != "LOAD_CONST" for first, second in pairs)
        found = [second for _, second in comparisons._comparisons(function)]
        assert sum(second is None or second.load != "LOAD_CONST" for second in found) == count
