"""JAX's symbolic dimensions both ways: the same numbers at every size, and no answer that contradicts JAX's."""

from __future__ import annotations

import random

import pytest

jax = pytest.importorskip("jax")
export = pytest.importorskip("jax.export")
jnp = pytest.importorskip("jax.numpy")

from frontends.jax import from_jax, read_constraint, to_jax  # noqa: E402
from shapes import Always, Never, ShapeEnv, sym_max, sym_min  # noqa: E402
from shapes.errors import Contradiction, NotExpressible, ParseError  # noqa: E402
from shapes.symbolic.choices import Int  # noqa: E402
from shapes.symbolic.numbers import SymInt  # noqa: E402

NAMES = ("b", "s", "t")
GRID = [dict(zip(NAMES, (b, s, t))) for b in (1, 2, 5) for s in (1, 3, 4, 17) for t in (1, 2, 8)]


def environment() -> ShapeEnv:
    return ShapeEnv(origin=lambda: None)


def value(size: Int, sizes: dict[str, int]) -> int:
    if isinstance(size, int):
        return size
    return size.expr.evaluate({atom: sizes[atom.name] for atom in size.expr.symbols})


def jax_value(dim: object, sizes: dict[str, int]) -> int:
    return dim if isinstance(dim, int) else int(dim._evaluate(sizes))  # type: ignore[attr-defined]


