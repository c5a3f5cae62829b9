"""Models that are malformed, or made to cost: an error that names the node, or an unknown, at once."""

import os
import random
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from frontends.onnx import OnnxModel, read
from shapes import ShapeError
from tests.effort import processor_seconds

Initializers = Sequence[onnx.TensorProto]


def info(name: str, sizes: Sequence[int | str] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, sizes)


def weight(name: str, numbers: object, kind: str = "int64") -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(numbers, kind), name)


def model(
    nodes: Sequence[onnx.NodeProto],
    *weights: onnx.TensorProto,
    sizes: Sequence[int | str] | None = ("n",),
    functions: Sequence[onnx.FunctionProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(list(nodes), "g", [info("x", sizes)], [info("y", None)], list(weights))
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions))


def node(kind: str, *inputs: str, out: str = "y", **attributes: object) -> onnx.NodeProto:
    return helper.make_node(kind, list(inputs), [out], **attributes)


def short(dims: Sequence[int], data: bytes = b"\0" * 8) -> onnx.TensorProto:
    """A weight with other data than its sizes say."""
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, raw_data=data)
    tensor.dims.extend(dims)
    return tensor


def external(location: str, dims: Sequence[int] = (1,)) -> onnx.TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, data_location=TensorProto.EXTERNAL)
    tensor.dims.extend(dims)
    tensor.external_data.add(key="location", value=location)
    return tensor


def branch(name: str, *nodes: onnx.NodeProto, out: str = "z") -> onnx.GraphProto:
    return helper.make_graph(list(nodes), name, [], [info(out, None)])


def function(name: str, *nodes: onnx.NodeProto) -> onnx.FunctionProto:
    return helper.make_function("own", name, ["a"], ["z"], list(nodes), [helper.make_opsetid("", 17)])


def calling(name: str) -> onnx.NodeProto:
    return helper.make_node(name, ["a"], ["z"], domain="own")


def doubling(depth: int) -> onnx.ModelProto:
    """Functions that each call the next one twice."""
    functions = [
        function(
            f"f{level}",
            helper.make_node(f"f{level + 1}", ["a"], ["b"], domain="own"),
            helper.make_node(f"f{level + 1}", ["b"], ["z"], domain="own"),
        )
        for level in range(depth)
    ]
    functions.append(function(f"f{depth}", node("Relu", "a", out="z")))
    return model([helper.make_node("f0", ["x"], ["y"], domain="own")], functions=functions)


REFUSED: list[tuple[str, onnx.ModelProto, str]] = [
    ("missing input", model([node("Relu", "nowhere")]), "`nowhere` is not an input"),
    ("cycle", model([node("Relu", "b", out="a"), node("Relu", "a", out="b")]), "the output of an earlier node"),
    ("itself", model([node("Relu", "y")]), "the output of an earlier node"),
    ("two makers", model([node("Relu", "x"), node("Sqrt", "x")]), "another node that makes `y`"),
    ("missing output", model([node("Relu", "x", out="z")]), "the output `y` is made by no node"),
    ("no inputs", model([node("Relu")]), "input 0 is missing"),
    ("no condition", model([helper.make_node("If", [], ["y"])]), "attribute then_branch is missing"),
    (
        "no branch",
        model([node("If", "x", then_branch=branch("t", node("Relu", "x", out="z")))]),
        "else_branch is missing",
    ),
    ("text for axis", model([node("Concat", "x", "x", axis="one")]), "expected an integer"),
    ("float for axis", model([node("Concat", "x", "x", axis=1.5)]), "axis=1.5: expected an integer"),
    ("list for axis", model([node("Concat", "x", "x", axis=[0])]), "expected an integer"),
    ("number for axes", model([node("Transpose", "x", perm=0)]), "perm=0: expected a list"),
    (
        "number for text",
        model([node("AveragePool", "x", auto_pad=3, kernel_shape=[2])], sizes=["n", 2, 8]),
        "expected text",
    ),
    ("axis", model([node("Concat", "x", "x", axis=7)]), "axis=7"),
    ("permutation", model([node("Transpose", "x", perm=[3])]), "perm"),
    ("no perm", model([node("Transpose", "x", perm=[0, 1])]), "Transpose y does not accept"),
    ("negative constant", model([node("ConstantOfShape", "w")], weight("w", [-1])), "negative"),
    ("negative reshape", model([node("Reshape", "x", "w")], weight("w", [-5])), "Reshape y does not accept"),
    (
        "floats for sizes",
        model([node("Reshape", "x", "w")], weight("w", [1.5], "float32")),
        "Reshape y does not accept",
    ),
    ("negative input", model([node("Relu", "x")], sizes=[-3]), "x.shape[0] is declared to be -3"),
    ("step", model([node("Range", "w", "w", "w")], weight("w", 0)), "the step is 0"),
    ("range of vectors", model([node("Range", "w", "w", "w")], weight("w", [1, 2])), "has 2 elements"),
    (
        "infinite range",
        model([node("Range", "w", "v", "w")], weight("w", 1, "float32"), weight("v", np.inf, "float32")),
        "finite",
    ),
    ("repeats", model([node("Tile", "x", "w")], weight("w", [-1])), "negative"),
    ("more repeats", model([node("Tile", "x", "w")], weight("w", [1, 2, 3])), "repeats has 3"),
    ("pads", model([node("Pad", "x", "w")], weight("w", [1])), "pads has 1 numbers"),
    ("slices", model([node("Slice", "x", "w", "v")], weight("w", [0, 1]), weight("v", [1])), "ends has 1 numbers"),
    ("depth", model([node("OneHot", "x", "w", "v")], weight("w", -2), weight("v", [0, 1])), "depth is negative"),
    ("short data", model([node("Relu", "w")], short([9])), "its data does not match its sizes"),
    ("long data", model([node("Relu", "w")], short([1], b"\0" * 80)), "its data does not match its sizes"),
    ("negative weight", model([node("Relu", "w")], short([-2])), "-2 is not a size"),
    ("short constant", model([node("Constant", value=short([4]))]), "its data does not match its sizes"),
    (
        "recursion",
        model([helper.make_node("f", ["x"], ["y"], domain="own")], functions=[function("f", calling("f"))]),
        "calls itself",
    ),
    (
        "mutual recursion",
        model(
            [helper.make_node("f", ["x"], ["y"], domain="own")],
            functions=[function("f", calling("g")), function("g", calling("f"))],
        ),
        "calls itself",
    ),
    ("doubling", doubling(40), "100,000 nodes"),
]


