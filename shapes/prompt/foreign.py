"""Advice to people who know another system: a word or operator of SMT-LIB, z3, isl, sympy or mathematics, and ours.

>>> advice("(check-sat)")
(0, 'instead of `check-sat` write `check`')
>>> advice("prove b > 2")
(0, 'instead of `prove` write `ask b*s >= b`')
>>> advice("assume b > 2 && s > 3")
(13, 'instead of `&&` write `and`')
>>> advice("assume b > 2")
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Final

from solver.errors import ParseError

COMMANDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("declare", "declare-const", "declare-fun", "var", "vars", "const", "symbols", "int", "Int", "Ints", "Symbol"),
        "`sizes b s`, or `symbol n lo=none` for an integer of either sign",
    ),
    **dict.fromkeys(("assert", "add", "given", "require", "suppose", "constraint", "fact"), "`assume b > 2`"),
    **dict.fromkeys(("prove", "entails", "query", "valid", "theorem", "goal", "is"), "`ask b*s >= b`"),
    **dict.fromkeys(("check-sat", "sat", "satisfiable", "consistent", "empty", "is_empty"), "`check`"),
    **dict.fromkeys(
        ("get-model", "sample", "witness", "example", "point", "sample_point", "satisfy", "find"),
        "`model`, or `model b > 2` for sizes with b > 2",
    ),
    **dict.fromkeys(("get-unsat-core", "unsat_core", "core", "proof", "get-proof", "explain"), "`why`"),
    **dict.fromkeys(("get-assertions", "assertions", "list", "show", "context", "assumptions", "known"), "`facts`"),
    **dict.fromkeys(("min", "lexmin", "inf", "infimum", "minimum", "lower"), "`minimize b*s`"),
    **dict.fromkeys(("max", "lexmax", "sup", "supremum", "maximum", "upper"), "`maximize b*s`"),
    **dict.fromkeys(("range", "interval", "bound", "lb", "ub"), "`bounds b*s`"),
    **dict.fromkeys(
        ("expand", "factor", "collect", "cancel", "together", "apart", "nsimplify", "coalesce", "gist", "normalize"),
        "`simplify (4*s + 3) // 4`",
    ),
    **dict.fromkeys(("eval", "get-value", "evalf", "subs", "substitute", "replace"), "`evaluate b*s at b=4 s=16`"),
    **dict.fromkeys(("define", "define-fun", "define-const", "def", "set"), "`let n = s // 4`"),
    **dict.fromkeys(("del", "delete", "remove", "retract", "forget", "unassume"), "`drop 2`, by the line's number"),
    **dict.fromkeys(("clear", "restart", "new"), "`reset`"),
    **dict.fromkeys(("linsolve", "solveset", "diophantine", "nonlinsolve", "eliminate"), "`solve 2*x + 3 == b for x`"),
    **dict.fromkeys(("write", "dump"), "`save session.jsonl`"),
    **dict.fromkeys(("read", "open", "source", "include"), "`load session.jsonl`"),
    **dict.fromkeys(("print", "echo", "value"), "an expression alone prints its bounds and its simplest form"),
    **dict.fromkeys(("history",), "`facts`, which has the lines; the arrow keys go through what was typed"),
    **dict.fromkeys(("card", "cardinality", "count"), "not asked here; `bounds` and `maximize` are about one value"),
    **dict.fromkeys(
        ("set-logic", "set-option", "set-info", "timeout"),
        "not needed here: every question is about integers, and has a budget",
    ),
    **dict.fromkeys(
        ("ForAll", "exists", "Exists"),
        "not written here: `ask` is about all sizes that the facts allow, and `model P` looks for one",
    ),
}
"""The words that begin a line of other systems, with what says the same here."""

OURS_AS_CALLS: Final = ("ask", "solve", "simplify", "model", "check", "push", "pop", "minimize", "maximize", "assume")
"""Our own commands, as other systems call them: `s.push()`, `(push)`, `solve(...)`."""

FUNCTIONS: Final[Mapping[str, str]] = {
    "Implies": "`p => q`",
    "implies": "`p => q`",
    "And": "`p and q`",
    "Or": "`p or q`",
    "Not": "`not p`",
    "Xor": "`(p) != (q)`",
    "xor": "`(p) != (q)`",
    "Equivalent": "`(p) == (q)`",
    "iff": "`(p) == (q)`",
    "Eq": "`a == b`",
    "Ne": "`a != b`",
    "Distinct": "`a != b`",
    "Lt": "`a < b`",
    "Le": "`a <= b`",
    "Gt": "`a > b`",
    "Ge": "`a >= b`",
    "Mod": "`a % b`",
    "mod": "`a % b`",
    "div": "`a // b`",
    "FloorDiv": "`a // b`",
    "CeilDiv": "`ceildiv(a, b)`",
    "ceiling": "`ceil(a / b)`, or `ceildiv(a, b)`",
    "Min": "`min(a, b)`",
    "Max": "`max(a, b)`",
    "Abs": "`abs(a)`",
    "Pow": "`a**2`",
    "lcm": "`a*b // gcd(a, b)`",
    "If": "`a if p else b`",
    "ite": "`a if p else b`",
    "Piecewise": "`a if p else b`",
    "ITE": "`a if p else b`",
    "Sum": "write the sum out",
    "prod": "write the product out",
}
"""Functions of other systems."""

OPERATORS: Final = (
    (re.compile(r"&&|∧|/\\"), "and"),
    (re.compile(r"\|\||∨|\\/"), "or"),
    (re.compile(r"<=>|<->|⇔|≡"), "(p) == (q)"),
    (re.compile(r"->|⇒|→|==>"), "p => q"),
    (re.compile(r"!(?!=)|¬|~(?=\s*\()"), "not"),
    (re.compile(r"<>|≠|/=|\\="), "!="),
    (re.compile(r"≤|=<"), "<="),
    (re.compile(r"≥"), ">="),
    (re.compile(r"\bmod\b(?!\()"), "%"),
    (re.compile(r"\bdiv\b(?!\()"), "//"),
    (re.compile(r"\biff\b(?!\()"), "(p) == (q)"),
    (re.compile(r"\bimplies\b(?!\()"), "p => q"),
    (re.compile(r"\bxor\b(?!\()"), "(p) != (q)"),
    (re.compile(r"·|×|⋅"), "*"),
    (re.compile(r"\bthen\b"), "a if p else b"),
)
"""Operators of other systems with what is written here."""

_CALL = re.compile(r"\s*(?:[^\W\d]\w*\s*=\s*)?(?:[^\W\d][\w, ]*=\s*)?(?:[^\W\d]\w*\.)?([^\W\d][\w]*)\s*\(")
_LISP = re.compile(r"\s*\(\s*([a-zA-Z][\w-]*)(?=[\s)])")
_SET = re.compile(r"\s*(?:\[[\w, ]*\]\s*->\s*)?\{.*\}\s*;?\s*$")
_DEFINITION = re.compile(r"\s*([^\W\d]\w*)\s*(:=|=(?![=><]))\s*(\S.*)$")
_WORD = re.compile(r"\s*([^\W\d][\w-]*)")
_CALLED = re.compile(r"([^\W\d]\w*)\s*\(")


def advice(line: str) -> tuple[int, str] | None:
    """The column of what another system writes, and how it is written here; None where nothing is known of it. For
    lines that are no command and no proposition of ours.
    """
    begin = len(line) - len(line.lstrip())
    if _SET.match(line):
        return begin, "sets are not written here: `sizes n i` and `assume 0 <= i < n` say that i is in [0, n)"
    lisp = _LISP.match(line)
    if lisp is not None and (lisp[1] in COMMANDS or lisp[1] in OURS_AS_CALLS):
        word = lisp[1]
        if word in OURS_AS_CALLS:
            return begin, f"commands have no parentheses here: `help {word}`"
        return begin, _instead(word, COMMANDS[word])
    call = _CALL.match(line)
    if call is not None and call[1] in (*COMMANDS, *OURS_AS_CALLS) and call[1] not in ("min", "max"):
        word = call[1]
        if word in OURS_AS_CALLS:
            return call.start(1), f"commands have no parentheses here: `help {word}`"
        return call.start(1), _instead(word, COMMANDS[word])
    defined = _DEFINITION.match(line)
    if defined is not None:
        return defined.start(2), f"`let {defined[1]} = {defined[3].rstrip()}` defines a name; equality is `==`"
    word_found = _WORD.match(line)
    if word_found is not None and word_found[1] in COMMANDS and line[word_found.end() :][:1] in ("", " ", "\t"):
        return begin, _instead(word_found[1], COMMANDS[word_found[1]])
    return advice_inside(line)


def advice_inside(line: str) -> tuple[int, str] | None:
    """The first operator or function of another system in a line, with its column."""
    found: list[tuple[int, str]] = []
    for pattern, ours in OPERATORS:
        match = pattern.search(line)
        if match is not None:
            found.append((match.start(), _instead(match[0], f"`{ours}`")))
    for match in _CALLED.finditer(line):
        if match[1] in FUNCTIONS:
            found.append((match.start(), _instead(match[1], FUNCTIONS[match[1]])))
    return min(found, default=None)


def advised(error: ParseError, commands: Container[str] = ()) -> ParseError:
    """The error in our words for what another system writes, if that is what it is about; `commands` are ours."""
    first = _WORD.match(error.text)
    ours = first is not None and first[1] in commands
    known = advice_inside(error.text) if ours else advice(error.text)
    return error if known is None else ParseError(known[1], error.text, known[0])


def _instead(word: str, ours: str) -> str:
    return f"instead of `{word}` write {ours}" if ours.startswith("`") else f"`{word}`: {ours}"


__all__ = ["advice", "advice_inside", "advised"]
