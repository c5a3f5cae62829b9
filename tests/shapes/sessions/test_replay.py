"""Recorded sessions: read as data, replayed in order, each in an environment of its own."""

import gzip
import json
from pathlib import Path

import pytest

from shapes.sessions.recording import (
    FactLine,
    FaultyLine,
    QuestionLine,
    SessionLine,
    SymbolLine,
    open_recording,
    read_line,
    read_sessions,
)
from shapes.sessions.replay import Answer, replay_session

CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"


def recording(*lines: object) -> list[bytes]:
    return [line.encode() if isinstance(line, str) else json.dumps(line).encode() for line in lines]


def session(*rest: object) -> list[bytes]:
    return recording({"op": "session", "format": 1, "name": "one"}, *rest)


S = {"op": "symbol", "name": "s", "kind": "backed", "hint": 4, "lo": 0, "hi": None, "source": None}


def only(lines: list[bytes]) -> list[SessionLine]:
    (found,) = read_sessions(lines)
    return found.lines


# -------------------------------------------------------------------- reading


def test_lines_keep_their_numbers() -> None:
    """Lines keep the numbers that they have in the file."""
    rest = recording({"op": "assume", "prop": "s > 1", "why": "guard"}, {"op": "ask", "prop": "s > 0"})
    lines = [*session(S), b"", *rest]
    assert only(lines) == [SymbolLine(2, "s", 0, None, 4), FactLine(4, "s > 1", "guard"), QuestionLine(5, "s > 0")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ({"prop": "s > 1"}, "no `op`"),
        ({"op": "guess"}, "`op` is 'guess'"),
        ({"op": "ask"}, "`prop` is None"),
        ({"op": "ask", "prop": 3}, "`prop` is 3"),
        ({"op": "assume", "prop": "s > 1", "why": "hope"}, "`why` is 'hope'"),
        ({**S, "lo": "0"}, "`lo` is '0'"),
        ({**S, "hi": True}, "`hi` is True"),
        ({**S, "hint": 1.5}, "`hint` is 1.5"),
        ("[" * 100_000, "not JSON"),
        ('{"op":"ask","prop":"\\ud800', "not JSON"),
    ],
)
def test_malformed_line(line: object, message: str) -> None:
    """A malformed line is reported, without a traceback."""
    (fault,) = only(session(line))
    assert isinstance(fault, FaultyLine)
    assert fault.number == 2
    assert message in fault.message


def test_a_recording_begins_with_a_session() -> None:
    """A line without a session is refused."""
    first, *_ = only(recording(S))
    assert isinstance(first, FaultyLine)


def test_another_format_is_refused() -> None:
    (fault,) = only(recording({"op": "session", "format": 2}))
    assert isinstance(fault, FaultyLine)
    assert "format 2" in fault.message


def test_labels_are_read_only_when_asked_for() -> None:
    """Labels are read only when asked for."""
    lines = session({"op": "ask", "prop": "1 > 0", "truth": "always"})
    assert [s.labels for s in read_sessions(lines)] == [{}]
    assert [s.labels for s in read_sessions(lines, labels=True)] == [{2: "always"}]


def test_a_file_that_breaks_off_keeps_its_complete_lines(tmp_path: Path) -> None:
    """A truncated file keeps its complete lines, and is reported."""
    packed = gzip.compress(b"\n".join(session(*[S | {"name": f"s{i}"} for i in range(2000)])))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with open_recording(path) as stream:
        (found,) = read_sessions(stream)
    assert isinstance(found.lines[0], SymbolLine)
    assert isinstance(found.lines[-1], FaultyLine)
    assert "breaks off" in found.lines[-1].message


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".txt"])
def test_packed_or_plain_whatever_the_name(tmp_path: Path, suffix: str) -> None:
    text = b"\n".join(session(S))
    for content in (text, gzip.compress(text)):
        path = tmp_path / f"file{suffix}"
        path.write_bytes(content)
        with open_recording(path) as stream:
            assert [s.name for s in read_sessions(stream)] == ["one"]


# -------------------------------------------------------------------- replaying


def verdicts(answers: list[Answer]) -> list[tuple[int, str]]:
    return [(answer.line, answer.verdict) for answer in answers]


def test_a_question_knows_only_the_lines_before_it() -> None:
    """A question knows only the lines before it."""
    lines: list[SessionLine] = [
        SymbolLine(2, "s", 0, None, None),
        QuestionLine(3, "s % 8 == 0"),
        FactLine(4, "s % 16 == 0", "guard"),
        QuestionLine(5, "s % 8 == 0"),
        QuestionLine(6, "s % 8 != 0"),
    ]
    answers = replay_session(lines).answers
    assert verdicts(answers) == [(3, "depends"), (5, "always"), (6, "never")]
    assert [answer.core for answer in answers] == [None, (4,), (4,)]


