"""Recorded questions, put to this engine and to every baseline that is installed, session by session in turn.

    python -m benchmarks.entailment [--baselines torch,z3] [--seconds 180] [--by-file] [--write] [FILES...]

Each engine runs in a process of its own, one at a time, in a fresh environment for each session, and is timed from
the text of a line to its answer: symbols and facts included, evidence included as it was found (this engine's proofs
with the facts at their leaves, and both witnesses), so that the times of the lines add up to the time on the wall. An
answer is judged by the recorded label, and each witness by evaluating the question and every fact before it. A baseline
that has used up `--seconds` sits out the rest; sessions come in a fixed random order, and ratios are taken over the
sessions that both have seen.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import oracle, report
from benchmarks.baselines import BASELINES, Answer
from benchmarks.baselines.pool import Pool
from benchmarks.baselines.worker import Line
from benchmarks.recorded import Session, corpus_files, sessions

OURS, ALONE = "symshape", "symshape --no-solver"
FIGURES = Path(__file__).with_name("entailment.json")
"""The figures that `benchmarks/picture.py` draws, of the last run that was written."""
LONGEST = 60.0  # seconds for one session; the recorded ones that a baseline finishes at all take less
TROUBLES = ("not expressible", "error", "left out", "ended")


@dataclass
class Score:
    """The score of one engine over some sessions."""

    count: Counter[str] = field(default_factory=Counter)
    micros: dict[int, list[float]] = field(default_factory=dict)  # of its questions, by the session's place
    seconds: dict[int, float] = field(default_factory=dict)
    open: set[tuple[int, int]] = field(default_factory=set)  # (session, line) of decidable questions left open
    rungs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)  # the slowest question of each session

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def decidable(self) -> int:
        return self.count["decided"] + self.count["open"] + self.count["decidable wrong"]

    @property
    def share(self) -> float:
        return self.count["decided"] / self.decidable if self.decidable else 1.0


def witnesses_hold(session: Session, until: int, answer: Answer) -> bool:
    """Return True if both assignments satisfy everything before line `until`, and its question one way each."""
    facts = [line for line in session.lines[:until] if line["op"] != "ask"]
    for values, wanted in ((answer.true_at, True), (answer.false_at, False)):
        if values is None:
            continue
        for fact in facts:
            if fact["op"] == "symbol":
                value = values[fact["name"]]
                if not (fact["lo"] is None or fact["lo"] <= value) or not (fact["hi"] is None or value <= fact["hi"]):
                    return False
            elif oracle.holds(fact["prop"], values) is not True:
                return False
        if oracle.holds(session.lines[until]["prop"], values) is not wanted:
            return False
    return True


def judge(truth: str, answer: Answer, session: Session, until: int) -> str:
    if answer.verdict == "depends" and not witnesses_hold(session, until, answer):
        return "decidable wrong" if truth in ("always", "never") else "depends wrong"
    match truth, answer.verdict:
        case "unknown", _:
            return "not judged"
        case "depends", None:
            return "depends open"
        case "depends", "depends":
            return "depends shown"
        case "depends", _:
            return "depends wrong"
        case _, None:
            return "open"
        case _, verdict:
            return "decided" if verdict == truth else "decidable wrong"


def score_session(score: Score, place: int, session: Session, result: Line | None) -> None:
    if result is None:  # ended from outside: every question open, and the limit as its time
        result = {"answers": [[None] * 4] * session.asks, "micros": [], "seconds": LONGEST, "notes": {"ended": 1}}
    answers = iter(result["answers"])
    for number, line in enumerate(session.lines):
        if line["op"] != "ask":
            continue
        answer = Answer(*next(answers))
        outcome = judge(line["truth"], answer, session, number)
        score.count[outcome] += 1
        if outcome in ("decided", "depends shown") and answer.rung:
            score.rungs[answer.rung] += 1
        if outcome == "open":
            score.open.add((place, number))
        if "wrong" in outcome:
            score.wrong.append(f"{session.name}: {line['prop']} is {line['truth']}, not {answer.verdict}")
    questions = [line["prop"] for line in session.lines if line["op"] == "ask"]
    score.micros[place] = [us for us, line in zip(result["micros"], session.lines) if line["op"] == "ask"]
    if score.micros[place]:
        us, prop = max(zip(score.micros[place], questions))
        score.slow.append((us, f"{session.name}: {prop}"))
    score.seconds[place] = result["seconds"]
    for note, times in result["notes"].items():
        score.count[note] += times


Scores = dict[str, dict[str, Score]]  # by engine, then by file


def measure(paths: Sequence[Path], wanted: Sequence[str], seconds: float) -> tuple[Scores, Mapping[str, str]]:
    order = [session for path in paths for session in sessions(path)]
    random.Random(0).shuffle(order)
    with Pool(wanted) as pool:
        scores: Scores = {name: {} for name in pool.here}
        used = dict.fromkeys(pool.here, 0.0)
        for place, session in enumerate(order):
            for name in pool.here:
                if used[name] > seconds:
                    continue
                score = scores[name].setdefault(session.file, Score())
                score_session(score, place, session, pool.run(name, session.lines, LONGEST))
                used[name] += score.seconds[place]
        return scores, pool.missing


def together(scores: Mapping[str, Score]) -> Score:
    whole = Score()
    for score in scores.values():
        whole.count += score.count
        whole.micros |= score.micros
        whole.seconds |= score.seconds
        whole.open |= score.open
        whole.rungs += score.rungs
        whole.wrong += score.wrong
        whole.slow += score.slow
    return whole


def asked(score: Score, places: Iterable[int]) -> list[float]:
    return [us for place in places for us in score.micros[place]]


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))] if values else float("nan")


def summary(scores: Scores, missing: Mapping[str, str]) -> str:
    wholes = {name: together(files) for name, files in scores.items()}
    base = wholes.get(OURS) or wholes.get(ALONE)
    longest = max(len(whole.seconds) for whole in wholes.values())
    rows: list[list[report.Cell]] = []
    for name, whole in wholes.items():
        c = whole.count
        shown = c["depends shown"]
        micros = asked(whole, whole.micros)
        median, p99 = percentile(micros, 0.5), percentile(micros, 0.99)
        ratios = ["-"] * 3
        if base is not None and whole is not base:
            common = base.seconds.keys() & whole.seconds.keys()
            theirs, ours = asked(whole, common), asked(base, common)
            ratios = [
                report.ratio(percentile(theirs, 0.5), percentile(ours, 0.5)),
                report.ratio(percentile(theirs, 0.99), percentile(ours, 0.99)),
                report.ratio(sum(whole.seconds[i] for i in common), sum(base.seconds[i] for i in common)),
            ]
        rows.append(
            [
                name,
                f"{100 * whole.share:.2f} % of {whole.decidable:,}",
                c["decidable wrong"] + c["depends wrong"],
                c["open"],
                f"{shown:,} of {shown + c['depends open'] + c['depends wrong']:,}",
                median,
                ratios[0],
                p99,
                ratios[1],
                max(micros, default=0.0) / 1000,
                whole.total,
                ratios[2],
                "all" if len(whole.seconds) == longest else f"{len(whole.seconds)} of {longest}",
            ]
        )
    answers = ["engine", "always/never decided", "wrong", "left open", "depends shown"]
    times = ["median µs", "x ours", "p99 µs", "x ours", "max ms", "total s", "x ours", "sessions"]
    lines = [report.table(answers + times, rows)]
    if "torch" in wholes:
        left = wholes["torch"].open
        for name in (OURS, ALONE):
            if name in wholes and left:
                settled = 100 * len(left - wholes[name].open) / len(left)
                lines.append(f"Of the {len(left):,} that torch leaves open, {name} decides {settled:.1f} %.")
    for name, whole in wholes.items():
        troubles = [f"{times:,} {note}" for note, times in whole.count.items() if note.endswith(TROUBLES)]
        if troubles:
            lines.append(f"{name}: {', '.join(troubles)}.")
    lines += [f"{name} is not here: {reason}" for name, reason in missing.items()]
    return "\n\n".join(lines)


def figures(scores: Scores) -> dict[str, dict[str, float]]:
    """The share of always/never questions decided, in percent, and the seconds in all, by engine."""
    wholes = {name: together(files) for name, files in scores.items()}
    return {
        name: {"decided": round(100 * whole.share, 2), "seconds": round(whole.total, 2)}
        for name, whole in wholes.items()
    }


def by_file(scores: Scores) -> str:
    """The share of always/never questions decided, file by file; the smallest of the larger files is what to watch."""
    names = list(scores)
    files = sorted({file for files in scores.values() for file in files})
    rows: list[list[report.Cell]] = []
    for file in files:
        found = [scores[name].get(file) for name in names]
        asked = max(score.decidable for score in found if score)
        rows.append([file, asked, *(f"{100 * score.share:.1f} %" if score else "-" for score in found)])
    worst = [
        (score.share, file)
        for file, score in scores.get(OURS, scores.get(ALONE, {})).items()
        if score.decidable >= 50
    ]
    text = report.table(["file", "always/never", *names], rows)
    if worst:
        share, file = min(worst)
        text += f"\n\nThe lowest of ours among files with 50 or more: {100 * share:.2f} % ({file})."
    return text


def run(options: argparse.Namespace) -> str:
    wanted = [OURS, ALONE, *options.baselines.split(",")] if options.baselines else [OURS, ALONE]
    scores, missing = measure(options.files or corpus_files(), wanted, options.seconds)
    parts = [summary(scores, missing)]
    if options.write and not options.files:
        FIGURES.write_text(json.dumps(figures(scores), indent=1) + "\n", encoding="utf-8")
    rungs = together(scores[OURS]).rungs if OURS in scores else Counter[str]()
    if rungs:
        every = sum(rungs.values())
        rows = [[rung, times, f"{100 * times / every:.2f} %"] for rung, times in rungs.most_common()]
        parts.append("Which rung answered:\n\n" + report.table(["rung", "answers", "share"], rows))
    if options.by_file:
        parts.append(by_file(scores))
    for name, files in scores.items():
        wrong = together(files).wrong
        if wrong and (options.wrong or name in (OURS, ALONE)):
            parts.append(f"Wrong answers of {name}:\n\n" + "\n".join(f"- `{line}`" for line in wrong))
    for name, files in scores.items():
        slow = sorted(together(files).slow, reverse=True)[: options.slowest]
        if slow:
            parts.append(f"Slowest of {name}:\n\n" + "\n".join(f"- {us / 1000:.1f} ms `{prop}`" for us, prop in slow))
    distributions = dict.fromkeys(name for engine in scores for name in BASELINES[engine].distributions)
    parts.append(f"Versions: {report.versions(*distributions)}.")
    return "\n\n".join(parts)


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="recorded sessions; without any, benchmarks/corpus")
    parser.add_argument("--baselines", default="torch,z3,jax,tvm,isl", help="which to measure beside this engine")
    parser.add_argument("--seconds", type=float, default=180, help="how long each engine may take in all")
    parser.add_argument("--by-file", action="store_true", help="a row for each file")
    parser.add_argument("--wrong", action="store_true", help="list the baselines' wrong answers too")
    parser.add_argument("--slowest", type=int, default=0, help="list the slowest question of that many sessions")
    report.publish("entailment", "Recorded questions", run, parser)


if __name__ == "__main__":
    main()
