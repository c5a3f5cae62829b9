"""Statements of MLIR about integers, as sizes and facts, and what is known of a size in the same syntax.

    >>> from frontends.mlir.statements import assumption_of, read
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> sizes = read(env, '''
    ...     %0 = util.assume.int %arg0<umin = 16, umax = 4096, udiv = 16> : index
    ...     %1 = affine.apply affine_map<(d0) -> (d0 ceildiv 4 + 8)>(%0)
    ... ''')
    >>> assumption_of(env, sizes["1"])
    '<umin = 12, umax = 1032, udiv = 4>'

Several rows of assumptions, `[<umin = 0, umax = 0>, <umin = 8, udiv = 8>]`, say that one of them holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from frontends.mlir.affine import read_map
from shapes.accepted import shown
from shapes.env import ShapeEnv
from shapes.environment.symbols import free_name
from shapes.errors import Contradiction, ParseError, ShapeError
from shapes.prompt.solving import optimum
from shapes.symbolic.choices import Int, Truth, sym_and, sym_max, sym_min, sym_or
from shapes.symbolic.numbers import SymInt
from solver.decide.verdict import Always, Depends

ROUNDS: Final = 64
"""Questions about one divisor; each that fails at least halves it."""

OPERATIONS: Final = r"util\.assume\.int|affine\.apply|affine\.min|affine\.max|arith\.constant"
STATEMENT: Final = re.compile(rf"^\s*(?:%([\w$.-]+)(?::\d+)?\s*=\s*)?({OPERATIONS})\b(.*)$")
ASSUMED: Final = re.compile(r"\s*,?\s*%([\w$.#-]+)\s*(?:<([^<>]*)>|\[([^\[\]]*)\])")
ROW: Final = re.compile(r"\s*,?\s*<([^<>]*)>")
FIELD: Final = re.compile(r"(umin|umax|udiv)\s*=\s*(\d+)")
APPLIED: Final = re.compile(r"\s*(?:affine_map)?<(.*)>\s*\(([^()]*)\)\s*(?:\[([^\[\]]*)\])?\s*$")


def read(env: ShapeEnv, text: str) -> dict[str, Int]:
    """Read `util.assume.int`, `affine.apply`, `affine.min`, `affine.max` and `arith.constant`, one a line, and assume
    what they say. The sizes by name, without `%`: operands that the environment lacks are declared. Other lines are
    passed over.

    Raises:
        ParseError: a line is none that MLIR accepts.
        Contradiction: it contradicts what is known.
    """
    if not isinstance(text, str):
        raise ShapeError(f"text={shown(text)}: expected lines of MLIR")
    found: dict[str, Int] = {}
    for line in text.splitlines():
        statement = STATEMENT.match(line.partition("//")[0])
        if statement is None:
            continue
        name, operation, rest = statement.groups()
        match operation:
            case "util.assume.int":
                results = list(_assume(env, rest, found))
            case "affine.apply" | "affine.min" | "affine.max":
                results = [_applied(env, operation, rest, found)]
            case _:
                results = [_constant(rest)]
        if name is not None:
            found.update({name: results[0]} if len(results) == 1 else {f"{name}#{i}": r for i, r in enumerate(results)})
    return found


def _operand(env: ShapeEnv, name: str, found: dict[str, Int], lo: int | None) -> Int:
    if name not in found:
        free = free_name(name, env.names, "v")
        found[name] = env.size(name) if name in env.names else env.symbol(free, lo=lo, source=f"%{name}")
    return found[name]


def _assume(env: ShapeEnv, text: str, found: dict[str, Int]) -> Iterator[Int]:
    position = 0
    while (match := ASSUMED.match(text, position)) is not None:
        size = _operand(env, match[1], found, 0)
        rows = [match[2]] if match[2] is not None else ROW.findall(match[3])
        if not rows:
            raise ParseError("expected at least one row of assumptions", text, position)
        facts = [_row(size, row, text) for row in rows]
        for fact in facts[0] if len(facts) == 1 else [sym_or(False, *[sym_and(True, *row) for row in facts])]:
            if fact is not True:
                env.assume(fact)
        position = match.end()
        yield size
    if position == 0 or not re.fullmatch(r"\s*(:.*)?", text[position:]):
        raise ParseError("expected `%name<umin = 1, umax = 64, udiv = 16>`", text, position)


def _row(size: Int, text: str, line: str) -> list[Truth]:
    """One row of assumptions about a size."""
    fields = {name: int(value) for name, value in FIELD.findall(text)}
    if re.sub(r"[\s,]", "", FIELD.sub("", text)) or fields.get("udiv") == 0:
        raise ParseError(f"expected umin, umax and a positive udiv, not `{text}`", line, max(line.find(text), 0))
    said: list[Truth] = [size >= fields.get("umin", 0)]
    if "umax" in fields:
        said.append(size <= fields["umax"])
    if "udiv" in fields:
        said.append(size % fields["udiv"] == 0)
    return said


def _applied(env: ShapeEnv, operation: str, text: str, found: dict[str, Int]) -> Int:
    match = APPLIED.match(text)
    if match is None:
        raise ParseError(f"expected `{operation} affine_map<...>(%x)[%y]`", text, 0)
    operands = [re.findall(r"%([\w$.#-]+)", part or "") for part in (match[2], match[3])]
    dims, symbols = ([_operand(env, name, found, None) for name in names] for names in operands)
    results = read_map(match[1]).apply(env, dims, symbols)
    if not results or (operation == "affine.apply" and len(results) != 1):
        raise ParseError(f"a map of {len(results)} results for `{operation}`", text, 0)
    return sym_min(*results) if operation == "affine.min" else sym_max(*results)


def _constant(text: str) -> int:
    match = re.match(r"\s*(-?\d+)\s*(:.*)?$", text)
    if match is None:
        raise ParseError("expected an integer", text, 0)
    return int(match[1])


def assumption_of(env: ShapeEnv, size: Int) -> str:
    """The bounds and the divisor of a size, as `util.assume.int` writes it: bounds only where it is not negative."""
    lo, hi = (size, size) if isinstance(size, int) else _bounds(env, size)
    fields = [] if lo is None or lo < 0 else [f"umin = {lo}", *([] if hi is None else [f"umax = {hi}"])]
    divisor = divisor_of(env, size)
    if divisor > 1:
        fields.append(f"udiv = {divisor}")
    return f"<{', '.join(fields)}>"


def _bounds(env: ShapeEnv, size: SymInt) -> tuple[int | None, int | None]:
    """The least and the greatest value, as far as was proven."""
    try:
        least, greatest = (optimum(env, str(size), greatest=each).bound for each in (False, True))
    except Contradiction:
        raise
    except ShapeError:  # no sizes were found that satisfy the facts
        return env.bounds(size)
    return least, greatest


def divisor_of(env: ShapeEnv, size: Int) -> int:
    """The largest number found that divides a size wherever the facts hold; 0 if the size is 0, which all divide."""
    if isinstance(size, int):
        return abs(size)
    canonical = env.known.canonical(size.expr)[0]
    proven = math.gcd(canonical.constant, *[factor for _, factor in canonical.terms])
    candidate = 0
    for _ in range(ROUNDS):
        if candidate and proven % candidate == 0:
            break
        match env.ask(size == 0 if candidate == 0 else size % candidate == 0):
            case Always():
                return candidate
            case Depends(false_at=sizes):
                candidate = math.gcd(candidate, _at(size, sizes))
            case _:
                model = env.check_consistent()
                if candidate or model is None:
                    return proven
                candidate = abs(_at(size, model))
    return proven


def _at(size: SymInt, sizes: Mapping[str, int]) -> int:
    return size.expr.evaluate({atom: sizes.get(atom.name, 0) for atom in size.expr.symbols})


__all__ = ["assumption_of", "divisor_of", "read"]