def jax_text(draw: random.Random, depth: int) -> str:
    """An expression in JAX's grammar: sums of products, calls for the rest."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([*NAMES, *NAMES, str(draw.randrange(8))])
    operation = draw.choice(["+", "-", "*", "^", "floordiv", "mod", "max", "min"])
    one = jax_text(draw, depth - 1)
    if operation == "^":
        return f"{draw.choice(NAMES)}^{draw.randrange(2, 4)}*{draw.choice(NAMES)}"
    if operation in ("floordiv", "mod"):
        return f"{operation}({one}, {draw.choice([*NAMES, '2', '3', '7'])})"
    other = jax_text(draw, depth - 1)
    if operation in ("max", "min"):
        return f"{operation}({one}, {other})"
    return f"{one} {operation} {other}"


@pytest.mark.parametrize("seed", range(60))
def test_their_dimensions_are_ours(seed: int) -> None:
    """A dimension of JAX has the value here that it has in JAX."""
    draw = random.Random(seed)
    texts = [jax_text(draw, 3) for _ in range(5)]
    dims = export.symbolic_shape("(" + ", ".join([*NAMES, *texts]) + ")")
    found = from_jax(environment(), dims)
    for sizes in GRID:
        assert [value(size, sizes) for size in found] == [jax_value(dim, sizes) for dim in dims], texts


def our_size(draw: random.Random, names: list[SymInt], depth: int) -> Int:
    if depth == 0:
        return draw.choice([*names, *names, draw.randrange(1, 9)])
    one, other = our_size(draw, names, depth - 1), our_size(draw, names, depth - 1)
    match draw.randrange(9):
        case 0 | 1:
            return one + other
        case 2:
            return one - other
        case 3:
            return one * other
        case 4:
            return one // draw.choice([2, 3, names[0]])
        case 5:
            return one % draw.choice([2, 5, names[1]])
        case 6:
            return sym_max(one, other)
        case 7:
            return sym_min(one, other)
        case _:
            return abs(one - other)


@pytest.mark.parametrize("seed", range(60))
def test_our_sizes_are_theirs(seed: int) -> None:
    """A size has the same value in JAX as here, and survives the way there and back."""
    draw = random.Random(seed)
    env = environment()
    names = [env.symbol(name, lo=1) for name in NAMES]
    sizes = tuple([our_size(draw, names, 3) for _ in range(4)])
    there = to_jax(env, sizes)
    back = from_jax(env, there.dims)
    for at in GRID:
        wanted = [value(size, at) for size in sizes]
        assert [jax_value(dim, at) for dim in there.dims] == wanted
        assert [value(size, at) for size in back] == wanted


CONSTRAINTS = [
    ["b >= 2", "b <= 64"],
    ["mod(s, 16) == 0"],
    ["s == 3*t"],
    ["b*s <= 4096", "max(b, t) >= 5"],
    ["floordiv(s, 2) == b", "t >= b"],
    ["b + s >= 2*t", "4*b == t"],
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
def test_constraints_are_facts(constraints: list[str]) -> None:
    """A constraint of JAX is a fact here."""
    env = environment()
    dims = export.symbolic_shape("b, s, t", constraints=constraints)
    from_jax(env, dims)
    for text in constraints:
        assert isinstance(env.ask(read_constraint(env, text)), Always)
    before = env.events
    from_jax(env, dims)
    assert env.events == before
    allowed = [at for at in GRID if all(holds(text, at) for text in constraints)]
    for at in GRID:
        values = {atom: at[atom.name] for atom in env.symbols}
        assert env.known.holds_at(values) == (at in allowed)


def holds(constraint: str, sizes: dict[str, int]) -> bool:
    """Evaluate a constraint by Python."""
    calls = {"mod": lambda a, b: a % b, "floordiv": lambda a, b: a // b, "max": max, "min": min}
    return bool(eval(constraint, calls, sizes))


FACTS = [
    ["b >= 2", "b <= 64"],
    ["s % 16 == 0", "b < s"],
    ["s == 3*t + 1"],
    ["b*s < 4096"],
    ["b + s == 2*t"],
    ["max(b, s) >= 5", "s // 2 == t"],
]


@pytest.mark.parametrize("facts", FACTS, ids=str)
def test_facts_are_constraints(facts: list[str]) -> None:
    """JAX gets every fact that it can express as a constraint."""
    env = environment()
    names = [env.symbol(name, lo=1) for name in NAMES]
    for fact in facts:
        env.assume(fact)
    found = to_jax(env, names)
    assert found.left_out == ()
    other = environment()
    for name in NAMES:
        other.symbol(name, lo=1)
    from_jax(other, [dim for dim in found.dims if not isinstance(dim, int)])
    for fact in facts:
        assert isinstance(other.ask(fact), Always)


def test_what_jax_has_no_form_for() -> None:
    """Facts without a form in JAX are listed as left out, or refused."""
    env = environment()
    b, s = env.sizes("b s", lo=1)
    u = env.symbol("u")
    env.assume("b != 7")
    env.assume("b == 3 or s == 4")
    assert to_jax(env, (b,)).left_out == ("u >= 0", "b != 7", "b == 3 or s == 4")
    with pytest.raises(NotExpressible, match="u may be less than 1"):
        to_jax(env, (u + 1,))
    with pytest.raises(NotExpressible, match="no form"):
        to_jax(env, (b | s,))


def test_a_scope_that_contradicts() -> None:
    """Constraints that cannot hold are an error."""
    env = environment()
    env.symbol("b", lo=1)
    env.assume("b <= 3")
    with pytest.raises(Contradiction):
        from_jax(env, export.symbolic_shape("b", constraints=["b >= 5"]))
    with pytest.raises(ParseError):
        read_constraint(env, "b < 5")


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
def test_no_answer_contradicts_jax(constraints: list[str]) -> None:
    """This engine and JAX decide every comparison alike."""
    draw = random.Random(7)
    dims = export.symbolic_shape("b, s, t", constraints=constraints)
    scope = dims[0].scope if hasattr(dims[0], "scope") else dims[1].scope
    env = environment()
    settled = 0
    for _ in range(40):
        one, other = export.symbolic_shape(f"{jax_text(draw, 2)}, {jax_text(draw, 2)}", scope=scope)
        try:
            theirs = bool(one >= other)
        except Exception:  # JAX cannot tell
            continue
        left, right = from_jax(env, (one, other))
        ours = env.ask(left >= right)
        assert isinstance(ours, Always if theirs else Never), (one, other)
        settled += 1
    assert settled


def attention(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.einsum("bsd,btd->bst", x, y)


def halves(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.concatenate([x[:, ::2], y[:, 1:]], 1)


def windows(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 1), (1, 2, 1), "VALID")


def flat(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.reshape(jnp.pad(x, ((0, 0), (1, 2), (0, 0))), (-1, 4))


@pytest.mark.parametrize("function", [attention, halves, windows, flat])
def test_exported_functions(function: object) -> None:
    """The sizes of an exported program are those with which it runs."""
    b, s, t = export.symbolic_shape("b, s, t", constraints=["s >= 3"])
    given = [jax.ShapeDtypeStruct((b, s, 8), "float32"), jax.ShapeDtypeStruct((b, t, 8), "float32")]
    exported = export.export(jax.jit(function))(*given)  # type: ignore[arg-type]
    env = environment()
    (out,) = exported.out_avals
    found = from_jax(env, out.shape)
    for at in ({"b": 2, "s": 3, "t": 4}, {"b": 1, "s": 8, "t": 1}, {"b": 5, "s": 11, "t": 6}):
        x, y = jnp.zeros((at["b"], at["s"], 8)), jnp.zeros((at["b"], at["t"], 8))
        assert tuple([value(size, at) for size in found]) == function(x, y).shape  # type: ignore[operator]
