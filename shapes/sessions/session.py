"""Sessions on disk: one format for saving, loading, recording and replaying (see `benchmarks/corpus/CORPUS.md`).

    >>> import tempfile, pathlib
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> env.assume("s % 16 == 0")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "session.jsonl"
    >>> env.save(path)
    >>> print(path.read_text().splitlines()[-1])
    {"op": "assume", "prop": "s % 16 == 0", "why": "given", "at": null}
    >>> print(ShapeEnv.load(path).ask("(b * s) % 8 == 0"))
    Always(s % 16 == 0)

Beside the fields of that format a line may have `message` (of a run-time check), `sources` (all of them), and `as`:
`range` or `hypothesis` for a given fact that is no assumption of the caller. A recording marks what was rolled back: it
begins a new `session` with everything that still stands, and `rolled_back` has the first and the last line of the
stretch that was taken back. So any reader of the format reads it right.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, TextIO, TypeVar, assert_never, cast

from shapes.accepted import path_to_write, shown
from shapes.environment.events import (
    Asked,
    Assumed,
    Commitment,
    Declared,
    Deferred,
    Event,
    Guarded,
    Listener,
    Marked,
    RolledBack,
    Specialized,
    SymbolKind,
)
from shapes.errors import Contradiction, ParseError, ShapeError
from shapes.origin import Origin
from shapes.policies import Policy, named
from shapes.sessions.long_json import dumps, loads
from shapes.sessions.recording import (
    FORMAT,
    PRODUCER,
    FactLine,
    FaultyLine,
    QuestionLine,
    RecordedSession,
    SessionLine,
    SymbolLine,
    open_recording,
    read_sessions,
)
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.proofs.fact import Fact, Kind
from solver.syntax.defined import defined_text, fact_text
from solver.syntax.short_text import shortened
from solver.syntax.tokens import Decimals
from solver.terms.prop import Prop


class Recorded(Protocol):
    """A session in the form that is written and read."""

    policy: Policy

    @property
    def events(self) -> tuple[Commitment, ...]: ...

    def parse(self, text: str, /) -> tuple[Prop, Prop]: ...

    def where(self) -> str | None: ...

    def sources(self, size: str, /) -> tuple[str, ...]: ...

    def listen(self, listener: Listener, /) -> Callable[[], None]: ...

    def add_source(self, size: str, source: str, /) -> None: ...

    def restore_symbol(
        self,
        name: str,
        kind: SymbolKind,
        lo: int | None,
        hi: int | None,
        hint: int | None,
        source: str | None,
        origin: Origin | None,
        line: int | None,
        /,
    ) -> object: ...

    def restore_fact(
        self, text: str, kind: Kind, message: str, origin: Origin | None, line: int | None, /
    ) -> None: ...


Environment = TypeVar("Environment", bound=Recorded)
Record = dict[str, object]
SHOWN: Final = 8
"""The number of sessions that an error names."""
TRUTHS: Final = {Always: "always", Never: "never", Depends: "depends", GaveUp: "unknown"}


# ---------------------------------------------------------------------- writing


def save(env: Recorded, path: str | os.PathLike[str], questions: Sequence[tuple[int, Record]] = ()) -> None:
    """Write the symbols and facts of an environment; what cannot be written leaves no file behind.

    Args:
        questions: records of questions (`question_record`), each with how many lines of symbols and facts precede it.
    """
    target = path_to_write("path", path)
    facts = [record for record in [_line(env, event) for event in env.events] if record is not None]
    placed = [*enumerate(facts, 1), *[(position + 0.5, question) for position, question in questions]]
    records = [_header(env, _stem(target)), *[record for _, record in sorted(placed, key=lambda each: each[0])]]
    lines = [dumps(record) for record in records]
    partial = target.with_name(target.name + ".partial")
    try:
        with _open_text(partial, compressed=target.suffix == ".gz") as file:
            file.write("\n".join(lines) + "\n")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def record(env: Recorded, path: str | os.PathLike[str]) -> Recording:
    """Record everything that happens in an environment from now on."""
    return Recording(env, path_to_write("path", path))


class Recording:
    """A stream of what happens in an environment; `close` it, or use it in a `with` statement."""

    def __init__(self, env: Recorded, path: Path) -> None:
        self._env = env
        self._name = _stem(path)
        self._file: TextIO | None = _open_text(path, compressed=path.suffix == ".gz")
        self._lines = 0
        self._line_of: list[int] = []
        """The line after which each commitment was written."""
        self._pending: tuple[Prop, Prop, bool, Record] | None = None
        self._taken_back: list[int] | None = None
        self._begin({})
        self._stop = env.listen(self._hear)

    def close(self) -> None:
        """End the recording. More than once is fine."""
        if self._file is not None:
            self._stop()
            self._flush()
            self._file.close()
            self._file = None

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self) -> None:
        self.close()

    def _begin(self, marks: Record) -> None:
        self._write({**_header(self._env, self._name), **marks})
        self._line_of = []
        for event in self._env.events:
            self._line_of.append(self._lines)
            line = _line(self._env, event)
            if line is not None:
                self._write(line)

    def _hear(self, event: Event) -> None:
        match event:
            case Marked():
                return
            case RolledBack(position=position):
                self._flush()
                first = self._line_of[position] + 1 if position < len(self._line_of) else self._lines + 1
                before = self._taken_back[0] if self._taken_back else first
                self._taken_back = [min(before, first), self._lines] if first <= self._lines else self._taken_back
            case Asked():
                if self._taken_back is not None:
                    self._resume()
                self._ask(event)
            case _ if self._taken_back is not None:
                self._resume()  # with this event, which stands already
            case _:
                self._flush()
                self._line_of.append(self._lines)
                line = _line(self._env, event)
                if line is not None:
                    self._write(line)

    def _resume(self) -> None:
        """Begin the session again with the facts that a rollback has left."""
        marks: Record = {"rolled_back": self._taken_back}
        self._taken_back = None
        self._begin(marks)

    def _ask(self, event: Asked) -> None:
        pending = self._pending
        if pending is not None and pending[:3] == (event.prop, event.domain, event.commits):
            pending[3]["count"] = cast(int, pending[3]["count"]) + 1
            return
        self._flush()
        self._pending = (event.prop, event.domain, event.commits, question_record(self._env, event))

    def _flush(self) -> None:
        if self._pending is not None:
            self._write(self._pending[3])
            self._pending = None

    def _write(self, line: Record) -> None:
        if self._file is not None:
            self._file.write(dumps(line) + "\n")
            self._lines += 1


def question_record(env: Recorded, event: Asked) -> Record:
    """The line of a question that was just asked."""
    line: Record = {
        "op": "ask",
        "prop": event.text or _text(env, event.prop, event.domain),
        "count": 1,
        "commits": event.commits,
        "truth": TRUTHS[type(event.verdict)],
        "by": event.verdict.rung,
    }
    if isinstance(event.verdict, Depends):
        line |= {"true_at": event.verdict.true_at, "false_at": event.verdict.false_at}
    return {**line, "at": env.where()}


def lines_so_far(env: Recorded) -> int:
    """Count the lines that the symbols and facts of an environment take when it is saved."""
    return sum(isinstance(event, Declared | Assumed | Guarded | Specialized | Deferred) for event in env.events)


def questions_of(path: str | os.PathLike[str], name: str | None = None) -> list[tuple[int, Record]]:
    """The questions of a session, by default of the last one in the file, as `save` takes them."""
    found: list[tuple[int, Record]] = []
    position, chosen = 0, False
    with open_recording(Path(path)) as file:
        for raw in file:
            record = cast(Record, loads(raw)) if raw.strip() else {}
            match record.get("op"):
                case "session":
                    chosen = name is None or record.get("name") == name
                    found, position = ([], 0) if chosen else (found, position)
                case "symbol" | "assume" if chosen:
                    position += 1
                case "ask" if chosen:
                    found.append((position, record))
    return found


def _header(env: Recorded, name: str) -> Record:
    try:
        number = version(PRODUCER)
    except PackageNotFoundError:
        number = "development"
    policy = env.policy.name
    return {
        "op": "session",
        "format": FORMAT,
        "name": name,
        "workload": "",
        "producer": f"{PRODUCER} {number}",
        "policy": policy,
    }


def _line(env: Recorded, event: Event) -> Record | None:
    """The line of a commitment; None for what is no knowledge."""
    match event:
        case Declared():
            fields = {
                "op": "symbol",
                "name": event.name,
                "kind": event.kind,
                "hint": event.hint,
                "lo": event.lo,
                "hi": event.hi,
            }
            line: Record = {**fields, "source": event.source}
            sources = env.sources(event.name)
            if sources != ((event.source,) if event.source else ()):
                line["sources"] = list(sources)
            return line | _at(event.fact.origin)
        case Assumed(fact=fact):
            line = {"op": "assume", "prop": _fact_text(env, fact), "why": "given"}
            if fact.kind != "given":
                line["as"] = fact.kind
        case Guarded(fact=fact) | Specialized(fact=fact):
            line = {"op": "assume", "prop": _fact_text(env, fact), "why": "guard"}
        case Deferred(fact=fact, message=message):
            line = {"op": "assume", "prop": _fact_text(env, fact), "why": "assert"}
            if message:
                line["message"] = message
        case _:
            return None
    return line | _at(fact.origin)


def _at(origin: object) -> Record:
    return {"at": origin.recorded if isinstance(origin, Origin) else None}


def _text(env: Recorded, prop: Prop, domain: Prop, written: str = "") -> str:
    """Text that says exactly this proposition and domain: as it was written, or as both print."""
    with suppress(ParseError):
        if written and env.parse(written) == (prop, domain):
            return written
    return defined_text(prop, domain)


def _fact_text(env: Recorded, fact: Fact) -> str:
    """Text of a fact, which asserts its domain: as it was written, or as both print."""
    with suppress(ParseError):
        if env.parse(fact.text) == (fact.prop, fact.domain):
            return fact.text
    return fact_text(fact.prop, fact.domain)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _open_text(path: Path, *, compressed: bool) -> TextIO:
    if compressed:
        return cast(TextIO, gzip.open(path, "wt", encoding="utf-8"))
    return path.open("w", encoding="utf-8")


# ---------------------------------------------------------------------- reading


def load(
    fresh: Callable[[Decimals], Environment], path: str | os.PathLike[str], name: str | None = None
) -> Environment:
    """The environment at the end of a session, by default of the last one in the file; `fresh` makes an empty one."""
    chosen: RecordedSession | None = None
    names: list[str] = []
    if not isinstance(path, str | os.PathLike):
        raise ShapeError(f"path={shown(path)}: expected the path of a recorded session")
    with open_recording(Path(path)) as file:
        for session in read_sessions(file):
            names.append(session.name)
            if name is None or session.name == name:
                chosen = session
    if chosen is None:
        found = ", ".join([repr(shortened(each)) for each in names[:SHOWN]]) or "no session"
        raise ShapeError(f"name={name!r}: {path} has {found}{', ...' if len(names) > SHOWN else ''}")
    return _environment(fresh, path, chosen)


def _environment(
    fresh: Callable[[Decimals], Environment], path: str | os.PathLike[str], session: RecordedSession
) -> Environment:
    env = fresh(session.decimals)
    for line in session.lines:
        try:
            _apply(env, line)
        except ShapeError as error:
            raise _at_line(error, f"{os.fspath(path)}:{line.number}") from None
    env.policy = named.get(session.policy, env.policy)
    return env


def _apply(env: Recorded, line: SessionLine) -> None:
    match line:
        case SymbolLine():
            origin = Origin.parse(line.at)
            env.restore_symbol(line.name, line.kind, line.lo, line.hi, line.hint, line.source, origin, line.number)
            for source in line.sources:
                if source != line.source:
                    env.add_source(line.name, source)
        case FactLine():
            kind: Kind = line.role or line.kind
            env.restore_fact(line.text, kind, line.message, Origin.parse(line.at), line.number)
        case QuestionLine():
            return
        case FaultyLine():
            raise ShapeError(line.message)
        case _:
            assert_never(line)


def _at_line(error: ShapeError, place: str) -> ShapeError:
    """The error with the line of the file that it is about."""
    match error:
        case ParseError():
            return ParseError(f"{place}: {error.message}", error.text, error.column)
        case Contradiction():
            return type(error)(f"{place}: {error.message}", error.core, error.proof)
        case _:
            return ShapeError(f"{place}: {error}")
