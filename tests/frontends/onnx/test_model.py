"""Whole models: every size beside ONNX Runtime, more of them known than by ONNX's own inference, and what comes of
refusals, branches, functions and names."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
parser = pytest.importorskip("onnx.parser")
pytest.importorskip("onnxruntime")
pytest.importorskip("torch")

from benchmarks.onnx_judging import (  # noqa: E402
    Judged,
    inferred_by_onnx,
    inferred_by_runtime,
    judge_inferred,
    judge_ours,
    runner,
)
from benchmarks.onnx_networks import NETWORKS  # noqa: E402
from frontends.onnx import OnnxModel, Refused, read  # noqa: E402
from shapes import Always, Depends  # noqa: E402
from shapes.errors import ShapeError  # noqa: E402

DATA_DEPENDENT = {"detector", "suppression"}


@cache
def judged(name: str) -> tuple[OnnxModel, Judged, Judged, Judged]:
    network = NETWORKS[name]
    model = network.export()
    found, run = read(model), runner(model)
    runs = [(sizes, feeds := network.feeds(sizes), run(feeds)) for sizes in network.sizes]
    others = [judge_inferred(inferred, runs) for inferred in (inferred_by_onnx(model), inferred_by_runtime(model))]
    return found, judge_ours(found, runs), *others


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str) -> None:
    """All sizes of a whole model that the inputs decide are known, and none is wrong."""
    found, ours, theirs, symbolic = judged(name)
    assert ours.wrong == [] and ours.unknown_values == 0 and not found.unknown
    assert ours.known == ours.dimensions or name in DATA_DEPENDENT
    assert ours.known >= theirs.known and ours.known >= symbolic.known
    assert found.env.specializations() == ()


def test_more_is_known_than_onnx_finds() -> None:
    """The engine finds over a fifth more sizes than ONNX's own inference, as the README says."""
    results = [judged(name) for name in NETWORKS]
    assert sum([ours.known for _, ours, _, _ in results]) > 1.2 * sum([theirs.known for _, _, theirs, _ in results])


@pytest.mark.parametrize("name", ["unet, transposed", "vision transformer", "text convolution", "towers", "detector"])
def test_what_guards_reject_does_not_run(name: str) -> None:
    """A model does not run at sizes that its guards reject."""
    network = NETWORKS[name]
    model = network.export()
    found, run = read(model), runner(model)
    assert found.env.guards()
    for guard in found.env.guards():
        assert guard.rejects is not None and guard.origin is not None and guard.origin.function
        feeds = network.feeds(guard.rejects)
        assert not found.accepts(feeds)
        with pytest.raises(Exception, match=r"Non-zero status|RUNTIME_EXCEPTION|INVALID_ARGUMENT"):
            run(feeds)


def parsed(body: str, inputs: str, outputs: str = "float[k] y", opset: int = 18, more: str = "") -> onnx.ModelProto:
    imports = f'"" : {opset}' + (', "local" : 1' if more else "")
    text = f"<ir_version: 8, opset_import: [{imports}]> g ({inputs}) => ({outputs}) {{ {body} }}\n{more}"
    return parser.parse_model(text)


def test_questions() -> None:
    """A user can ask questions about a model's sizes."""
    found = read(parsed("y = MatMul(x, w)", "float[b, s] x, float[s, d] w"))
    assert found.dims("y") == (found.symbols["b"], found.symbols["d"]) and found.shape("y").dtype == "float32"
    assert isinstance(found.env.ask("b * d >= 1"), Always)
    assert isinstance(found.env.ask(found.dims("y")[0] == 4), Depends)
    with pytest.raises(ShapeError, match="no such value"):
        found.dims("z")


def test_a_name_is_one_symbol_and_no_name_is_one_each() -> None:
    """Equal names are one symbol; each unnamed dimension is a symbol of its own."""
    found = read(parsed("y = Concat<axis = 0>(p, q)", "float[batch_size, 3] p, float[?, ?] q"))
    assert [str(size) for size in found.dims("y")] == ["batch_size + q_0", "3"]
    assert [str(guard) for guard in found.env.guards()] == ["q_1 == 3"]
    odd = parsed("y = Relu(x)", "float[a, b] x")
    for dim, name in zip(odd.graph.input[0].type.tensor_type.shape.dim, ("min", "2 * n+1")):
        dim.dim_param = name
    assert [str(size) for size in read(odd).dims("y")] == ["dim_min", "dim_2_n_1"]


def test_refusals_name_the_node() -> None:
    """An error names the node of the model that refuses its inputs."""
    model = parsed("y = MatMul(x, w)", "float[b, 3] x, float[4, d] w")
    model.graph.node[0].name = "layer1/MatMul"
    with pytest.raises(Refused, match=r"MatMul layer1/MatMul does not accept \(x: Shape\(b, 3, dtype=float32\)"):
        read(model)