@pytest.mark.parametrize(("wrong", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
@processor_seconds(100)
def test_refused(wrong: onnx.ModelProto, message: str) -> None:
    """A malformed model is refused with a short message, not with a traceback of NumPy's."""
    with pytest.raises(ShapeError) as caught:
        read(wrong)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 2000


def squares(count: int, first: str) -> list[onnx.NodeProto]:
    names = [first, *[f"s{step}" for step in range(count - 1)], "y"]
    return [node("Mul", one, one, out=out) for one, out in pairwise(names)]


BIG = 10**9
COSTLY: list[tuple[str, onnx.ModelProto, str]] = [
    (
        "ConstantOfShape",
        model([node("ConstantOfShape", "w", value=weight("", [1]))], weight("w", [BIG])),
        "(1000000000,)",
    ),
    ("of shape of many", model([node("ConstantOfShape", "w", value=weight("", [1]))], weight("w", [BIG, BIG])), ""),
    (
        "as sizes",
        model(
            [node("ConstantOfShape", "w", value=weight("", [1]), out="s"), node("Reshape", "x", "s")],
            weight("w", [BIG]),
        ),
        "unknown",
    ),
    (
        "as sizes of a constant",
        model([node("ConstantOfShape", "w", out="s"), node("ConstantOfShape", "s")], weight("w", [BIG])),
        "unknown",
    ),
    (
        "as sizes to expand to",
        model(
            [node("ConstantOfShape", "w", value=weight("", [1]), out="s"), node("Expand", "x", "s")], weight("w", [BIG])
        ),
        "unknown",
    ),
    (
        "Range",
        model([node("Range", "w", "v", "u")], weight("w", 0), weight("v", 10**12), weight("u", 1)),
        "(1000000000000,)",
    ),
    (
        "Range of floats",
        model(
            [node("Range", "w", "v", "u")],
            weight("w", 0, "float32"),
            weight("v", 1e30, "float32"),
            weight("u", 1, "float32"),
        ),
        "(u0,)",
    ),
    ("Expand", model([node("Expand", "v", "w")], weight("v", [1]), weight("w", [10**6, 10**6])), "(1000000, 1000000)"),
    ("Tile", model([node("Tile", "v", "w")], weight("v", [1, 2]), weight("w", [BIG])), "(2000000000,)"),
    ("Pad", model([node("Pad", "v", "w")], weight("v", [1]), weight("w", [BIG, BIG])), "(2000000001,)"),
    ("OneHot", model([node("OneHot", "x", "w", "v")], weight("w", BIG), weight("v", [0, 1])), "(n, 1000000000)"),
    (
        "Add",
        model([node("Add", "v", "w")], weight("v", np.ones((4096, 1))), weight("w", np.ones((1, 4096)))),
        "(4096, 4096)",
    ),
    (
        "Where",
        model(
            [node("Where", "c", "v", "w")],
            weight("c", np.ones((4096, 1)), "bool"),
            weight("v", np.ones((1, 4096))),
            weight("w", [1]),
        ),
        "(4096, 4096)",
    ),
    (
        "Gather",
        model([node("Gather", "v", "w")], weight("v", np.ones((1, 4096))), weight("w", np.zeros(4096))),
        "(4096, 4096)",
    ),
    ("Concat", model([node("Concat", *["v"] * 4000, axis=0)], weight("v", np.ones(4096))), "(16384000,)"),
    (
        "Pow",
        model([node("Pow", "v", "w", out="p"), node("Reshape", "x", "p")], weight("v", [10]), weight("w", [BIG])),
        "(u0,)",
    ),
    ("powers", model([*squares(40, "v")[:-1], node("Reshape", "x", "s38")], weight("v", [10])), "(u0,)"),
    ("symbolic powers", model([node("Shape", "x", out="v"), *squares(40, "v")]), "(1,)"),
    ("nothing of it", model([node("Relu", "w")], external("/etc/passwd")), "(1,)"),
    ("outside", model([node("Reshape", "x", "w")], external("../../secret")), "(u0,)"),
    (
        "constant outside",
        model([node("Constant", value=external("../../secret"), out="w"), node("Reshape", "x", "w")]),
        "(u0,)",
    ),
    ("future", model([node("Relu", "x")], opset=9999), "unknown"),
    ("before", model([node("Relu", "x")], opset=0), "unknown"),
    ("operator", model([node("Frobnicate", "x")]), "unknown"),
    ("domain", model([helper.make_node("Relu", ["x"], ["y"], domain="ai.evil")]), "unknown"),
    ("Loop", model([node("Loop", "", "", body=branch("b", node("Relu", "x", out="z")))]), "unknown"),
]


def found(known: OnnxModel) -> str:
    return "unknown" if known.values["y"].shape is None else str(known.dims("y"))


@pytest.mark.parametrize(("costly", "sizes"), [row[1:] for row in COSTLY], ids=[row[0] for row in COSTLY])
@processor_seconds(100)
def test_costly(costly: onnx.ModelProto, sizes: str) -> None:
    """A model of a few bytes is read in bounded memory and time, and reads no other file."""
    tracemalloc.start()
    try:
        known = read(costly)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert not sizes or found(known) == sizes


def test_branches_inside_branches() -> None:
    """Branches nested deeply are read in linear cost and without recursion."""
    inner = branch("b", node("Relu", "x", out="z"))
    for level in range(20):
        deeper = helper.make_node(
            "If", ["c"], ["z"], then_branch=inner, else_branch=branch("e", node("Sqrt", "x", out="z"))
        )
        inner = branch(f"b{level}", deeper)
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=branch("e", node("Sqrt", "x", out="z")))],
        "g", [info("x", ["n"]), info("c", [], TensorProto.BOOL)], [info("y", None)],
    )  # fmt: skip
    known = read(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert found(known) == "(n,)"


def test_what_is_no_model(tmp_path: Path) -> None:
    """A file that is not a model is refused."""
    whole = model([node("Relu", "x")]).SerializeToString()
    for number, data in enumerate((b"", b"\0", b"not a model at all", whole[:-7], b"\xff" * 100, b"{}", b"PK\3\4")):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(data)
        with pytest.raises(ShapeError, match="not an ONNX model"):
            read(path)
    os.mkfifo(tmp_path / "fifo")
    for path, message in ((tmp_path, "directory"), (tmp_path / "none", "No such file"), (tmp_path / "fifo", "FIFO")):
        with pytest.raises(OSError, match=message):
            read(path)
    with pytest.raises(ShapeError, match="expected a model"):
        read(7)  # type: ignore[arg-type]


def damaged(seed: int) -> bytes:
    """A small model with a few bytes changed."""
    draw = random.Random(seed)
    nodes = [node("Shape", "x", out="s"), node("Gather", "s", "i", out="d"), node("Concat", "d", "w", axis=0, out="t")]
    data = bytearray(
        model(
            [*nodes, node("Reshape", "x", "t")], weight("i", [0]), weight("w", [-1]), sizes=["n", 8]
        ).SerializeToString()
    )
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data))
        if draw.random() < 0.7:
            data[place] = draw.randrange(256)
        else:
            del data[place : place + draw.randrange(1, 9)]
    return bytes(data)


def look(seed: int) -> bool:
    """Read a damaged model; whether there still is one."""
    try:
        read(onnx.load_model_from_string(damaged(seed)))
    except ShapeError as error:
        assert str(error)
        return False
    except Exception as error:
        assert type(error).__module__.startswith("google"), (seed, error)
        return False
    return True


def test_random_damage() -> None:
    """Models with random damage are read or refused, never a traceback."""
    assert {look(seed) for seed in range(300)} == {True, False}


@pytest.mark.thorough
def test_random_damage_for_long() -> None:
    """The rest of `test_random_damage`."""
    for seed in range(300, 20_000):
        look(seed)
