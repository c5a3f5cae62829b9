"""Labels the written cases: `python benchmarks/cases/label.py [FILE.cases ...]` writes the *.jsonl beside it.

`session` and `system` blocks become questions (`NAME.jsonl`, the format of the recorded corpus), `system` and `facts`
blocks sets of facts marked consistent or not (`NAME-sets.jsonl`), `simplify` blocks pairs of expressions
(`NAME.jsonl`). Needs z3-solver, and cvc5 for a few hard ones. A case that is wrong or stays unsettled is reported and
left out; the exit status is then 1. `--check` labels anew and compares with the files instead of writing them;
`--second` asks cvc5 about every label that rests on z3. Example: `label.py written/division.cases` prints
`division.jsonl {'always': 590, 'never': 495, 'depends': 70}`.
"""

from __future__ import annotations

import ast
import collections
import json
import pathlib
import sys
from typing import Any

import deciding
import meaning
import written

HERE = pathlib.Path(__file__).parent
Line = dict[str, Any]
PRODUCER = "written by hand, labelled by label.py"


class Labeller:
    def __init__(self, family: str, *, known: dict[str, Line]):
        self.family = family
        self.known = known
        self.questions: list[Line] = []
        self.sets: list[Line] = []
        self.simplified: list[Line] = []
        self.left_out: list[str] = []

    def opening(self, name: str, **more: Any) -> Line:
        return {"op": "session", "format": 1, "name": f"{self.family}: {name}", "workload": "textbook cases",
                "producer": PRODUCER, "policy": "none"} | more  # fmt: skip

    def symbol(self, name: str, lo: int | None, hi: int | None) -> Line:
        return {"op": "symbol", "name": name, "kind": "unbacked", "hint": None, "lo": lo, "hi": hi, "source": None}

    def fact(self, text: str) -> Line:
        return {"op": "assume", "prop": text, "why": "given", "at": None}

    def ask(self, ranges: deciding.Ranges, facts: list[str], text: str) -> Line | None:
        key = json.dumps([ranges, facts, text])
        if key in self.known:
            return self.known[key]
        try:
            label = deciding.decide(ranges, facts, text)
        except (deciding.Mismatch, SyntaxError, meaning.NotTranslated, ZeroDivisionError, KeyError) as error:
            self.left_out.append(f"{text}   given {facts}: {error!r}")
            return None
        if label.truth == "unknown":
            self.left_out.append(f"{text}   given {facts}: unknown, {label.by}")
            return None
        line = {"op": "ask", "prop": text, "count": 1, "commits": False, "truth": label.truth, "by": label.by}
        if label.truth == "depends":
            line |= {"true_at": label.true_at, "false_at": label.false_at}
        return line | {"at": None}

    def session(self, block: written.Block) -> None:
        ranges: deciding.Ranges = {}
        facts: list[str] = []
        lines = [self.opening(block.name)]
        for line in block.lines:
            if declared := written.symbols(line):
                for name, lo, hi in declared:
                    ranges[name] = (lo, hi)
                    lines.append(self.symbol(name, lo, hi))
            elif line.startswith("given "):
                facts.append(line.removeprefix("given ").strip())
                lines.append(self.fact(facts[-1]))
            else:
                asks = [self.ask(ranges, facts, text) for text in self.written_out(ranges, facts, line)]
                lines += [asked for asked in asks if asked is not None]
        if any(line["op"] == "ask" for line in lines):
            self.questions += lines

    def written_out(self, ranges: deciding.Ranges, facts: list[str], line: str) -> list[str]:
        """The questions that a line stands for."""
        if line.startswith("tight "):
            expression, _, numbers = line.removeprefix("tight ").partition(":")
            lo, hi = numbers.strip().split("..") if numbers else deciding.extremes(ranges, facts, expression)
            low = [f"{expression} >= {lo}", f"{expression} == {lo}"] if lo not in ("", None) else []
            high = [f"{expression} <= {hi}", f"{hi} < {expression}"] if hi not in ("", None) else []
            return [" ".join(text.split()) for text in low + high]
        if "<=>" in line:
            p, q = (side.strip() for side in line.split("<=>"))
            return [f"not ({p}) or {bracketed(q)}", f"{bracketed(p)} or not ({q})"]
        if " ~ " in line:
            left, right = (side.strip() for side in line.split(" ~ "))
            second = ("!=", "<", ">")[len(line) % 3]
            return [f"{left} == {right}", f"{left} {second} {right}"]
        return [line]

    def parts(self, block: written.Block) -> tuple[deciding.Ranges, list[str]]:
        ranges: deciding.Ranges = {}
        constraints = []
        for line in block.lines:
            if declared := written.symbols(line):
                ranges |= {name: (lo, hi) for name, lo, hi in declared}
            else:
                constraints.append(line)
        return ranges, constraints

    def system(self, block: written.Block) -> None:
        """A system asked whole, and its last constraint asked of the others where they are consistent."""
        ranges, constraints = self.parts(block)
        declared = [self.symbol(name, lo, hi) for name, (lo, hi) in ranges.items()]
        whole = " and ".join(f"({text})" if " or " in text else text for text in constraints)
        if (asked := self.ask(ranges, [], whole)) is not None:
            self.questions += [self.opening(block.name), *declared, asked]
        if len(constraints) > 1:
            kept = len(self.left_out)
            asked = self.ask(ranges, constraints[:-1], constraints[-1])
            if asked is not None:
                given = [self.fact(text) for text in constraints[:-1]]
                self.questions += [self.opening(f"{block.name}, the last asked"), *declared, *given, asked]
            elif "no assignment satisfies" in self.left_out[-1]:
                del self.left_out[kept:]  # contradictory without the last already
        self.facts(block)

    def facts(self, block: written.Block) -> None:
        ranges, facts = self.parts(block)
        consistent, by, witness = self.consistency(ranges, facts)
        if consistent is None:
            self.left_out.append(f"{facts}: consistency unknown")
            return
        more: Line = {"consistent": consistent, "by": by}
        if consistent:
            more["witness"] = witness
        self.sets.append(self.opening(block.name, **more))
        self.sets += [self.symbol(name, lo, hi) for name, (lo, hi) in ranges.items()]
        self.sets += [self.fact(text) for text in facts]

    def consistency(
        self, ranges: deciding.Ranges, facts: list[str]
    ) -> tuple[bool | None, str, deciding.Assignment | None]:
        if any(lo is not None and hi is not None and lo > hi for lo, hi in ranges.values()):
            return False, "empty range", None
        if deciding.box_size(ranges) <= deciding.BOX:
            for values in deciding.whole_box(ranges):
                if deciding.satisfied(facts, values):
                    return True, "evaluation", values
            return False, "enumeration", None
        reason, values = deciding.Case(ranges, facts).impossible([])
        if values is not None:
            return True, "evaluation", values
        if reason:
            return False, reason, None
        for values in deciding.some_points(ranges, 20_000, seed=1):
            if deciding.satisfied(facts, values):
                return True, "evaluation", values
        return None, "", None

    def simplify(self, block: written.Block) -> None:
        ranges: deciding.Ranges = {}
        facts: list[str] = []
        for line in block.lines:
            if declared := written.symbols(line):
                ranges |= {name: (lo, hi) for name, lo, hi in declared}
            elif line.startswith("given "):
                facts.append(line.removeprefix("given ").strip())
            else:
                expression, best = (side.strip() for side in line.split("=>"))
                label = self.ask(ranges, facts, f"({expression}) == ({best})")
                if label is None or label["truth"] != "always":
                    self.left_out.append(f"{line}   given {facts}: not equal, {label}")
                    continue
                self.simplified.append({
                    "op": "simplify", "name": f"{self.family}: {block.name}", "symbols": ranges, "facts": list(facts),
                    "expr": expression, "best": best, "operators": operators(best), "by": label["by"],
                })  # fmt: skip

    def outputs(self) -> dict[pathlib.Path, list[Line]]:
        files = {HERE / f"{self.family}.jsonl": self.questions + self.simplified}
        files[HERE / f"{self.family}-sets.jsonl"] = self.sets
        return {path: lines for path, lines in files.items() if lines}


