"""Places in a program: found cheaply, skipping our own frames, and printed as people need them."""

from pathlib import Path

import pytest

from shapes import ShapeEnv
from shapes.errors import UndecidedGuard, written_condition
from shapes.origin import Origin, StackWalk, here
from tests.costs import in_calls


def test_the_innermost_frame_of_the_user_is_found() -> None:
    """The innermost frame of the user is found."""
    env = ShapeEnv()
    b = env.symbol("b", hint=4)
    if b > 2:
        pass
    (guard,) = env.guards()
    assert guard.origin is not None
    lines = Path(__file__).read_text().splitlines()
    assert lines[guard.origin.line - 1].strip() == "if b > 2:"
    assert guard.origin.segment == "b > 2"
    assert guard.origin.function == "test_the_innermost_frame_of_the_user_is_found"
    assert str(guard.origin).startswith("test_origin.py:")


def test_frames_of_a_framework_are_skipped() -> None:
    """Frames of a framework are skipped."""
    code = compile("def call(f):\n    return f()\n", "/opt/framework/lib.py", "exec")
    space: dict[str, object] = {}
    exec(code, space)
    walk = StackWalk(skip=["/opt/framework/"])
    place = space["call"](walk)  # type: ignore[operator]
    assert place.file == __file__
    assert space["call"](here).file == "/opt/framework/lib.py"  # type: ignore[operator]


def test_a_place_given_by_the_caller_wins() -> None:
    """A source location given by the caller wins."""
    env = ShapeEnv()
    b = env.symbol("b", hint=4)
    with env.at(Origin("model.py", 41, "forward")):
        env.guard(b > 1)
    env.guard(b > 2)
    first, second = [event for event in env.events if type(event).__name__ == "Guarded"]
    assert str(first.fact.origin) == "model.py:41 in forward"
    assert second.fact.origin.file == __file__  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("model.py:41 forward", Origin("model.py", 41, "forward")),
        ("model.py:41 in forward", Origin("model.py", 41, "forward")),
        ("_refs/__init__.py:5352 arange", Origin("_refs/__init__.py", 5352, "arange")),
        ("C:\\m.py:3", Origin("C:\\m.py", 3)),
        (None, None),
        ("somewhere", None),
    ],
)
def test_recorded_places_are_read(text: str | None, place: Origin | None) -> None:
    """A loaded session keeps its recorded source locations."""
    assert Origin.parse(text) == place
    if place is not None:
        assert Origin.parse(place.recorded) == place or "\\" in str(text)


def test_a_walk_costs_a_few_calls() -> None:
    """Recording a guard costs a few calls (the limit is some times the measured cost)."""
    assert in_calls(here, depth=60) < 60


@pytest.mark.parametrize(
    ("segment", "condition"),
    [
        ("n >= 8", "n >= 8"),
        ("env.guard(n >= 8 )", "n >= 8"),
        ("bool(n >= 8)", "n >= 8"),
        ("n >= 8 and m", "n >= 8 and m"),
        ("f(n)", ""),
        ("if n >= 8:", ""),
        ("", ""),
    ],
)
def test_the_condition_as_it_was_written(segment: str, condition: str) -> None:
    """The fix that an error proposes uses the user's own names."""
    assert written_condition(Origin("m.py", 1, "f", segment)) == condition


def test_an_undecided_branch_prints_question_facts_place_and_fix() -> None:
    """An undecided branch prints its question, the facts, the place and the fix."""
    env = ShapeEnv()
    n = env.unbacked("u0", lo=0, source="x.nonzero()")
    with pytest.raises(UndecidedGuard) as caught:
        if n >= 8:
            pass
    question, known, needed, fix = str(caught.value).splitlines()
    assert question == "cannot decide `u0 >= 8`: true at u0=8, false at u0=0"
    assert known.split()[:3] == ["known:", "u0", ">="] and "test_origin.py:" in known and "x.nonzero()" in known
    assert needed.startswith("  needed: `if n >= 8`  (test_origin.py:")
    assert fix == "  fix:    expect_true(n >= 8), or ask(...) and handle both cases"
    env.expect_true(n >= 8)
    assert env.guard(n >= 8) is True


def test_what_the_user_checked_settles_the_same_question() -> None:
    """`u0 % u1 == 0` checked by the user decides the same question asked again."""
    env = ShapeEnv()
    u0, u1 = env.unbacked("u0", lo=0), env.unbacked("u1", lo=1)
    with pytest.raises(UndecidedGuard):
        env.guard(u0 % u1 == 0)
    env.expect_true(u0 % u1 == 0)
    assert env.guard(u0 % u1 == 0) is True
    assert env.guard(u0 - u0 // u1 * u1 == 0) is True


def test_a_source_that_cannot_be_read_leaves_the_line_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of sources that fails, as doctest's does on sources of an earlier test, does no harm."""

    def failing(*_: object) -> str:
        raise IndexError

    monkeypatch.setattr("linecache.getline", failing)
    assert Origin("model.py", 3, "forward").source_line == ""
