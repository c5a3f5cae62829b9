"""jaxtyping's annotations: its own checker's verdict on every call, and proofs that no call contradicts."""

# ruff: noqa: F722, F821, UP037 - annotations hold dimensions, which are no names of Python

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

jaxtyping = pytest.importorskip("jaxtyping")
beartype = pytest.importorskip("beartype")
np = pytest.importorskip("numpy")

from frontends.jaxtyping import Mismatch, prove, read_dimensions, signature_of  # noqa: E402
from frontends.jaxtyping.dimensions import Computed, Dimension, Fixed, Named, Several  # noqa: E402
from frontends.jaxtyping.signature import Signature  # noqa: E402
from shapes.errors import ParseError, ShapeError  # noqa: E402
from tests.frontends.jaxtyping.functions import RIGHT, WRONG, Filled  # noqa: E402
from tests.frontends.jaxtyping.verdicts import accepted, fits  # noqa: E402

FUNCTIONS = [*RIGHT, *WRONG]
OTHERS: dict[str, list[object]] = {"self": [Filled()], "size": [0, 1, 3], "k": [0, 1, 3]}
SIZES = (0, 1, 2, 3)


def by_name(function: Callable[..., Any]) -> str:
    return function.__name__


def stub(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with these annotations that returns its last argument, checked by jaxtyping."""
    names = [*inspect.signature(function).parameters, "result_"]
    scope: dict[str, Any] = {}
    exec(f"def stub({', '.join(names)}): return result_", scope)
    written = {
        name: eval(text, function.__globals__) if isinstance(text, str) else text
        for name, text in function.__annotations__.items()
    }
    scope["stub"].__annotations__ = written
    checked: Callable[..., Any] = jaxtyping.jaxtyped(typechecker=beartype.beartype)(scope["stub"])
    return checked


def drawn(draw: random.Random, dimensions: tuple[Dimension, ...], sizes: dict[str, int], shape: list[int]) -> list[int]:
    """A shape that often has these dimensions."""
    found: list[int] = []
    for dimension in dimensions:
        size = draw.choice(SIZES)
        match dimension:
            case Computed():
                size = draw.choice((*SIZES, 4, 5, 6, 8))
            case Named(name, broadcastable):
                size = 1 if broadcastable and draw.random() < 0.4 else sizes.setdefault(name, size)
            case Fixed(fixed):
                size = fixed
            case Several(_, broadcastable):
                found += [1 if broadcastable and draw.random() < 0.3 else each for each in shape]
                continue
        found.append(size)
    if draw.random() < 0.3 and found:
        found[draw.randrange(len(found))] = draw.choice(SIZES)
    if draw.random() < 0.1:
        found.insert(0, draw.choice(SIZES))
    return found


@pytest.mark.parametrize("function", FUNCTIONS, ids=by_name)
def test_the_verdict_of_a_call_is_jaxtypings(function: Callable[..., Any]) -> None:
    """On random arguments and results we refuse what jaxtyping refuses, and nothing else."""
    draw = random.Random(function.__name__)
    signature, checked = signature_of(function), stub(function)
    results = signature.result if isinstance(signature.result, tuple) else (signature.result,)
    seen = set()
    for _ in range(80):
        sizes: dict[str, int] = {}
        several = [draw.choice(SIZES) for _ in range(draw.randrange(3))]
        shapes = {name: drawn(draw, each.dimensions, sizes, several) for name, each in signature.arguments.items()}
        values = {name: draw.choice(OTHERS[name]) for name in signature.others}
        found = tuple([np.zeros(drawn(draw, each.dimensions, sizes, several)) for each in results])  # type: ignore[union-attr]
        result = found if isinstance(signature.result, tuple) else found[0]
        args = [np.zeros(shapes[n]) if n in shapes else values[n] for n in inspect.signature(function).parameters]
        ours = accepted(signature, shapes, result, values)
        assert ours is fits(checked, *args, result), (shapes, values, [each.shape for each in found])
        seen.add(ours)
    assert seen == ({True} if function.__name__ == "any_shape" else {True, False})


def calls(signature: Signature, function: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """Arguments that the annotations accept, of all small sizes."""
    ranks = [
        [len(each.dimensions)] if not any(isinstance(one, Several) for one in each.dimensions)
        else [len(each.dimensions) - 1 + extra for extra in (0, 1, 2)]
        for each in signature.arguments.values()
    ]  # fmt: skip
    sizes = (0, 1, 2, 3, 4) if sum(max(each) for each in ranks) <= 4 else (1, 2)
    if any(isinstance(one, Fixed) for each in signature.arguments.values() for one in each.dimensions):
        sizes = (2, 3, 4)
    for chosen in product(*ranks):
        for shapes in product(*[product(sizes, repeat=rank) for rank in chosen]):
            named = dict(zip(signature.arguments, shapes))
            for values in product(*[OTHERS[name] for name in signature.others]):
                others = dict(zip(signature.others, values))
                if accepted(signature, named, None, others):
                    arrays = {name: np.ones(shape) for name, shape in named.items()}
                    yield {n: {**arrays, **others}[n] for n in inspect.signature(function).parameters}


def returns_as_said(signature: Signature, function: Callable[..., Any], call: dict[str, Any]) -> bool:
    try:
        result = function(**call)
    except (ValueError, IndexError):
        return False
    others = {name: call[name] for name in signature.others}
    return accepted(signature, {name: call[name] for name in signature.arguments}, result, others)


@pytest.mark.parametrize("function", FUNCTIONS, ids=by_name)
def test_no_call_contradicts_a_proof(function: Callable[..., Any]) -> None:
    """Proven: every call of NumPy's own returns what is said. Refuted: some call does not."""
    signature = signature_of(function)
    proof = prove(function, values={name: OTHERS[name][0] for name in signature.others if name == "self"})
    as_said = [returns_as_said(signature, function, call) for call in calls(signature, function)]
    assert as_said
    assert all(as_said) is (function in RIGHT), "the list of functions is wrong about this one"
    assert proof.answer == ("proven" if function in RIGHT else "refuted"), str(proof)


def test_there_are_as_many_functions_as_said() -> None:
    assert len(FUNCTIONS) >= 50


@pytest.mark.parametrize("text", [
    "a,b", "a#", "...a", "**a", "##a", "__a", "??a", "*4", "_4", "#_", "_a+1", "*a+1", "*a *b", "... *a", "", "_",
    "a=4", "a=b", "#a=4", "*a", "_a", "*_", "min(a,b)", "a==b", "#*a", "*#a", "-3", "4#", "1_000", "#",
    "a b c", "  a   b ", "a>=b", "{n}", "a+1 #b+2",
])  # fmt: skip
def test_dimensions_are_read_as_jaxtyping_reads_them(text: str) -> None:
    """The same texts are refused, and names, sizes and marks are the same."""
    try:
        theirs = jaxtyping.Float[np.ndarray, text].dims
    except ValueError:
        with pytest.raises(ParseError) as caught:
            read_dimensions(text)
        assert "^" in str(caught.value)
        return
    for ours, other in zip(read_dimensions(text), theirs, strict=True):
        for one, their in (("name", "name"), ("size", "size"), ("text", "elem"), ("broadcastable", "broadcastable")):
            if hasattr(other, their):
                assert getattr(ours, one) == getattr(other, their), text


BODIES = {
    "x if x.sum() > 0 else x[1:]": "unknown",
    "x if x.dtype == 'float32' else x[1:]": "unknown",
    "x if isinstance(x, np.ndarray) else x[1:]": "unknown",
    "x[x > 0]": "unknown",
    "x[(x > 0).astype(bool)]": "unknown",
    "x[np.argsort(x).astype(bool)]": "unknown",
    "x[[True, False]]": "unknown",
    "x[np.nonzero(x)[0]]": "unknown",
    "x[:len(x)]": "unknown",
    "np.stack([x[i] for i in range(x.shape[0])])": "unknown",
    "x.shape": "unknown",
    "inspect.getfile(x)": "unknown",
    "x[:4:-1]": "unknown",
    "x[np.argsort(x)]": "proven",
    "x[np.argsort(x)][::-1]": "proven",
    "np.zeros(x.shape[0] + 1)[1:]": "proven",
    "x if x.shape[0] < 4 else np.concatenate([x[:4], x[4:]])": "proven",
    "x if x.shape[0] < 4 else x[:4]": "refuted",
    "x if x.shape[0] < 4 else x[:4] if x.shape[0] == 4 else x": "proven",
    "np.squeeze(x[:, None])": "refuted",
    "x.max(keepdims=True)": "refuted",
}
"""Results of a function of an array with n elements that says it returns n, and the answer."""


@pytest.mark.parametrize("body", BODIES)
def test_what_cannot_be_followed_is_unknown(body: str) -> None:
    """A branch on elements, a mask or a foreign function is neither proven nor refuted; branches on sizes are taken."""
    scope: dict[str, Any] = {"np": np, "inspect": inspect}
    exec(f"def f(x: 'Float[Array, \"n\"]') -> 'Float[Array, \"n\"]': return {body}", scope)
    proof = prove(scope["f"])
    assert proof.answer == BODIES[body], str(proof)
    assert all(claim.why or claim.answer == "proven" for claim in proof.claims) or "has 0 dimensions" in str(proof)


def unnamed(x: "jaxtyping.Float[np.ndarray, 'n']") -> "jaxtyping.Float[np.ndarray, 'm+1']":
    return x


def caught(x: "jaxtyping.Float[np.ndarray, 'n']") -> "jaxtyping.Float[np.ndarray, 'n']":
    try:
        return np.unknown_function(x)
    except Exception:
        return x


@pytest.mark.parametrize("function", [unnamed, caught])
def test_names_and_errors_are_not_guessed(function: Callable[..., Any]) -> None:
    assert prove(function).answer == "unknown"


@pytest.mark.parametrize("name", ["in", "max", "lambda", "None", "double", "u0", "x"])
def test_any_name_of_a_dimension_is_taken(name: str) -> None:
    scope: dict[str, Any] = {}
    x, y, result = [f"'Float[A, \"{text}\"]'" for text in (f"{name} k", f"k {name}", f"{name} {name}")]
    exec(f"def f(x: {x}, y: {y}) -> {result}: return x @ y", scope)
    assert prove(scope["f"]).answer == "proven"


def test_what_is_missing_is_named() -> None:
    def bare(x: Any) -> Any:
        return x

    def several(**xs: "jaxtyping.Float[np.ndarray, 'n']") -> "jaxtyping.Float[np.ndarray, 'n']":
        return xs["x"]

    def tree(xs: "jaxtyping.PyTree[jaxtyping.Float[np.ndarray, 'n']]") -> "jaxtyping.Float[np.ndarray, 'n']":
        return xs[0]

    def either(x: "jaxtyping.Float[np.ndarray, 'n'] | jaxtyping.Float[np.ndarray, 'm']") -> None:
        return None

    with pytest.raises(ShapeError, match="x has no dimensions"):
        prove(bare)
    with pytest.raises(ShapeError, match="xs stands for several arguments"):
        prove(several)
    with pytest.raises(ShapeError, match=r"xs is a tree; give its containers as `trees=\{'xs': ...\}`"):
        prove(tree)
    with pytest.raises(ShapeError, match="tree has no such argument x"):
        prove(tree, trees={"xs": [...], "x": ...})
    with pytest.raises(ShapeError, match="'n' and 'm' may both fit an array"):
        prove(either)
    with pytest.raises(ShapeError, match="no dimensions batch; of several dimensions are none"):
        prove(RIGHT[0], ranks={"batch": 2})
    with pytest.raises(ShapeError, match="the shape of y is missing"):
        signature_of(RIGHT[0]).check({"x": (2, 3)})


def test_torch_has_its_own_names() -> None:
    """Methods of a Tensor are torch's, whose `max` and `transpose` are others than NumPy's."""
    scope: dict[str, Any] = {"torch": pytest.importorskip("torch")}
    bodies = {
        "torch.cat([x.transpose(1, 2)], 0)": "proven",
        "x.permute(0, 2, 1)": "proven",
        "x.transpose(0, 1)": "refuted",
        "x.max(1)": "unknown",  # two results
        "torch.nn.functional.relu(x).reshape(x.shape[0], x.shape[2], x.shape[1])": "proven",
    }
    for body, answer in bodies.items():
        exec(f"def f(x: 'Float[Tensor, \"a b c\"]') -> 'Float[Tensor, \"a c b\"]': return {body}", scope)
        proof = prove(scope["f"])
        assert proof.answer == answer, f"{body} {proof}"


JAX = """
import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, Int, jaxtyped

def mlp(x: Float[Array, "b n"], w: Float[Array, "n m"], b: Float[Array, "m"]) -> Float[Array, "b m"]:
    return jnp.tanh(jnp.dot(x, w) + b)

@jaxtyped(typechecker=beartype)
def attention(
    q: Float[Array, "*b s d"], k: Float[Array, "*b t d"], v: Float[Array, "*b t e"]
) -> Float[Array, "*b s e"]:
    weights = jnp.exp(jnp.matmul(q, jnp.swapaxes(k, -1, -2)))
    return jnp.matmul(weights / weights.sum(-1, keepdims=True), v)

@jax.jit
def one_hot(ids: Int[Array, "b"], n: int) -> Float[Array, "b {n}"]:
    return (ids[:, None] == jnp.arange(n)[None, :]).astype(jnp.float32)

def looked_up(ids: Int[Array, "b s"], table: Float[Array, "v+1 d"], rows: Float[Array, "v"]) -> Float[Array, "b s d"]:
    return table[ids]

def joined(x: Float[Array, "b n"], y: Float[Array, "b m"]) -> Float[Array, "b n"]:
    return jnp.concatenate([x, y], axis=-1)

def mapped(x: Float[Array, "b n"]) -> Float[Array, "b"]:
    return jax.vmap(lambda row: row.sum())(x)
"""


def test_functions_of_jax() -> None:
    """Functions of jax.numpy are followed, under decorators too; what JAX alone can run is unknown."""
    pytest.importorskip("jax")
    scope: dict[str, Any] = {"__name__": "functions"}
    exec(JAX, scope)
    answers = {name: prove(scope[name]).answer for name in ("mlp", "attention", "one_hot", "joined", "mapped")}
    expected = {"mlp": "proven", "attention": "proven", "one_hot": "proven", "joined": "refuted", "mapped": "unknown"}
    assert answers == expected
    with pytest.raises(ShapeError, match="v is not bound before"):
        prove(scope["looked_up"])


def test_an_error_names_the_dimension_the_places_and_the_sizes() -> None:
    signature = signature_of(RIGHT[0])
    with pytest.raises(Mismatch, match=r"dimension dim2: y.shape\[0\] is 4, x.shape\[1\] is 3"):
        signature.check({"x": (2, 3), "y": (4, 5)})
    with pytest.raises(Mismatch, match=r"x has 1 dimension, annotated with 2"):
        signature.check({"x": (2,), "y": (4, 5)})
    proof = str(prove(WRONG[-2]))
    assert "dimension n+{k}: return.shape[0] is k + n + 1, the expression is k + n" in proof


def test_a_body_of_rules() -> None:
    """`body=` stands for a function that cannot run on sizes."""
    from shapes.rules import rules

    def convolved(x: "Float[Array, 'b 3 h w']") -> "Float[Array, 'b 8 h-2 w-2']":  # type: ignore[name-defined]
        raise TypeError("it takes arrays")

    proof = prove(convolved, lambda env, x: rules["conv2d"](env, x, (8, 3, 3, 3)))
    assert proof.answer == "refuted" and "h" in str(proof), "an image of two rows is accepted by the annotation"
    proof = prove(convolved, lambda env, x: rules["pad"](env, x, (-1, -1, -1, -1)))
    assert proof.answer == "refuted"