def test_an_answer_that_stands_is_inherited() -> None:
    """An answer that stands is inherited, and an open one is looked at again."""
    lines: list[SessionLine] = [
        SymbolLine(2, "s", 2, None, None),
        SymbolLine(3, "t", 0, None, None),
        QuestionLine(4, "s >= 1"),
        QuestionLine(5, "t >= 1"),
        FactLine(6, "t > s", "given"),
        QuestionLine(7, "s >= 1"),
        QuestionLine(8, "t >= 1"),
    ]
    answers = replay_session(lines).answers
    assert verdicts(answers) == [(4, "always"), (5, "depends"), (7, "always"), (8, "always")]
    assert [answer.core for answer in answers] == [(2,), None, (2,), (2, 6)]
    assert answers[2].rung == "inherited"


def test_witnesses_are_complete_and_true() -> None:
    """Witnesses of a `depends` are complete, and show both outcomes."""
    lines: list[SessionLine] = [
        SymbolLine(2, "b", 1, 8, 4),
        SymbolLine(3, "s", 0, None, 128),
        FactLine(4, "s % 16 == 0", "given"),
        QuestionLine(5, "(b*s) % 64 == 0"),
    ]
    (answer,) = replay_session(lines).answers
    for sizes, outcome in ((answer.true_at, True), (answer.false_at, False)):
        assert sizes is not None
        b, s = sizes["b"], sizes["s"]
        assert 1 <= b <= 8 and s >= 0 and s % 16 == 0
        assert ((b * s) % 64 == 0) is outcome


CONTRADICTIONS = [
    ["s > 5", "s < 3"],
    ["s % 4 == 1", "s % 2 == 0"],
    ["s < 0"],
    ["False"],
    ["2*s == 7"],
    ["s*t == 91", "1 < s", "s < 7", "t > 0"],
]


@pytest.mark.parametrize("facts", CONTRADICTIONS)
def test_a_contradiction_is_data(facts: list[str]) -> None:
    """A contradiction of facts is reported."""
    lines: list[SessionLine] = [SymbolLine(2, "s", 0, None, None), SymbolLine(3, "t", 0, None, None)]
    lines += [FactLine(number, text, "given") for number, text in enumerate(facts, 4)]
    replay = replay_session([*lines, QuestionLine(9, "s == 12345")])
    assert replay.clash is not None
    core = replay.clash.core
    assert set(core) <= set(range(2, 4 + len(facts)))
    kept = [line for line in lines if isinstance(line, SymbolLine) or line.number in core]
    assert replay_session([*kept, QuestionLine(9, "s == 12345")]).clash is not None
    (answer,) = replay.answers
    assert answer.verdict == "gave_up"
    assert answer.reason is not None and "contradict" in answer.reason
    assert all(str(number) in answer.reason for number in replay.clash.core)


def test_an_empty_range_is_a_contradiction() -> None:
    replay = replay_session([SymbolLine(2, "s", 5, 4, None), QuestionLine(3, "s > 0")])
    assert replay.clash is not None
    assert replay.clash.core == (2,)


@pytest.mark.parametrize(
    "line",
    [
        FactLine(3, "s >", "given"),
        FactLine(3, "t > s", "given"),
        SymbolLine(3, "s", 0, None, None),
        FaultyLine(3, "bad"),
    ],
)
def test_a_line_that_is_not_understood_costs_what_needs_it(line: SessionLine) -> None:
    """A line that is not understood leaves open the questions that need it, and no others."""
    lines = [SymbolLine(2, "s", 0, None, None), line, QuestionLine(4, "s >= 0"), QuestionLine(5, "s > 7")]
    replay = replay_session([*lines, FactLine(6, "s > 8", "given"), QuestionLine(7, "s > 7"), QuestionLine(8, "s > 9")])
    assert [fault.number for fault in replay.faults] == [3]
    assert verdicts(replay.answers) == [(4, "always"), (5, "gave_up"), (7, "always"), (8, "gave_up")]
    assert [answer.core for answer in replay.answers] == [(2,), None, (6,), None]
    assert {answer.left_out for answer in replay.answers} == {(3,)}
    assert replay.answers[1].reason == "open without line 3, which was not understood"


def test_what_a_lost_fact_is_not_about_is_open_as_before() -> None:
    """A lost fact leaves open only the questions that it may decide."""
    lines: list[SessionLine] = [SymbolLine(n, name, 0, None, None) for n, name in enumerate("stuv", 2)]
    lines += [QuestionLine(6, "v > 1"), FactLine(7, "frobnicate(t) < 2", "given"), FactLine(8, "s <= t", "given")]
    lines += [QuestionLine(9, "s > 1"), QuestionLine(10, "u > 1"), FactLine(11, "u <= s", "given")]
    lines += [QuestionLine(12, "u > 1"), QuestionLine(13, "v > 1")]
    replay = replay_session(lines)
    assert verdicts(replay.answers) == [
        (6, "depends"), (9, "gave_up"), (10, "depends"), (12, "gave_up"), (13, "depends"),
    ]  # fmt: skip
    assert [answer.left_out for answer in replay.answers] == [(), *[(7,)] * 4]


