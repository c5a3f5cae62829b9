"""Break the rules of operators mechanically; the comparison with the real operator must notice.

    python -m tests.mutate_rules [--count 300 | --all] [--seed 0] [--family conv] [--examples 200] [--shrink]
                                 [--survivors FILE] [--only FILE] [--minutes 10]

Each mutation changes one place in the syntax tree of a file of `shapes/rules`: a constant off by one, another axis, a
quotient rounded the other way, an argument forgotten, a requirement dropped, a comparison moved, min and max swapped, a
sum for a difference. The code of the functions that it changes is replaced in this process, and the rules that run them
are put to generated calls, whose answers torch has given once: the sizes, and the strides of views. A
mutation that none of 200 different calls of an operator shows survives and is listed: it is equivalent, or the
arguments have a hole. Those that are equivalent stand in `justified_rule_mutations.txt`, each with the reason.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType

from hypothesis import HealthCheck, Phase, given, settings

from shapes.rules import Rule, rules
from shapes.testing.agreement import Sizes, disagreement
from shapes.testing.arguments import arguments_for, operators_with_arguments
from shapes.testing.calls import Call
from shapes.testing.checking import RuleDisagrees, check_rule
from tests.mutate import Place, changed, functions_below, in_place, place_of
from tests.rule_mutations import FOLDER, NOT_RULES, Mutant, chosen, mutants
from tests.shapes.rules.test_strides import VIEWS, by_rule, by_torch

PROBES = 40
"""The number of calls of each operator that show which functions it runs."""
OPERATORS = 12
"""A function that many operators share is judged by so many of them."""
JUSTIFIED = Path(__file__).with_name("justified_rule_mutations.txt")


class Library:
    """The functions of the rules as they are in this process."""

    def __init__(self) -> None:
        self.functions = functions_below(FOLDER)
        self.caches = [
            each
            for module in list(sys.modules.values())
            if str(getattr(module, "__file__", None)).startswith(str(FOLDER))
            for each in vars(module).values()
            if hasattr(each, "cache_clear")
        ]

    def forget(self) -> None:
        """Drop what functions remember of their answers."""
        for cache in self.caches:
            cache.cache_clear()

    def replaced(self, mutant: Mutant) -> dict[FunctionType, CodeType]:
        """The functions whose code a mutant changes, each with the new code."""
        return in_place(self.functions, changed(mutant.file, mutant.tree))


# ---------------------------------------------------------------------- operators and their calls


def functions_run(action: Callable[[], object]) -> set[Place]:
    """The functions of the rules that run."""
    seen: set[Place] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_filename.startswith(str(FOLDER)):
                seen.add(place_of(code))

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def generated(name: str, count: int) -> list[Call]:
    """The first different calls that the agreement test makes; half of what it makes it has made before."""
    found: dict[str, Call] = {}

    @settings(
        max_examples=3 * count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments_for(name))
    def keep(call: Call) -> None:
        found.setdefault(repr(call), call)

    keep()
    return list(found.values())[:count]


class Operators:
    """The operators with arguments, one for each function that is a rule, and what torch answers."""

    def __init__(self, examples: int, families: Sequence[str]) -> None:
        from shapes.testing.references.torch_eager import torch_eager

        self.examples = examples
        self.torch_eager = torch_eager
        self._answers: dict[str, list[tuple[Call, Sizes | None]]] = {}
        self._layouts: dict[tuple[str, int], object] = {}
        self.runs: dict[Place, list[str]] = {}
        chosen: dict[FunctionType | str, str] = {}
        for name in sorted(set(operators_with_arguments()) & set(rules)):
            rule = rules[name]
            key = rule.function if isinstance(rule.function, FunctionType) else name
            if not families or any(family in rule.family for family in families):
                chosen.setdefault(key, name)
        self.names = list(chosen.values())
        for name in self.names:
            self._probe(rules[name])

    def _probe(self, rule: Rule) -> None:
        calls = generated(rule.name, PROBES)

        def run() -> None:
            for call in calls:
                disagreement(rule, call, None)

        for place in functions_run(run):
            self.runs.setdefault(place, []).append(rule.name)

    def answers(self, name: str) -> list[tuple[Call, Sizes | None]]:
        """Calls of an operator, each with the sizes that torch gives."""
        if name not in self._answers:
            reference = self.torch_eager(name)
            answers = [(call, reference(call)) for call in generated(name, self.examples)]
            self._answers[name] = [pair for pair in answers if disagreement(rules[name], *pair, numbers=True) is None]
        return self._answers[name]

    def misplaced(self, name: str, call: Call) -> bool:
        """Return True if a rule gives other strides of a view than torch, or fails."""
        if name not in VIEWS or (name == "getitem" and len(list(call.inputs())) > 1):  # what tensors pick is a copy
            return False
        key = name, id(call)
        if key not in self._layouts:
            self._layouts[key] = by_torch(name, call)
        try:
            return bool(by_rule(name, call) != self._layouts[key])
        except Exception:
            return True

    def judging(self, mutant: Mutant, changed: Sequence[FunctionType]) -> list[str]:
        """The operators that run a changed function, those first whose rule it is."""
        found: dict[str, None] = {}
        for function in changed:
            for name in self.runs.get(place_of(function.__code__), []):
                found[name] = None
        own = {name for name in found if rules[name].function in changed}
        if not found:  # the calls that were looked at take another way
            found = dict.fromkeys([name for name in self.names if rules[name].family == mutant.file.stem])
        # few functions in common: an operator of its own for this one
        return sorted(found, key=lambda name: (name not in own, rules[name].family != mutant.file.stem, name))


@dataclass
class Result:
    """The fate of a mutant: the examples that it took and the operator that noticed, or None."""

    mutant: Mutant
    examples: int | None
    operator: str = ""
    smallest: str = ""


def judged(
    mutant: Mutant, changed: dict[FunctionType, CodeType], operators: Operators, forget: Callable[[], None], *,
    shrink: bool,
) -> Result:  # fmt: skip
    """Put a mutant in place and look for a call that shows it."""
    names = operators.judging(mutant, list(changed))[:OPERATORS]
    answers = {name: operators.answers(name) for name in names}
    forget()
    originals = {function: function.__code__ for function in changed}
    try:
        for function, code in changed.items():
            function.__code__ = code
        for name in names:
            for count, (call, expected) in enumerate(answers[name], 1):
                if disagreement(rules[name], call, expected, numbers=True) or operators.misplaced(name, call):
                    smallest = ""
                    if shrink:
                        try:
                            check_rule(rules[name], operators.torch_eager(name), calls=arguments_for(name),
                                       examples=operators.examples)  # fmt: skip
                        except RuleDisagrees as found:
                            smallest = str(found.disagreement)
                    return Result(mutant, count, name, smallest)
    finally:
        for function, code in originals.items():
            function.__code__ = code
    return Result(mutant, None, ", ".join(names))


def justified() -> dict[str, str]:
    """The mutations that no call can show, each with the reason."""
    lines = JUSTIFIED.read_text().splitlines() if JUSTIFIED.exists() else []
    pairs = [line.partition(" | ") for line in lines if line and not line.startswith("#")]
    return {key.strip(): reason.strip() for key, _, reason in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--all", action="store_true", help="every mutation there is")
    parser.add_argument("--seed", type=int, default=0, help="which mutations are picked")
    parser.add_argument("--minutes", type=float, help="try no further one after so many")
    parser.add_argument("--only", type=Path, help="those in a file of survivors")
    parser.add_argument("--family", default="", help="files whose name has one of these words, with commas between")
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--shrink", action="store_true", help="show the smallest call that notices each")
    parser.add_argument("--survivors", type=Path, help="write the mutations that nobody noticed to a file")
    options = parser.parse_args()
    words = [word for word in options.family.split(",") if word]
    begin = time.perf_counter()
    len(rules)
    files = [
        file
        for file in sorted(FOLDER.glob("*.py"))
        if file.stem not in NOT_RULES and (not words or any(word in file.stem for word in words))
    ]
    equivalent = justified()
    every = [mutant for file in files for mutant in mutants(file) if mutant.key not in equivalent]
    if options.only is not None:
        wanted = {line.partition(" | ")[0] for line in options.only.read_text().splitlines()}
        every = [mutant for mutant in every if mutant.key in wanted]
    picked = every if options.all or options.only else chosen(every, options.count, options.seed)
    library = Library()
    operators = Operators(options.examples, words)
    print(f"{len(every)} mutations beside {len(equivalent)} justified ones, {len(picked)} of them tried", flush=True)
    print(f"{len(operators.names)} operators", flush=True)
    results: list[Result] = []
    for mutant in picked:
        if options.minutes and time.perf_counter() - begin > 60 * options.minutes:
            break
        changed = library.replaced(mutant)
        result = judged(mutant, changed, operators, library.forget, shrink=options.shrink)
        library.forget()
        results.append(result)
        if result.examples is None:
            print(f"SURVIVED {mutant}   [{result.operator or 'no operator runs it'}]", flush=True)
        elif options.shrink:
            print(f"noticed  {mutant}\n         {result.smallest}", flush=True)
    report(results, time.perf_counter() - begin, options.survivors)


def report(results: Sequence[Result], took: float, survivors: Path | None) -> None:
    """The mutants that were noticed, by kind, and those that were not."""
    kinds = Counter(result.mutant.kind.partition(" for ")[0] for result in results)
    noticed = [result.examples for result in results if result.examples is not None]
    alive = [result for result in results if result.examples is None]
    lost = Counter(result.mutant.kind.partition(" for ")[0] for result in alive)
    for kind, count in sorted(kinds.items()):
        print(f"{count - lost[kind]:5} of {count:5} noticed  {kind}")
    if noticed:
        print(f"{len(noticed)} of {len(results)} noticed ({len(noticed) / len(results):.1%}) in {took:.0f} s; examples "
              f"needed: {statistics.median(noticed):.0f} at the median, {max(noticed)} at most")  # fmt: skip
    if survivors is not None:
        survivors.write_text("".join([f"{result.mutant.key} | {result.operator}\n" for result in alive]))
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
