"""Guards as torch prints them: nothing that a guard says is lost, and each end of a range has its line."""

from __future__ import annotations

import pytest

from shapes.certification.printed_guards import EQUAL, NEVER_A_SYMBOL, SPECIALIZED, place_in_comment, places_in, stated
from shapes.origin import Origin

USER = "if n > 4:  # /home/a user/model.py:7 in f (_dynamo/symbolic_convert.py:9 in evaluate)"
FIRST = "y = x + 1  # model.py:3 in f (user code shown is first use, due to 0/1 specialization in the framework)"
WRAPPED = "(_dynamo/variables/builder.py:2864 in wrap)"

GUARDS = [
    ("L['x'].size()[0] % 4 == 0", USER, [("L['x'].size()[0] % 4 == 0", "model.py:7 in f")]),
    ("5 <= x.shape[0]", "", [("x.shape[0] >= 5", "")]),
    ("x.shape[0] <= 9", USER, [("x.shape[0] <= 9", "model.py:7 in f")]),
    ("2 <= x.shape[0] <= 9", f"{FIRST} and {USER}", [
        ("x.shape[0] >= 2", f"model.py:3 in f ({SPECIALIZED})"), ("x.shape[0] <= 9", "model.py:7 in f"),
    ]),
    ("0 <= x.shape[0] <= 9223372036854775807", "", []),
    ("0 <= L['n']", WRAPPED, [("L['n'] >= 0", WRAPPED[1:-1])]),  # an integer may be negative
    ("-3 <= n <= 4", "", [("n >= -3", ""), ("n <= 4", "")]),
    ("L['flag']", "", [("L['flag']", "")]),  # of a log that breaks off, say: it is judged
    ("L['x'].size()[0] == L['y'].size()[0]", "duck sizing", [("L['x'].size()[0] == L['y'].size()[0]", EQUAL)]),
    ("x.shape[0] == 3", "(unknown source x.shape[0], please file a bug)", [("x.shape[0] == 3", NEVER_A_SYMBOL)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "comment", "expected"), GUARDS, ids=[each[0] for each in GUARDS])
def test_conditions(text: str, comment: str, expected: list[tuple[str, str]]) -> None:
    """Fails when a guard is lost, is another one, or is beside another line."""
    found = list(stated(text, comment, place_in_comment))
    assert [(each.text, each.where) for each in found] == expected


def test_static_and_derived() -> None:
    """Fails when a constant that was seen is no static guard, or one of the framework's is a finding of its own."""

    def flags(text: str, comment: str, *, static: bool = False) -> list[tuple[bool, bool]]:
        found = stated(text, comment, place_in_comment, static=static)
        return [(each.static, each.derived) for each in found]

    assert flags("x.shape[0] == 3", "(unknown source)") == [(True, False)]
    assert flags("x.shape[0] == 3", USER) == [(False, True)]
    assert flags("x.shape[0] % 2 == 0", USER) == [(False, False)]
    assert flags("x.shape[0] % 2 == 0", "(_inductor/sizevars.py:5 in guard)") == [(False, True)]
    assert flags("self.n > 3", USER, static=True) == [(True, False)]


def test_places() -> None:
    """Fails when a line of torch's is taken for the program's."""
    assert places_in(USER).program == Origin("/home/a user/model.py", 7, "f")
    assert places_in(WRAPPED) == (None, Origin("_dynamo/variables/builder.py", 2864, "wrap"))
