"""The prompt without a terminal: what a person types, and what comes back."""

import json
from pathlib import Path

import pytest

from shapes.prompt.page import html_of_page, text_of_page
from shapes.prompt.session import Session


def talk(*lines: str, session: Session | None = None) -> list[str]:
    session = session or Session()
    return [text_of_page(session.run(line).page) for line in lines]


def last(*lines: str) -> str:
    return talk(*lines)[-1]


def test_the_first_conversation() -> None:
    """The first conversation of the documentation is reproduced."""
    replies = talk(
        "sizes b s",
        "assume s % 16 == 0",
        "(b*s) % 64 == 0 ?",
        "assume b % 4 == 0",
        "(b*s) % 64 == 0 ?",
    )
    assert replies[:2] == ["", ""]
    assert replies[2] == "depends   true at b=4, s=16   false at b=1, s=16"
    assert replies[3:] == ["", "always    because  s % 16 == 0 [2]   b % 4 == 0 [4]"]


def test_never_names_its_facts() -> None:
    assert last("sizes s", "assume s >= 4", "s == 3 ?") == "never     because  s >= 4 [2]"


def test_bounds_are_facts_with_a_line() -> None:
    """An answer that rests on a declared bound names it."""
    assert last("symbol h lo=1 hi=64", "h*h <= 4096 ?").startswith("always    because  1 <= h <= 64 [1]")


def test_what_needs_no_fact_says_so() -> None:
    assert last("symbol n lo=none", "n*n >= 0 ?") == "always    whatever the sizes"


def test_mistakes_are_not_counted_and_change_nothing() -> None:
    """A typing error shifts no line numbers and changes nothing."""
    session = Session()
    replies = talk("sizes s", "assume s >", "sizes t s", "t > 0 ?", "assume s > 3", "s > 2 ?", session=session)
    assert replies[-1] == "always    because  s > 3 [2]"
    assert session.names == ["s"]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("assume s % 16 = 0", 14),
        ("(s*t) % 64 == 0 ?", 3),
        ("ask s > 3 +", 11),
        ("bounds s + ", 10),
        ("simplify (s", 11),
        ("guard q > 1", 6),
    ],
)
def test_an_error_points_at_the_column_of_the_line(line: str, column: int) -> None:
    """An error points at the column of the whole line, the command's name counted."""
    _, reply = talk("sizes s", line)
    _, shown, mark = reply.splitlines()[:3]
    assert shown.strip() == line.strip()
    assert mark.index("^") - shown.index(line[0]) == column


def test_a_name_close_to_another_is_suggested() -> None:
    assert "seq" in last("sizes seq", "sq > 0 ?")


def test_contradiction_shows_its_lines() -> None:
    """Facts that contradict each other are refused, and named."""
    session = Session()
    reply = talk("sizes s", "assume s > 5", "assume s < 3", "s > 0 ?", session=session)
    assert reply[2].startswith("contradiction")
    assert "s > 5 [2]" in reply[2]
    assert reply[3].startswith("always")


def test_a_contradiction_that_is_hard_to_see_is_told_at_the_next_question_at_the_latest() -> None:
    """A contradiction that is hard to see is reported at the next question at the latest."""
    replies = talk("sizes s t", "assume s*t == 91", "assume 1 < s", "assume s < 7", "s == 12345 ?")
    assert "contradict" in replies[3] or "contradict" in replies[4]


def test_undo_takes_back_the_last_change() -> None:
    replies = talk("sizes s", "assume s > 5", "s > 3 ?", "undo", "s > 3 ?", "undo", "undo")
    assert replies[2].startswith("always")
    assert replies[3] == "undid [2] assume s > 5"
    assert replies[4].startswith("depends")
    assert replies[5] == "undid [1] sizes s"
    assert "nothing to undo" in replies[6]


def test_guard_follows_the_hints_and_says_what_it_recorded() -> None:
    replies = talk("sizes s=128", "guard s > 64", "guard s > 3", "guards", "s > 64 ?")
    assert replies[1] == "true   recorded: s > 64"
    assert replies[2] == "true   follows already; no guard needed"
    assert replies[3].startswith("[2]   s > 64")
    assert "it alone rejects s=" in replies[3]
    assert replies[4] == "always    because  s > 64 [2]"


def test_a_guard_without_a_hint_says_what_would_settle_it() -> None:
    reply = last("unbacked u lo=0", "guard u >= 8")
    assert reply.startswith("error")
    assert "u=8" in reply and "fix" in reply


def test_bounds_and_simplify() -> None:
    asked = ["bounds 2*b + 1", "bounds s", "bounds s - b", "bounds 7", "simplify (4*s + 3) // 4"]
    replies = talk("symbol b lo=1 hi=8", "sizes s", *asked)
    assert replies[2:] == ["3 <= 2*b + 1 <= 17", "0 <= s", "-8 <= s - b", "7 == 7", "s"]