def bracketed(text: str) -> str:
    return f"({text})" if " or " in text or " and " in text else text


def operators(text: str) -> int:
    """Count the operators of the text: arithmetic, comparisons, choices, signs of non-literals, calls (n arguments
    count n - 1, at least one).
    """

    count = 0
    for node in ast.walk(meaning.parsed(text)):
        match node:
            case ast.BinOp() | ast.IfExp():
                count += 1
            case ast.UnaryOp(operand=ast.Constant()):
                pass
            case ast.UnaryOp():
                count += 1
            case ast.Call():
                count += max(1, len(node.args) - 1)
            case ast.BoolOp():
                count += len(node.values) - 1
            case ast.Compare():
                count += len(node.ops)
    return count


def known_answers(path: pathlib.Path) -> dict[str, Line]:
    """The labels in a file from an earlier run, by everything they depend on: labelling again costs nothing."""
    answers: dict[str, Line] = {}
    if not path.exists():
        return answers
    ranges: dict[str, Any] = {}
    facts: list[str] = []
    for text in path.read_text().splitlines():
        line = json.loads(text)
        match line["op"]:
            case "session":
                ranges, facts = {}, []
            case "symbol":
                ranges[line["name"]] = (line["lo"], line["hi"])
            case "assume":
                facts.append(line["prop"])
            case "ask":
                answers[json.dumps([ranges, facts, line["prop"]])] = line
    return answers


