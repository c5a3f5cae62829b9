"""MLIR's maps and sets beside MLIR itself, and divisors beside those that IREE's analysis finds."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from frontends.mlir import assumption_of, divisor_of, read, read_map, read_set
from shapes import Always, Never, ShapeEnv
from shapes.errors import Contradiction, ParseError, ShapeError, Undefined

DIMS, SYMBOLS = ("d0", "d1"), ("s0",)
GRID = [(a, b, s) for a in (-17, -8, -1, 0, 1, 7, 16, 33) for b in (-5, 0, 3, 12) for s in (1, 2, 5)]


@pytest.fixture(scope="module")
def ir() -> Any:
    """MLIR's own parser and folder, as jaxlib has it."""
    found = pytest.importorskip("jaxlib.mlir.ir")
    with found.Context(), found.Location.unknown():
        yield found


def expression(draw: random.Random, depth: int, *, fixed: bool = False) -> str:
    """An affine expression; a fixed one has no dimensions."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice([*SYMBOLS, str(draw.randrange(20)), *(() if fixed else DIMS)])
    match draw.choice(["+", "-", "*", "negative", "floordiv", "ceildiv", "mod"]):
        case "negative":
            return f"-({expression(draw, depth - 1, fixed=fixed)})"
        case "*":
            parts = [expression(draw, depth - 1, fixed=True), expression(draw, depth - 1, fixed=fixed)]
            draw.shuffle(parts)
            return f"({parts[0]}) * ({parts[1]})"
        case "+" | "-" as sign:
            return f"{expression(draw, depth - 1, fixed=fixed)} {sign} {expression(draw, depth - 1, fixed=fixed)}"
        case division:
            return f"({expression(draw, depth - 1, fixed=fixed)}) {division} {draw.choice(['s0', '1', '2', '3', '16'])}"


def folded(ir: Any, results: Any, constants: tuple[int, ...], dims: int) -> list[int]:
    """The values that MLIR folds expressions to at constants."""
    expressions = ir.AffineExpr
    values = [expressions.get_constant(value) for value in constants]
    return [ir.AffineConstantExpr(replaced(ir, each, values, dims)).value for each in results]


def replaced(ir: Any, each: Any, values: list[Any], dims: int) -> Any:
    """An expression of MLIR with constants in place of its inputs, folded by MLIR."""
    expressions = ir.AffineExpr
    each = each.maybe_downcast()
    if isinstance(each, ir.AffineConstantExpr):
        return each
    if isinstance(each, ir.AffineDimExpr):
        return values[each.position]
    if isinstance(each, ir.AffineSymbolExpr):
        return values[dims + each.position]
    for kind, make in (
        (ir.AffineAddExpr, expressions.get_add),
        (ir.AffineMulExpr, expressions.get_mul),
        (ir.AffineModExpr, expressions.get_mod),
        (ir.AffineFloorDivExpr, expressions.get_floor_div),
        (ir.AffineCeilDivExpr, expressions.get_ceil_div),
    ):
        if isinstance(each, kind):
            return make(replaced(ir, each.lhs, values, dims), replaced(ir, each.rhs, values, dims))
    raise AssertionError(each)


@pytest.mark.parametrize("seed", range(60))
def test_maps_have_the_values_of_mlir(ir: Any, seed: int) -> None:
    """A map has, at numbers and as a size, the value that MLIR folds it to."""
    draw = random.Random(seed)
    text = f"affine_map<(d0, d1)[s0] -> ({', '.join([expression(draw, 3) for _ in range(3)])})>"
    theirs = list(ir.AffineMapAttr(ir.Attribute.parse(text)).value.results)
    env = ShapeEnv()
    inputs = [env.symbol("d0", lo=None), env.symbol("d1", lo=None), env.symbol("s0", lo=1)]
    ours = read_map(text)
    assert [str(each) for each in ir.AffineMapAttr(ir.Attribute.parse(str(ours))).value.results] == [
        str(each) for each in theirs
    ]
    sizes = ours.apply(env, inputs[:2], inputs[2:])
    for values in GRID:
        expected = folded(ir, theirs, values, 2)
        assert list(ours.apply(env, values[:2], values[2:])) == expected, (text, values)
        at = dict(zip(("d0", "d1", "s0"), values))
        assert [
            each if isinstance(each, int) else each.expr.evaluate({atom: at[atom.name] for atom in each.expr.symbols})
            for each in sizes
        ] == expected, (text, values)


@pytest.mark.parametrize("seed", range(30))
def test_sets_hold_where_mlirs_do(ir: Any, seed: int) -> None:
    """A set holds for exactly the values that MLIR's constraints hold for."""
    draw = random.Random(seed)
    parts = [f"{expression(draw, 2)} {draw.choice(['>=', '<=', '=='])} {expression(draw, 1)}" for _ in range(2)]
    text = f"affine_set<(d0, d1)[s0] : ({', '.join(parts)})>"
    printed = str(ir.Attribute.parse(text))  # each as `expression >= 0` or `expression == 0`
    body = printed[printed.index(" : (") + 4 : -2].split(", ")
    lefts = ", ".join([each.rpartition(" >= " if " >= " in each else " == ")[0] for each in body])
    theirs = list(ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<(d0, d1)[s0] -> ({lefts})>")).value.results)
    env, ours = ShapeEnv(), read_set(text)
    for values in GRID:
        numbers = folded(ir, theirs, values, 2)
        expected = all(number >= 0 if " >= " in each else number == 0 for number, each in zip(numbers, body))
        assert ours.holds(env, values[:2], values[2:]) is expected, (text, values)


@pytest.mark.parametrize("text", [
    "affine_map<(d0) -> (d0)>", "affine_map<() -> ()>", "affine_map<(i, j)[n] -> (i + j * n)>",
    "affine_map<(d0, d1) -> (d0 * d1)>", "affine_map<(d0, d1) -> (d0 floordiv d1)>",
    "affine_map<(d0)[s0] -> (d0 mod s0)>", "affine_map<(d0)[s0, s1] -> (d0 * (s0 + s1))>",
    "affine_map<(d0) -> (0x1F * d0)>",
    "affine_map<(d0) -> (d0 * 9223372036854775807)>", "affine_map<(d0) -> (d0 * 9223372036854775808)>",
    "affine_map<(d0 -> (d0)>", "affine_map<(d0) -> d0>", "affine_map<(d0) -> (d0,)>", "affine_map<(d0) -> (d1)>",
    "affine_map<(d0, d0) -> (d0)>", "affine_map<(d0)[d0] -> (d0)>", "affine_map<(d0) -> (d0 / 2)>",
    "affine_map<(d0) -> (d0 +)>", "affine_map<(d0) -> (- - d0)>", "affine_map<(mod) -> (mod)>",
    "affine_map<(d0) -> (d0 mod 2 floordiv 3 * 4)>", "affine_map<(d0) -> ((d0))>", "affine_map<(d0) -> (d0)> x",
    "affine_map<(d0)[] -> (d0)>", "affine_map<(d0) -> (d0 d0)>", "affine_map<(d0) -> (2 d0)>", "affine_map<>",
])  # fmt: skip
def test_what_mlir_parses_is_read_and_nothing_else(ir: Any, text: str) -> None:
    try:
        ir.Attribute.parse(text)
    except ir.MLIRError:
        with pytest.raises(ParseError) as caught:
            read_map(text)
        assert "^" in str(caught.value)
        return
    read_map(text)


@pytest.mark.parametrize("text", [
    "affine_set<(d0) : (d0 >= 0)>", "affine_set<(d0) : ()>", "affine_set<(d0)[s0] : (d0 <= s0, d0 == 2)>",
    "affine_set<(d0) : (d0 > 0)>", "affine_set<(d0) : (d0)>", "affine_set<(d0) -> (d0)>", "affine_set<() : (1 == 0)>",
])  # fmt: skip
def test_sets_are_read_as_mlir_reads_them(ir: Any, text: str) -> None:
    try:
        ir.Attribute.parse(text)
    except ir.MLIRError:
        with pytest.raises(ParseError):
            read_set(text)
        return
    read_set(text)


IREE = [
    ("%0 = util.assume.int %a<udiv = 8> : index\n%1 = affine.apply affine_map<(d0) -> (d0 * 4)>(%0)", 32),
    ("%0 = util.assume.int %a<udiv = 16> : index\n%2 = util.assume.int %b<udiv = 24> : index\n"
     "%1 = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%0, %2)", 8),
    ("%0 = util.assume.int %a<udiv = 64> : index\n%1 = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%0)", 16),
    ("%0 = util.assume.int %a<udiv = 64> : index\n%1 = affine.apply affine_map<(d0) -> (d0 ceildiv 4)>(%0)", 16),
    ("%0 = util.assume.int %a<udiv = 20> : index\n%1 = affine.apply affine_map<(d0) -> (d0 floordiv 3)>(%0)", 1),
    ("%0 = util.assume.int %a<udiv = 16> : index\n%1 = affine.apply affine_map<(d0) -> (d0 mod 16)>(%0)", 1),
    ("%0 = util.assume.int %a<udiv = 8> : index\n%1 = affine.apply affine_map<(d0) -> (d0 * 4 + 16)>(%0)", 16),
    ("%0 = util.assume.int %a<udiv = 16> : index\n%2 = util.assume.int %b<udiv = 16> : index\n"
     "%1 = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%0)[%2]", 16),
    ("%0 = util.assume.int %a<udiv = 16> : index\n%1 = affine.min affine_map<(d0) -> (d0, d0 + 64)>(%0)", 16),
    ("%0 = util.assume.int %a<udiv = 16> : index\n%2 = util.assume.int %b<udiv = 24> : index\n"
     "%1 = affine.min affine_map<(d0, d1) -> (d0, d1)>(%0, %2)", 8),
    ("%0 = util.assume.int %a<udiv = 32> : index\n%1 = affine.max affine_map<(d0) -> (d0, d0 - 64)>(%0)", 32),
    ("%0 = util.assume.int %a<udiv = 12> : index\n%2 = util.assume.int %b<udiv = 18> : index\n"
     "%1 = affine.max affine_map<(d0, d1) -> (d0, d1)>(%0, %2)", 6),
    ("%1 = affine.apply affine_map<() -> (64)>()", 64),
    ("%0 = util.assume.int %a<udiv = 4> : index\n%2 = affine.apply affine_map<(d0) -> (d0 * 8)>(%0)\n"
     "%1 = affine.apply affine_map<(d0) -> (d0 + 16)>(%2)", 16),
    ("%1 = util.assume.int %a[<udiv = 16>, <>] : index", 1),
    ("%1 = util.assume.int %a[<umin = 0, umax = 0>, <umin = 2176, umax = 2176, udiv = 2176>] : index", 2176),
]  # fmt: skip
"""Statements, and the divisor of `%1` that IREE's own tests of its analysis expect."""


@pytest.mark.parametrize(("text", "theirs"), IREE)
def test_divisors_are_those_of_iree_or_more(text: str, theirs: int) -> None:
    env = ShapeEnv()
    size = read(env, text)["1"]
    found = divisor_of(env, size)
    assert found % theirs == 0
    assert env.proves(size % found == 0 if found else size == 0)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_holds_and_is_read_back(seed: int) -> None:
    """Each size of a box that the assumptions accept has the bounds and the divisor that are written for a result."""
    draw = random.Random(seed)
    env = ShapeEnv()
    fields = [(draw.randrange(1, 9), draw.randrange(20, 40), draw.choice([1, 2, 4, 6])) for _ in range(2)]
    lines = [f"%{n} = util.assume.int %{n}<umin = {a}, umax = {b}, udiv = {c}>" for n, (a, b, c) in zip("xy", fields)]
    sizes = read(env, "\n".join(lines))
    text = f"(d0, d1) -> ({expression(draw, 3).replace('s0', '4')})"
    (result,) = read_map(text).apply(env, [sizes["x"], sizes["y"]])
    written = assumption_of(env, result)
    again = ShapeEnv()
    read_back = read(again, f"%r = util.assume.int %r{written}") if "umin" in written else {}
    divisor = divisor_of(env, result)
    values = []
    for x, y in product(*[range(-(-a // c) * c, b + 1, c) for a, b, c in fields]):
        (value,) = read_map(text).apply(env, [x, y])
        assert isinstance(value, int)
        values.append(value)
        assert value == 0 or (divisor and value % divisor == 0), (text, written)
        if read_back:
            assert not isinstance(again.ask(read_back["r"] == value), Never), (text, written, value)
    assert any(values) or divisor == 0
    if "umin" in written:
        assert min(values) >= 0


def test_a_divisor_is_positive_or_refused() -> None:
    env = ShapeEnv()
    x, n = env.sizes("x n")
    division = read_map("(d0)[s0] -> (d0 floordiv s0)")
    with pytest.raises(Undefined, match="the divisor n is not known to be positive"):
        division.apply(env, [x], [n])
    with pytest.raises(Undefined):
        read_map("(d0) -> (d0 mod 0)").apply(env, [x])
    with pytest.raises(Undefined):
        read_map("(d0) -> (d0 ceildiv (2 - 4))").apply(env, [x])
    env.assume(n >= 1)
    assert str(division.apply(env, [x], [n])) == "(x//n,)"


@pytest.mark.parametrize("name", ["in", "max", "lambda", "None", "0", "arg0", "a.b"])
def test_any_name_of_mlir_is_taken(name: str) -> None:
    """A value of MLIR may be called by a word of Python's, a number, or a word of our language."""
    found = read(ShapeEnv(), f"%r = util.assume.int %{name}<umin = 1, umax = 3>")
    assert assumption_of(found["r"].env, found[name]) == "<umin = 1, umax = 3>"  # type: ignore[union-attr]


def test_several_results_of_one_statement() -> None:
    env = ShapeEnv()
    found = read(env, "%0:2 = util.assume.int %a<umax = 8>, %b[<udiv = 4>, <umin = 1, umax = 3>] : index, index")
    assert env.bounds(found["0#0"]) == (0, 8) and found["0#1"] is found["b"]
    assert isinstance(env.ask(found["b"] != 5), Always)
    with pytest.raises(Contradiction):
        read(env, "%1 = util.assume.int %a<umin = 9>")


@pytest.mark.parametrize("text", [
    "%0 = util.assume.int %a", "%0 = util.assume.int %a<umin = -1>", "%0 = util.assume.int %a<udiv = 0>",
    "%0 = util.assume.int <umin = 1>", "%0 = util.assume.int %a<lower = 1>", "%0 = affine.apply (d0) (%a)",
    "%0 = affine.apply affine_map<(d0) -> (d0, d0)>(%a)", "%0 = affine.apply affine_map<(d0) -> (d0)>(%a, %b)",
    "%0 = arith.constant 1.5 : f32", "%0 = affine.min affine_map<(d0) -> ()>(%a)",
])  # fmt: skip
def test_other_statements_are_refused(text: str) -> None:
    with pytest.raises(ShapeError):
        read(ShapeEnv(), text)
