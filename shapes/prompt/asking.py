"""One question from a command line: facts and a proposition in, a verdict and an exit status out.

>>> answer_question("n*n <= 64", [], ["n=-8..8"])
always    because  -8 <= n <= 8
0
>>> answer_question("s % 64 == 0", ["s % 16 == 0"], [])
depends   true at s=64   false at s=16
2
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, Literal

from shapes.env import ShapeEnv
from shapes.errors import Contradiction, Undefined
from shapes.prompt import display
from shapes.prompt.evidence import reasons_page
from shapes.prompt.foreign import advised
from shapes.prompt.grammar import Symbol, check_name, read_range
from shapes.prompt.page import line, show, span
from shapes.sessions.long_json import dumps
from shapes.size_names import names_in
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import NotExported, ParseError, ShapeError
from solver.proofs.fact import Fact

STATUS: Final = {"always": 0, "never": 1, "depends": 2, "gave up": 3}
CONTRADICTION: Final = 4
"""The facts contradict each other, or the question is defined nowhere."""
USAGE: Final = 64


def read_symbol(text: str) -> Symbol:
    """`NAME=LO..HI`, `NAME=LO..HI:MULTIPLE` or `NAME=SIZE`; an end that is left out is unbounded.

    >>> read_symbol("i=-1..")
    Symbol(name='i', kind='backed', lo=-1, hi=None, hint=None, multiple=1)
    """
    name, equals, values = text.partition("=")
    fault = check_name(name)
    if not equals:
        raise ParseError("expected NAME=LO..HI, NAME=LO..HI:MULTIPLE or NAME=SIZE", text, 0)
    if fault is not None:
        raise ParseError(fault, text, 0)
    lo, hi, multiple = read_range(values, text, len(name) + 1)
    return Symbol(name, "backed", lo, hi, multiple=multiple)


def answer_question(
    question: str,
    given: Sequence[str],
    ranges: Sequence[str],
    *,
    as_json: bool = False,
    why: bool = False,
    export: Literal["coq"] | None = None,
    solvers: bool = True,
) -> int:
    """Print the answer; the result is the exit status."""
    env = ShapeEnv(origin=lambda: None, solvers=solvers)
    text = ""
    try:
        for text in ranges:
            symbol = read_symbol(text)
            env.symbol(symbol.name, symbol.lo, symbol.hi)
            if symbol.multiple > 1:
                env.assume(f"{symbol.name} % {symbol.multiple} == 0")
        for text in [*given, question]:
            for name in names_in(text):
                if name.isidentifier() and name not in env.names:
                    env.symbol(name)
        for text in given:
            env.assume(text)
        env.check_consistent()
        text = question
        verdict = env.ask(question, effort="thorough")
    except (Contradiction, Undefined) as error:
        return _no_answer(error, as_json=as_json)
    except ShapeError as error:
        page = display.error_page(advised(error) if isinstance(error, ParseError) and text not in ranges else error)
        if not isinstance(error, ParseError):
            page = [*page, line(f"  {text}")]
        show(page, sys.stderr)
        return USAGE
    name, where = display.verdict_name(verdict), display.obligation(env, question)
    if export is not None:
        try:
            print(verdict.export(export), end="")
        except NotExported as error:
            show(display.error_page(error), sys.stderr)
            return STATUS["gave up"]
    elif as_json:
        print(dumps({**json_of(verdict), "where": where}))
    else:
        show(display.verdict_page(verdict, label=_unnumbered, first=names_in(question), where=where), sys.stdout)
        if why:
            show(reasons_page(env, verdict, question, label=_unnumbered), sys.stdout)
    return STATUS[name]


def _unnumbered(_: Fact) -> str:
    return ""


def _no_answer(error: Contradiction | Undefined, *, as_json: bool) -> int:
    """Facts that cannot hold together, or a question that is undefined under them."""
    core = error.core if isinstance(error, Contradiction) else ()
    if as_json:
        answer = {"verdict": "gave_up", "rung": "facts", "core": [fact.text for fact in core]}
        nothing = dict.fromkeys(("true_at", "false_at", "checked", "where"))
        print(dumps({**answer, **nothing, "reason": str(error).splitlines()[0]}))
    elif isinstance(error, Contradiction):
        show(display.conflict_page(error.message, core, label=_unnumbered), sys.stdout)
    else:
        show([line(span("gave up ", "gave up"), f"  {error}")], sys.stdout)
    return CONTRADICTION


def json_of(verdict: Verdict) -> dict[str, object]:
    """A verdict as data; the core is the text of its facts."""
    answer: dict[str, object] = {
        "verdict": display.verdict_name(verdict).replace(" ", "_"),
        "rung": verdict.rung,
        "core": None,
        "true_at": None,
        "false_at": None,
        "reason": None,
        "checked": verdict.check(),
    }
    match verdict:
        case Always(core=core) | Never(core=core):
            answer["core"] = [fact.text for fact in core]
        case Depends(true_at=true_at, false_at=false_at):
            answer |= {"true_at": true_at, "false_at": false_at}
        case GaveUp(reason=reason):
            answer["reason"] = reason
    return answer