def differences(path: pathlib.Path, lines: list[Line]) -> int:
    """Prints and counts the labels that came out otherwise than in the file; time limits may leave some out."""

    def labels(found: list[Line]) -> dict[str, Any]:
        known: dict[str, Any] = {}
        setting: list[Any] = []
        for line in found:
            match line["op"]:
                case "session":
                    setting = []
                    known[f"consistency of {line['name']}"] = line.get("consistent")
                case "ask":
                    known[json.dumps([*setting, line["prop"]])] = line["truth"]
                case "simplify":
                    known[line["expr"] + json.dumps(line["facts"])] = line["best"]
                case _:
                    setting.append(line)
        return known

    old, new = labels([json.loads(text) for text in path.read_text().splitlines()]), labels(lines)
    for key in sorted(old.keys() - new.keys()):
        print(f"{path.name}: not settled this time: {key[-200:]}")
    wrong = [key for key in new if old.get(key, "absent") != new[key]]
    for key in wrong:
        print(f"{path.name}: {new[key]} instead of {old.get(key, 'absent')}: {key}")
    return len(wrong)


def second_opinion(path: pathlib.Path) -> int:
    """Asks cvc5 about the labels that rest on z3; prints and counts the ones it contradicts."""
    ranges: deciding.Ranges = {}
    facts: list[str] = []
    answers: collections.Counter[str] = collections.Counter()
    for number, text in enumerate(path.read_text().splitlines(), 1):
        line = json.loads(text)
        match line["op"]:
            case "session":
                ranges, facts = {}, []
            case "symbol":
                ranges[line["name"]] = (line["lo"], line["hi"])
            case "assume":
                facts.append(line["prop"])
            case "ask" if line["by"].startswith("z3"):
                denied = f"not ({line['prop']})" if line["truth"] == "always" else line["prop"]
                answer = deciding.Case(ranges, facts).answer_of_cvc5([denied], seconds=3)
                answers[answer] += 1
                if answer == "sat":
                    print(f"{path.name}:{number}: cvc5 contradicts {line}")
    print(path.name, dict(answers), flush=True)
    return answers["sat"]


def main(arguments: list[str]) -> int:
    if "--second" in arguments:
        return 1 if sum(second_opinion(path) for path in sorted(HERE.glob("*.jsonl"))) else 0
    anew = "--check" in arguments or "--anew" in arguments
    files = [pathlib.Path(argument) for argument in arguments if not argument.startswith("--")]
    wrong = 0
    for source in files or sorted((HERE / "written").glob("*.cases")):
        known = {} if anew else known_answers(HERE / f"{source.stem}.jsonl")
        labeller = Labeller(source.stem, known=known)
        for block in written.blocks(source.read_text()):
            getattr(labeller, block.kind)(block)
        for path, lines in labeller.outputs().items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            if "--check" in arguments:
                wrong += differences(path, lines)
            else:
                path.write_text(text)
            counts = collections.Counter(
                line.get("truth", line.get("consistent", line["op"])) for line in lines
                if line["op"] in ("ask", "simplify") or "consistent" in line
            )  # fmt: skip
            print(path.name, dict(counts), flush=True)
        for text in labeller.left_out:
            print("left out:", text)
        wrong += 0 if "--check" in arguments else len(labeller.left_out)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
