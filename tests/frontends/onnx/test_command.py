"""`shapes onnx MODEL`: a model's sizes from a command line, and the annotated model that it writes."""

import configparser
import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

from frontends.onnx import read  # noqa: E402
from shapes.prompt import models  # noqa: E402
from shapes.prompt.cli import main  # noqa: E402

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
heads (float[batch, tokens, 64] x, float[batch, features] w) => (float[n, h, t, d] y, float z) {
    sizes = Shape <start = 0, end = 2> (x)
    rest = Constant <value_ints = [8, -1]> ()
    target = Concat <axis = 0> (sizes, rest)
    split = Reshape (x, target)
    y = Transpose <perm = [0, 2, 1, 3]> (split)
    four = Constant <value_ints = [-1, 4]> ()
    rows = Reshape (w, four)
    z = ReduceSum <keepdims = 0> (rows)
}"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[3] / "setup.cfg")
    name, _, target = setup["options.entry_points"]["symshape.models"].strip().splitlines()[-1].partition(" = ")
    point = EntryPoint(name, target, models.READERS)
    # as it is once the distribution is installed
    monkeypatch.setattr(models, "entry_points", lambda group: [point] if group == point.group else [])
    return str(tmp_path / "model.onnx")


def test_sizes_and_guards(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the sizes of a model, and the guards on its inputs."""
    assert main(["onnx", model]) == 0
    printed = capsys.readouterr().out
    assert "  y   (batch, 8, tokens, 8)" in printed and "  z   ()" in printed
    assert "batch*features % 4 == 0" in printed and "Reshape rows" in printed


def test_guards_that_the_sizes_settle_are_gone(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--size` removes the guards that it implies."""
    assert main(["onnx", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guards"] == ["batch*features % 4 == 0"]
    assert main(["onnx", model, "--json", "--size", "features=4..64:4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["guards"] == [] and found["outputs"] == {"y": "(batch, 8, tokens, 8)", "z": "()"}


def test_the_annotated_model(model: str, tmp_path: Path) -> None:
    """The written model is valid, and declares the inferred sizes."""
    output = str(tmp_path / "annotated.onnx")
    assert main(["onnx", model, "-o", output]) == 0
    written = onnx.load(output)
    onnx.checker.check_model(written)
    declared = {
        info.name: [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
        for info in (*written.graph.value_info, *written.graph.output)
    }
    assert declared["y"] == ["batch", 8, "tokens", 8] and declared["z"] == []
    assert declared["split"] == ["batch", "tokens", 8, 8] and declared["rows"] == ["batch*features//4", 4]
    assert str(read(written).dims("y")) == str(read(model).dims("y"))


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["--size", "batsch=2"], 1, "no such dimension; there are batch, tokens, features"),
        (["--size", "batch"], 64, "expected NAME=LO..HI"),
        (["--size", "batch=1..3", "--size", "features=1"], 1, "batch*features % 4 == 0"),
        (["-o", "/nowhere/at/all.onnx"], 66, "No such file"),
    ],
)
def test_what_is_refused(
    model: str, arguments: list[str], status: int, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = main(["onnx", model, *arguments])
    printed = capsys.readouterr()
    assert found == status and part in printed.err, printed


def test_no_model(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("no model")
    assert main(["onnx", str(tmp_path / "nothing")]) == 66
    assert main(["onnx", str(tmp_path / "text")]) == 1
    assert "not an ONNX model" in capsys.readouterr().err


def test_a_frontend_that_is_not_installed(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without ONNX, the command ends in an error that names the missing package."""
    absent = EntryPoint("onnx", "no_such_package:read", models.READERS)
    for points, part in (([], "no entry point in symshape.models"), ([absent], "pip install 'symshape[onnx]'")):
        monkeypatch.setattr(models, "entry_points", lambda group, points=points: points)
        assert main(["onnx", model]) == 1
        assert part in capsys.readouterr().err