def test_guards_name_the_node_and_the_file(tmp_path: Path) -> None:
    """The origin of a guard is its node and the model's file."""
    onnx.save(parsed("y = Add(x, w)", "float[b, 3] x, float[4, n] w"), tmp_path / "sum.onnx")
    found = read(tmp_path / "sum.onnx")
    assert [str(guard.origin) for guard in found.env.guards()] == ["sum.onnx:1 in Add y"] * 2
    assert not found.accepts({"x": np.zeros((2, 3)), "w": np.zeros((4, 3))})
    assert found.accepts({"x": np.zeros((4, 3)), "w": np.zeros((4, 3))})
    assert not found.accepts({"x": np.zeros((4, 2)), "w": np.zeros((4, 1))})


BRANCH = """
    sizes = Shape(x)
    zero = Constant<value_int = 0>()
    n = Gather(sizes, zero)
    four = Constant<value_int = 4>()
    small = Less(n, four)
    y = If (small) <then_branch = one () => (float[p] t) { t = Concat<axis = 0>(x, x) },
                    else_branch = two () => (float[q] e) { e = Identity(x) }>
"""


def test_branches() -> None:
    """A size of a branch holds under its condition only."""
    found = read(parsed(BRANCH, "float[n] x"))
    (size,) = found.dims("y")
    env = found.env
    with env.hypothesis("n >= 4"):
        assert isinstance(env.ask(size == found.symbols["n"]), Always)
    with env.hypothesis("n <= 3"):
        assert isinstance(env.ask(size == 2 * found.symbols["n"]), Always)
    assert [str(one) for one in read(parsed(BRANCH, "float[9] x")).dims("y")] == ["9"]


def test_functions() -> None:
    """Models with local functions, as newer exporters write them, are read."""
    function = """
    <domain: "local", opset_import: ["" : 18]>
    twice <axis> (a) => (b) { b = Concat<axis: int = @axis>(a, a) }
    """
    found = read(parsed("y = local.twice<axis = 1>(x)", "float[b, s] x", more=function))
    assert [str(size) for size in found.dims("y")] == ["b", "2*s"]
    unknown = read(parsed("z = local.other(x) y = Relu(z)", "float[b, s] x", more=function))
    with pytest.raises(ShapeError, match=r"there is no rule for local.other"):
        unknown.dims("z")
    with pytest.raises(ShapeError, match="an input has an unknown number of axes"):
        unknown.dims("y")


@pytest.mark.parametrize(
    "body, becomes",
    [
        ("s = Shape(x) y = ConstantOfShape(s)", "b, 2*s"),
        ("s = Size(x) z = Constant<value_ints = [-1]>() r = Reshape(s, z) y = ConstantOfShape(r)", "2*b*s"),
        ("s = Shape<start = 1>(x) t = Constant<value_ints = [3]>() d = Div(s, t) y = ConstantOfShape(d)", "2*s//3"),
        ("s = Shape<start = 1>(x) t = Constant<value_ints = [3]>() d = Mod(s, t) y = ConstantOfShape(d)", "2*s % 3"),
        ("s = Shape(x) m = ReduceProd<keepdims = 1>(s) y = ConstantOfShape(m)", "2*b*s"),
        ("s = Shape(x) m = ReduceMax<keepdims = 1>(s) y = ConstantOfShape(m)", "max(b, 2*s)"),
        ("s = Shape(x) a, c = Split<num_outputs = 2>(s) m = Min(a, c) y = ConstantOfShape(m)", "min(b, 2*s)"),
        ("s = Shape(x) f = Cast<to = 1>(s) g = Cast<to = 7>(f) y = ConstantOfShape(g)", "u0, u1"),
        ("s = Shape(x) t = Constant<value_int = 5>() c = Clip(s, t) y = ConstantOfShape(c)", "max(b, 5), max(2*s, 5)"),
    ],
)
def test_numbers_that_sizes_are_computed_with(body: str, becomes: str) -> None:
    """Sizes that a model computes from others are followed."""
    found = read(parsed(f"x = Concat<axis = 1>(w, w) {body}", "float[b, s] w"))
    assert ", ".join([str(size) for size in found.dims("y")]).startswith(becomes)


def test_every_size_may_be_empty() -> None:
    """`lo=0` is sound: a computed 0 means the old size to Reshape."""
    target = "s = Shape<start = 1, end = 2>(x) r = Constant<value_ints = [-1]>() t = Concat<axis = 0>(s, r)"
    body = f"{target} y = Reshape(x, t)"
    (first, _) = read(parsed(body, "float[b, s] x"), lo=0).dims("y")
    assert str(first) == "b if s == 0 else s"
    assert str(read(parsed(body, "float[b, s] x")).dims("y")[0]) == "s"
