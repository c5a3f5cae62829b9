"""The meaning of lines, and the positions of mistakes in them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes.prompt.grammar import USAGE, Argument, Command, Symbol, parse_command, read_integer
from solver.errors import ParseError

B, S = [Symbol(name, "backed") for name in "bs"]

LINES: list[tuple[str, Command]] = [
    ("", Command("")),
    ("   # a comment ?", Command("")),
    ("sizes b s", Command("sizes", Argument("b s", 6), (B, S))),
    ("sizes b=4, s=128", Command("sizes", Argument("b=4, s=128", 6), (replace(B, hint=4), replace(S, hint=128)))),
    (
        "symbol h lo=1 hi=8192 hint=64",
        Command("symbol", Argument("h lo=1 hi=8192 hint=64", 7), (Symbol("h", "backed", 1, 8192, 64),)),
    ),
    (
        "symbol i j lo=none hi=9",
        Command("symbol", Argument("i j lo=none hi=9", 7), tuple([Symbol(name, "backed", None, 9) for name in "ij"])),
    ),
    ("unbacked u lo=0", Command("unbacked", Argument("u lo=0", 9), (Symbol("u", "unbacked", 0),))),
    ("  assume s % 16 == 0  ", Command("assume", Argument("s % 16 == 0", 9))),
    ("(b*s) % 64 == 0 ?", Command("ask", Argument("(b*s) % 64 == 0", 0))),
    ("(b*s) % 64 == 0?", Command("ask", Argument("(b*s) % 64 == 0", 0))),
    ("b > 0", Command("ask", Argument("b > 0", 0))),
    ("ask b > 0", Command("ask", Argument("b > 0", 4))),
    ("ask b > 0 ?", Command("ask", Argument("b > 0", 4))),
    ("not b > 0", Command("ask", Argument("not b > 0", 0))),
    ("min(b, s) > 0", Command("ask", Argument("min(b, s) > 0", 0))),
    ("-b < 1", Command("ask", Argument("-b < 1", 0))),
    ("b if b > 0 else s", Command("ask", Argument("b if b > 0 else s", 0))),
    ("why", Command("why")),
    ("guard s > 64", Command("guard", Argument("s > 64", 6))),
    ("guards", Command("guards")),
    ("guards > 3", Command("ask", Argument("guards > 3", 0))),
    ("guards ?", Command("ask", Argument("guards", 0))),
    ("facts", Command("facts")),
    ("bounds b*s + 1", Command("bounds", Argument("b*s + 1", 7))),
    ("bounds -b", Command("bounds", Argument("-b", 7))),
    ("simplify (4*s + 3) // 4", Command("simplify", Argument("(4*s + 3) // 4", 9))),
    ("undo", Command("undo")),
    ("save 'my session.jsonl'", Command("save", Argument("my session.jsonl", 5))),
    ("export always.v", Command("export", Argument("always.v", 7))),
    ("load a.jsonl.gz", Command("load", Argument("a.jsonl.gz", 5))),
    ("load /a b/c", Command("load", Argument("/a b/c", 5))),
    ("help", Command("help")),
    ("help guard", Command("help", Argument("guard", 5))),
    ("exit", Command("quit")),
    ("quit", Command("quit")),
]


@pytest.mark.parametrize(("text", "command"), LINES)
def test_line(text: str, command: Command) -> None:
    """A line at the prompt is read as it was typed."""
    assert parse_command(text) == command


MISTAKES = [
    ("assme s > 0", 0, "did you mean `assume`"),
    ("assume", 6, "needs an argument"),
    ("sizes b 64", 8, "`64` is not a name"),
    ("sizes if", 6, "word of the language"),
    ("sizes b=x", 8, "`x` is not an integer"),
    ("symbol h low=1", 9, "no option `low`"),
    ("symbol h lo=1.5", 12, "`1.5` is not an integer"),
    ("symbol lo=1", 11, "needs a name"),
    ("unbacked u hint=3", 11, "`unbacked` takes lo, hi"),
    ("why s", 4, "takes no argument"),
    ("help me", 5, "no command `me`"),
    ("ask ?", 4, "needs an argument"),
]


@pytest.mark.parametrize(("text", "column", "message"), MISTAKES)
def test_mistake(text: str, column: int, message: str) -> None:
    """An error points at the right place and says what is wrong."""
    with pytest.raises(ParseError) as caught:
        parse_command(text)
    assert caught.value.column == column
    assert message in caught.value.message
    assert caught.value.text == text


@given(st.text(max_size=40))
def test_any_text_is_a_command_or_an_error_inside_it(text: str) -> None:
    """Any text that a person can type is a command, or an error inside of it."""
    try:
        parse_command(text)
    except ParseError as error:
        assert 0 <= error.column <= len(text)


@given(st.sampled_from(sorted(USAGE)))
def test_help_knows_every_command(name: str) -> None:
    """Every form that `help` shows is understood by the prompt."""
    form = USAGE[name].form
    assert parse_command(form).name == name


@given(st.integers(-(10**30), 10**30))
def test_integers_are_read_exactly(value: int) -> None:
    assert read_integer(str(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("2**63-1", 2**63 - 1), ("-2**63", -(2**63)), ("1_000", 1000), ("x", None), ("2**9999", None), ("1.0", None)],
)
def test_integer(text: str, value: int | None) -> None:
    """An integer is read as it was written."""
    assert read_integer(text) == value