def test_facts_lists_everything_with_lines() -> None:
    shown = last("sizes b", "assume b > 3", "facts")
    assert shown.splitlines() == ["[1]   declared   b >= 0", "[2]   assumed    b > 3"]


def test_why_shows_the_steps_and_checks_them() -> None:
    """`why` shows the steps of an answer, and verifies them."""
    reply = last("sizes b s", "assume s % 16 == 0", "assume b % 4 == 0", "(b*s) % 64 == 0 ?", "why")
    assert reply.startswith("always    (b*s) % 64 == 0")
    assert "s % 16 == 0" in reply and "assumed [2]" in reply and "assumed [3]" in reply
    assert reply.endswith("verified")


def test_why_shows_both_sides_at_the_witnesses() -> None:
    session = Session()
    reply = talk("sizes b s", "assume s % 16 == 0", "(b*s) % 64 == 0 ?", "why", session=session)[-1]
    assert "(b*s) % 64 = 0" in reply
    assert reply.count("(b*s) % 64 = ") == 2
    assert reply.endswith("verified")


def test_a_question_shows_what_it_needs_to_make_sense() -> None:
    """An answer shows the zero divisors that it leaves out of consideration."""
    assert last("sizes a b", "a % b < b ?") == "always    because  b >= 0 [1]   where b != 0"
    assert last("symbol b lo=2", "sizes a", "a % b < b ?") == "always    because  b >= 2 [1]"


def test_why_before_any_question() -> None:
    assert "nothing was asked yet" in last("sizes b", "why")


@pytest.mark.parametrize("name", ["session.jsonl", "session.jsonl.gz"])
def test_save_and_load(tmp_path: Path, name: str) -> None:
    """A saved session means the same when it is loaded."""
    file = tmp_path / name
    talk("sizes b s", "assume s % 16 == 0", "assume b % 4 == 0", f"save {file}")
    session = Session()
    replies = talk(f"load {file}", "(b*s) % 64 == 0 ?", "undo", session=session)
    assert replies[1].startswith("always    because  s % 16 == 0 [")
    assert session.names == []


def test_the_last_answer_and_all_that_is_known_are_exported(tmp_path: Path) -> None:
    """The exported answer and facts are those of the session."""
    theorem, script = tmp_path / "always.v", tmp_path / "all.smt2"
    lines = ["sizes b s", "assume s % 16 == 0", "b*s % 8 == 0 ?", f"export {theorem}", f"export {script}"]
    assert talk(*lines)[-1] == f"exported to {script}"
    assert "given: s % 16 == 0 (line:2)" in theorem.read_text() and "Theorem always :" in theorem.read_text()
    assert "; always: b*s % 8 == 0" in script.read_text()
    assert "nothing was asked yet" in last("sizes b", f"export {tmp_path / 'x.v'}")
    assert "ends in .v (the last answer)" in last("sizes b", f"export {tmp_path / 'x.txt'}")
    assert "No such file" in last("sizes b", "export /nowhere/at/all.smt2")
    assert sorted(tmp_path.iterdir()) == [script, theorem]


def test_loading_what_is_not_there() -> None:
    session = Session()
    reply = talk("sizes s", "load /nowhere/at/all.jsonl", session=session)[-1]
    assert reply.startswith("error") and "No such file" in reply
    assert session.names == ["s"]


def test_help_knows_every_command() -> None:
    shown = last("help")
    for word in ("sizes", "assume", "ask", "why", "guards", "undo", "save", "export", "load", "quit"):
        assert word in shown
    assert "record a fact" in last("help assume")


def test_leaving() -> None:
    assert Session().run("quit").ended
    assert Session().run("exit").ended


def test_control_characters_do_not_reach_the_terminal() -> None:
    """Control characters of a file do not reach the terminal."""
    assert "\x1b" not in last("sizes s", "s > \x1b[2J ?")


def test_a_page_as_html_is_escaped() -> None:
    session = Session()
    talk("sizes s", "assume s < 4", session=session)
    page = html_of_page(session.run("s <= 3 ?").page)
    assert "s &lt; 4" in page and "<script" not in page


@pytest.mark.parametrize("position", [0, 1])
def test_the_transcripts_of_the_page_are_what_happens(position: int) -> None:
    """Each conversation on the page about the prompt is reproduced."""
    page = (Path(__file__).parents[3] / "docs" / "prompt.md").read_text()
    parts = [part.split("```")[0] for part in page.split("```text\n")[1:]]
    transcript = [part for part in parts if part.startswith("> ")][position]
    session = Session()
    printed = []
    for line in transcript.splitlines():
        if line.startswith("> "):
            printed += [line, *text_of_page(session.run(line[2:]).page).splitlines()]
    assert "\n".join(printed) == transcript.strip("\n")


