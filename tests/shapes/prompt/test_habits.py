"""Habits of other systems at the prompt: each line is answered, or the error names what is written here."""

import pytest

from shapes.prompt.foreign import COMMANDS, FUNCTIONS, OPERATORS, OURS_AS_CALLS, advice
from shapes.prompt.grammar import USAGE
from shapes.prompt.page import text_of_page
from shapes.prompt.session import Session

BEFORE = ("sizes b s=128 n=1..64", "symbol i=-8..8", "assume s % 16 == 0", "assume b >= 2")

ANSWERED = [
    ("push", ""),
    ("let t = s // 16", ""),
    ("b > 3 => b > 2", "always"),
    ("(b > 3) == (b >= 4)", "always"),
    ("n*s", "0 <= n*s"),
    ("(4*n + 3) // 4", "1 <= (4*n + 3) // 4 <= 64   simplifies to n"),
    ("model", "b="),
    ("model b*s > 64", "b="),
    ("model b > 9 and b < 5", "none"),
    ("check", "consistent"),
    ("minimize b", "2 at b=2"),
    ("minimize n*b", "2 at "),
    ("maximize i*i", "64 at i="),
    ("maximize b", "unbounded  above"),
    ("maximize s % 64", "48 at s="),
    ("solve 2*i + 3 == b for i", "i == "),
    ("solve n*b = s for n", "n == s//b   where s % b == 0"),
    ("solve i*i == 16", "i == -4 or i == 4"),
    ("solve(i + 4)", "i == -4"),
    ("evaluate b*s at b=4 s=16", "64"),
    ("evaluate b*s at b=4, s=16", "64"),
    ("evaluate b*s at b=4", "4*s"),
    ("gcd(s, 16) == 16", "always"),
    ("i ^ 1 == 0", "depends"),
    ("expect_true n <= 64", "follows already"),
    ("reset", ""),
    ("2 <= b <= 2**63 - 1 ?", "depends"),
    ("1 if b > 3 else 0", "0 <= "),
    ("simplify(4*n // 4)", "n"),
    ("bounds(n*n)", "1 <= (n*n) <= 4096"),
    ("drop 4", "dropped [4] assume b >= 2"),
]

TOLD = [
    ("(declare-const x Int)", "`sizes b s`"),
    ("(assert (> b 2))", "`assume b > 2`"),
    ("(check-sat)", "`check`"),
    ("(get-model)", "`model`"),
    ("(push)", "`help push`"),
    ("(pop 1)", "`help pop`"),
    ("(minimize b)", "`help minimize`"),
    ("(get-unsat-core)", "`why`"),
    ("(define-fun f () Int (+ b 1))", "`let n = s // 4`"),
    ("(set-logic QF_NIA)", "not needed"),
    ("(simplify (+ b b))", "`help simplify`"),
    ("x = Int('x')", "`sizes b s`"),
    ("x, y = Ints('x y')", "`sizes b s`"),
    ("x, y = symbols('x y', integer=True)", "`sizes b s`"),
    ("solver.add(b > 2)", "`assume b > 2`"),
    ("solver.check()", "`help check`"),
    ("solver.push()", "`help push`"),
    ("solver.model()", "`help model`"),
    ("prove(b > 2)", "`ask b*s >= b`"),
    ("prove b > 2", "`ask b*s >= b`"),
    ("assert b > 2", "`assume b > 2`"),
    ("satisfiable b > 2", "`check`"),
    ("Implies(b > 3, b > 2) ?", "`p => q`"),
    ("And(b > 3, s > 2)", "`p and q`"),
    ("Or(b > 3, s > 2)", "`p or q`"),
    ("Not(b > 3)", "`not p`"),
    ("Eq(b, s)", "`a == b`"),
    ("Mod(s, 16) == 0", "`a % b`"),
    ("ceiling(b / 4) >= 1", "`ceildiv(a, b)`"),
    ("Min(b, s) <= b", "`min(a, b)`"),
    ("If(b > 2, 1, 0) >= 0", "`a if p else b`"),
    ("Piecewise((b, b > 2)) > 1", "`a if p else b`"),
    ("lcm(b, s) >= b", "`a*b // gcd(a, b)`"),
    ("assume b > 2 && s > 3", "`and`"),
    ("b > 2 || s > 3", "`or`"),
    ("!(b > 2)", "`not`"),
    ("b > 3 -> b > 2", "`p => q`"),
    ("b > 3 <=> b >= 4", "`(p) == (q)`"),
    ("b <> 3", "`!=`"),
    ("b ≤ 3", "`<=`"),
    ("b =< 3", "`<=`"),
    ("b ≥ 3", "`>=`"),
    ("s mod 16 == 0", "`%`"),
    ("s div 16 == 2", "`//`"),
    ("b = 3", "`let b = 3` defines a name; equality is `==`"),
    ("k := 3", "`let k = 3`"),
    ("assume b = 3", "equality is `==`"),
    ("forall x: x >= 0", "`forall r < world: P`"),
    ("ForAll(x, x >= 0)", "`ask`"),
    ("exists x", "`model P`"),
    ("[n] -> { [i] : 0 <= i < n }", "`assume 0 <= i < n`"),
    ("{ [i] : 0 <= i < 8 }", "`assume 0 <= i < n`"),
    ("lexmin b", "`minimize b*s`"),
    ("lexmax b", "`maximize b*s`"),
    ("card b", "`bounds`"),
    ("sample b", "`model`"),
    ("expand (b + 1)*2", "`simplify"),
    ("factor(b*s + b)", "`simplify"),
    ("subs b 4", "`evaluate"),
    ("solveset(b - 4, b)", "`solve"),
    ("print b*s", "an expression alone"),
    ("define t s", "`let"),
    ("delete 3", "`drop 2`"),
    ("clear all", "`reset`"),
    ("assertions", "`facts`"),
    ("assumes b > 2", "`assume`"),
]


@pytest.mark.parametrize(("written", "answer"), ANSWERED)
def test_an_answer(written: str, answer: str) -> None:
    session = Session()
    for each in BEFORE:
        assert session.run(each).ok
    reply = session.run(written)
    assert reply.ok, text_of_page(reply.page)
    assert text_of_page(reply.page).startswith(answer)


@pytest.mark.parametrize(("written", "ours"), TOLD)
def test_an_error_that_names_ours(written: str, ours: str) -> None:
    session = Session()
    for each in BEFORE:
        assert session.run(each).ok
    number = session.number
    reply = session.run(written)
    assert not reply.ok and session.number == number
    assert ours in text_of_page(reply.page)


def test_advice_names_commands_that_there_are() -> None:
    """Each command that advice names begins with a word of `USAGE`."""
    for told in COMMANDS.values():
        for quoted in told.split("`")[1::2]:
            assert quoted.split()[0] in {*USAGE, "P"}, quoted
    assert set(OURS_AS_CALLS) <= set(USAGE)
    assert not set(COMMANDS) & set(USAGE)


def test_what_is_ours_gets_no_advice() -> None:
    """Operators and functions that advice is about are none of ours."""
    for text in ("a => b", "a != b", "not a", "min(a, b)", "(a) == (b)", "a if p else b", "a <= b", "a*b // gcd(a, b)"):
        assert advice(text) is None
    assert all(pattern.search("a <= b and b >= c => d != e") is None for pattern, _ in OPERATORS)
    assert not {"min", "max", "abs", "gcd", "floor", "ceil", "divides"} & set(FUNCTIONS)
