"""What a line means, and where a mistake in it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes.prompt.grammar import (
    USAGE,
    Argument,
    Ask,
    Assume,
    Bounds,
    Command,
    Declare,
    Export,
    Facts,
    Guard,
    Guards,
    Help,
    Load,
    Nothing,
    Quit,
    Save,
    Simplify,
    Symbol,
    Undo,
    Why,
    parse_command,
    read_integer,
)
from solver.errors import ParseError

LINES: list[tuple[str, Command]] = [
    ("", Nothing()),
    ("   # a comment ?", Nothing()),
    ("sizes b s", Declare((Symbol("b", "backed"), Symbol("s", "backed")))),
    ("sizes b=4, s=128", Declare((Symbol("b", "backed", hint=4), Symbol("s", "backed", hint=128)))),
    ("symbol h lo=1 hi=8192 hint=64", Declare((Symbol("h", "backed", 1, 8192, 64),))),
    ("symbol i j lo=none hi=9", Declare((Symbol("i", "backed", None, 9), Symbol("j", "backed", None, 9)))),
    ("unbacked u lo=0", Declare((Symbol("u", "unbacked", 0),))),
    ("  assume s % 16 == 0  ", Assume(Argument("s % 16 == 0", 9))),
    ("(b*s) % 64 == 0 ?", Ask(Argument("(b*s) % 64 == 0", 0))),
    ("(b*s) % 64 == 0?", Ask(Argument("(b*s) % 64 == 0", 0))),
    ("b > 0", Ask(Argument("b > 0", 0))),
    ("ask b > 0", Ask(Argument("b > 0", 4))),
    ("ask b > 0 ?", Ask(Argument("b > 0", 4))),
    ("not b > 0", Ask(Argument("not b > 0", 0))),
    ("min(b, s) > 0", Ask(Argument("min(b, s) > 0", 0))),
    ("-b < 1", Ask(Argument("-b < 1", 0))),
    ("b if b > 0 else s", Ask(Argument("b if b > 0 else s", 0))),
    ("why", Why()),
    ("guard s > 64", Guard(Argument("s > 64", 6))),
    ("guards", Guards()),
    ("guards > 3", Ask(Argument("guards > 3", 0))),
    ("guards ?", Ask(Argument("guards", 0))),
    ("facts", Facts()),
    ("bounds b*s + 1", Bounds(Argument("b*s + 1", 7))),
    ("bounds -b", Bounds(Argument("-b", 7))),
    ("simplify (4*s + 3) // 4", Simplify(Argument("(4*s + 3) // 4", 9))),
    ("undo", Undo()),
    ("save 'my session.jsonl'", Save("my session.jsonl")),
    ("export always.v", Export("always.v")),
    ("load a.jsonl.gz", Load("a.jsonl.gz")),
    ("load /a b/c", Load("/a b/c")),
    ("help", Help(None)),
    ("help guard", Help("guard")),
    ("exit", Quit()),
    ("quit", Quit()),
]


@pytest.mark.parametrize(("text", "command"), LINES)
def test_line(text: str, command: Command) -> None:
    """If it fails, a line at the prompt does something else than what was typed."""
    assert parse_command(text) == command


MISTAKES = [
    ("assme s > 0", 0, "did you mean `assume`"),
    ("assume", 6, "needs something after it"),
    ("sizes b 64", 8, "`64` is not a name"),
    ("sizes if", 6, "word of the language"),
    ("sizes b=x", 8, "`x` is not an integer"),
    ("symbol h low=1", 9, "no option `low`"),
    ("symbol h lo=1.5", 12, "`1.5` is not an integer"),
    ("symbol lo=1", 11, "needs a name"),
    ("unbacked u hint=3", 11, "`unbacked` takes lo, hi"),
    ("why s", 4, "takes nothing after it"),
    ("help me", 5, "no command `me`"),
    ("ask ?", 4, "needs something after it"),
]


@pytest.mark.parametrize(("text", "column", "message"), MISTAKES)
def test_mistake(text: str, column: int, message: str) -> None:
    """If it fails, an error points at the wrong place or does not say what is wrong."""
    with pytest.raises(ParseError) as caught:
        parse_command(text)
    assert caught.value.column == column
    assert message in caught.value.message
    assert caught.value.text == text


@given(st.text(max_size=40))
def test_any_text_is_a_command_or_an_error_inside_it(text: str) -> None:
    """If it fails, something that a person can type ends the prompt."""
    try:
        parse_command(text)
    except ParseError as error:
        assert 0 <= error.column <= len(text)


@given(st.sampled_from(sorted(USAGE)))
def test_help_knows_every_command(name: str) -> None:
    """If it fails, `help` shows a form that the prompt does not understand."""
    form = USAGE[name].form
    assert not isinstance(parse_command(form), Ask | Nothing) or name == "ask"


@given(st.integers(-(10**30), 10**30))
def test_integers_are_read_exactly(value: int) -> None:
    assert read_integer(str(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("2**63-1", 2**63 - 1), ("-2**63", -(2**63)), ("1_000", 1000), ("x", None), ("2**9999", None), ("1.0", None)],
)
def test_integer(text: str, value: int | None) -> None:
    """If it fails, a bound is read as another number than the one that was written."""
    assert read_integer(text) == value