def test_pop_returns_to_the_last_push() -> None:
    replies = talk("sizes b", "push", "assume b > 3", "push", "assume b > 5", "pop 2", "b > 3 ?", "pop")
    assert replies[5] == "back to [2]" and replies[6].startswith("depends")
    assert "`push` adds one" in replies[7]


def test_a_line_is_dropped_and_those_after_it_stay() -> None:
    """Facts after a dropped line keep their numbers; one that is needed later stays."""
    session = Session()
    lines = ["sizes b s", "assume b > 3", "assume s > 5", "drop 2", "b > 3 ?", "s > 3 ?", "drop 1"]
    replies = talk(*lines, session=session)
    assert replies[3] == "dropped [2] assume b > 3"
    assert replies[4].startswith("depends") and replies[5] == "always    because  s > 5 [3]"
    assert "needs line 1" in replies[6]
    assert talk("s > 4 ?", session=session) == ["always    because  s > 5 [3]"]


def test_a_dropped_line_can_be_one_after_another_was_taken_back() -> None:
    """Dropping works after `undo` and `pop`, and can be undone no more than it says."""
    session = Session()
    lines = ["sizes b", "push", "assume b > 1", "pop", "assume b > 2", "undo", "assume b > 3", "assume b < 9"]
    facts = talk(*lines, "drop 7", "facts", session=session)[-1].splitlines()
    assert facts == ["[1]   declared   b >= 0", "[8]   assumed    b < 9"]


def test_a_saved_session_keeps_its_questions(tmp_path: Path) -> None:
    """Questions are saved at their place, and saved again after loading."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    asked = ["sizes s", "s > 3 ?", "assume s > 4", "s > 3 ?", "s > 9 ?", "assume s > 5", "undo"]
    assert talk(*asked, f"save {first}")[-1].endswith("with 3 questions")
    assert talk(f"load {first}", f"save {second}")[0] == "1 symbols and 1 facts, 3 questions asked"
    lines = [path.read_text().splitlines()[1:] for path in (first, second)]
    assert lines[0] == lines[1]
    assert [json.loads(line)["op"] for line in lines[0]] == ["symbol", "ask", "assume", "ask", "ask"]
    assert [json.loads(line).get("truth") for line in lines[0]][1::2] == ["depends", "always"]


def test_for_all_values_of_a_variable() -> None:
    """A question about every rank is answered inside of its scope, of which nothing is left."""
    session = Session()
    start = ("sizes n", "symbol world lo=1")
    asked = "forall r < world, r < q < world: min((r + 1)*ceildiv(n, world), n) <= min(q*ceildiv(n, world), n)"
    replies = talk(*start, asked, "forall 1 <= r <= world: r*(n//world) <= n ?", session=session)
    assert replies[2] == "always    because  n >= 0 [1]   world >= 1 [2]   q >= r + 1 [3]"
    assert replies[3].startswith("always")
    replies = talk("forall r < world: (r + 1)*ceildiv(n, world) <= n", "why", session=session)
    assert replies[0] == "depends   true at n=2, world=2, r=1   false at n=1, world=2, r=1"
    assert replies[1].endswith("the 4 facts hold at both; verified")
    assert session.names == ["n", "world"]


def test_a_scope_of_bound_variables_ends_with_pop() -> None:
    """An assumption about every rank holds until `pop`, and `undo` takes the scope back."""
    session = Session()
    scope = ("forall r < world", "assume r <= n", "world <= n + 1 ?", "pop")
    replies = talk(
        "sizes n", "symbol world lo=1", *scope, "world <= n + 1 ?", "forall r < world", "undo", session=session
    )
    assert replies[4] == "always    because  world >= 1 [2]   r <= n, at r = world - 1 [4]"
    assert replies[5] == "back to [3]" and replies[6].startswith("depends")
    assert replies[8] == "undid [8] forall r < world" and session.names == ["n", "world"]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ("forall r in 0..world: r > 3", 7, "expected the range of a variable"),
        ("forall r < wrld: r > 3", 11, "did you mean `world`"),
        ("forall r < world, q: r > 3", 17, "expected the range of a variable"),
        ("forall r < world:", 17, "a question is missing"),
        ("forall not < world: n > 2", 7, "`not` is a word of the language"),
        ("forall r < world: r > wrld", 22, "did you mean `world`"),
        ("forall n < world: n > 2", None, "a symbol of this name exists already"),
        ("forall r < 0: r > 2", None, "contradicts what is known"),
    ],
)
def test_mistakes_in_ranges(line: str, column: int | None, reason: str) -> None:
    """A mistake points at its column, and leaves no scope open."""
    session = Session()
    talk("sizes n world", session=session)
    reply = session.run(line)
    shown = text_of_page(reply.page).split("\n")
    assert not reply.ok and reason in shown[0], shown
    if column is not None:
        assert shown[2].index("^") == column + 2
    assert session.names == ["n", "world"] and talk("facts", session=session) == talk("facts", session=session)
    assert not session.run("pop").ok