def test_a_question_that_is_damaged_is_no_lost_fact() -> None:
    """A damaged question leaves the further ones as they are."""
    lines = [SymbolLine(2, "s", 0, None, None), read_line(3, {"op": "ask", "prop": 7}), QuestionLine(4, "s > 4")]
    assert verdicts(replay_session(lines).answers) == [(4, "depends")]


def test_a_session_whose_header_is_not_understood_is_not_answered() -> None:
    """A session whose header is not understood is not answered."""
    lines = [b'{"op":"session","format":2,"name":"other"}', b'{"op":"symbol","name":"s","lo":0,"hi":null,"hint":null}']
    (session,) = read_sessions([*lines, b'{"op":"ask","prop":"s >= 0"}'])
    (answer,) = replay_session(session.lines).answers
    assert answer.verdict == "gave_up" and answer.reason is not None and "format 2" in answer.reason


def test_a_question_that_is_not_understood_ends_nothing() -> None:
    """A question that is not understood leaves the others answered."""
    lines = [SymbolLine(2, "s", 0, None, None), QuestionLine(3, "s >"), QuestionLine(4, "s >= 0")]
    replay = replay_session(lines)
    assert verdicts(replay.answers) == [(3, "gave_up"), (4, "always")]
    assert [fault.number for fault in replay.faults] == [3]


def test_a_question_without_meaning() -> None:
    """A division by a size known to be zero is not answered."""
    lines: list[SessionLine] = [SymbolLine(2, "s", 0, 0, None), QuestionLine(3, "7 % s == 1")]
    replay = replay_session(lines)
    assert verdicts(replay.answers) == [(3, "gave_up")]
    assert replay.answers[0].reason is not None
    assert replay.answers[0].reason.startswith("undefined")


def test_decimals_are_reals() -> None:
    """Decimals are read as reals, by their format: 0.29 times 100 is 29, not 28.99..."""
    lines: list[SessionLine] = [SymbolLine(2, "s", 100, 100, None), QuestionLine(3, "trunc(0.29*float(s)) == 29")]
    assert verdicts(replay_session(lines).answers) == [(3, "always")]


def test_sessions_share_nothing() -> None:
    """Sessions share no state."""
    text = session(S, {"op": "assume", "prop": "s > 5"}, {"op": "ask", "prop": "s > 5"})
    text += session(S, {"op": "ask", "prop": "s > 5"})
    found = [replay_session(s.lines) for s in read_sessions(text)]
    assert [[a.verdict for a in replay.answers] for replay in found] == [["always"], ["depends"]]
    alone = replay_session(list(read_sessions(text))[1].lines)
    timeless = [[a._replace(microseconds=0, evidence_microseconds=0) for a in r.answers] for r in (alone, found[1])]
    assert timeless[0] == timeless[1]


def test_the_parts_of_the_time_are_the_whole() -> None:
    """The parts of the time add up to the whole."""
    with open_recording(CORPUS / "bloom-infer-aot.jsonl.gz") as stream:
        (found,) = read_sessions(stream)
    replay = replay_session(found.lines)
    questions = sum(answer.microseconds for answer in replay.answers) / 1e6
    assert replay.question_seconds == pytest.approx(questions)
    assert replay.seconds == pytest.approx(replay.symbol_seconds + replay.fact_seconds + questions)
    assert min(replay.symbol_seconds, replay.fact_seconds, questions) > 0
    reading = sum(answer.evidence_microseconds for answer in replay.answers) / 1e6
    assert replay.evidence_seconds == pytest.approx(reading) and reading > 0


def test_evidence_is_read_only_where_it_is_wanted() -> None:
    """Evidence is read only where it is wanted."""
    lines = [SymbolLine(2, "s", 0, None, None), FactLine(3, "s % 16 == 0", "given")]
    lines += [QuestionLine(4, "s % 8 == 0"), QuestionLine(5, "s > 0")]
    read, unread = replay_session(lines).answers, replay_session(lines, evidence=False).answers
    assert [answer.verdict for answer in read] == [answer.verdict for answer in unread] == ["always", "depends"]
    assert read[0].core == (3,) and read[1].true_at == {"s": 16} and read[1].false_at == {"s": 0}
    assert all(answer[4:7] == (None, None, None) and not answer.evidence_microseconds for answer in unread)


def test_without_solvers_nothing_of_them_is_imported() -> None:
    """`--no-solver` imports neither sympy nor z3."""
    import subprocess
    import sys

    program = (
        "import sys; from shapes.sessions.recording import *; from shapes.sessions.replay import replay_session\n"
        "for s in read_sessions(open_recording(__import__('pathlib').Path(sys.argv[1]))):\n"
        "    replay_session(s.lines, solvers=False)\n"
        "assert not {'sympy', 'z3', 'torch', 'numpy'} & set(sys.modules), sorted(sys.modules)"
    )
    file = str(CORPUS / "unbacked-top-p.jsonl.gz")
    subprocess.run([sys.executable, "-c", program, file], check=True, cwd=CORPUS.parents[1])
