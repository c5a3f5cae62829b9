"""Shape inference for a model from a command line: `shapes onnx model.onnx -o annotated.onnx --size batch=1..64`.

Frontends register what reads their models among the entry points `symshape.models`, under the name of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Final, Protocol, cast

from shapes.env import ShapeEnv
from shapes.errors import Contradiction, ShapeError
from shapes.prompt import display
from shapes.prompt.certifying import NO_INPUT, USAGE, read_size
from shapes.prompt.page import Line, Page, columns, line, show, span
from shapes.sessions.long_json import dumps
from shapes.symbolic.choices import Int
from solver.errors import ParseError

READERS: Final = "symshape.models"
REFUSED: Final = 1


class Model(Protocol):
    """A model whose sizes have been inferred."""

    @property
    def env(self) -> ShapeEnv: ...

    @property
    def inputs(self) -> Sequence[str]: ...

    @property
    def outputs(self) -> Sequence[str]: ...

    @property
    def unknown(self) -> Mapping[str, str]:
        """The values whose number of axes is unknown, each with the reason."""
        ...

    def dims(self, name: str, /) -> Sequence[Int]: ...

    def save(self, path: str, /) -> None:
        """Write the model with all sizes that are known."""
        ...


class Reader(Protocol):
    def __call__(self, model: str, /, *, sizes: Mapping[str, Sequence[int | None]]) -> Model:
        """Read a file and infer its sizes, with these ranges of named sizes."""
        ...


def reader_of(kind: str) -> Reader:
    """The reader of models of a kind.

    Raises:
        ShapeError: nothing is registered for it, or what it needs is not installed.
    """
    for each in entry_points(group=READERS):
        if each.name == kind:
            try:
                return cast(Reader, each.load())
            except ImportError as error:
                said = str(error)
                fix = "" if "pip install" in said else f": pip install 'symshape[{kind}]'"
                raise ShapeError(said + fix) from None
    raise ShapeError(f"no installed package reads models of {kind}: no entry point in {READERS}")


def infer_model(
    kind: str, file: str, ranges: Sequence[str], *, output: str | None = None, as_json: bool = False
) -> int:
    """Print the sizes of a model's inputs and outputs, and its guards; the result is the exit status."""
    try:
        model = reader_of(kind)(file, sizes=dict(map(read_size, ranges)))
        if output is not None:
            model.save(output)
    except OSError as error:
        message = f"{error.filename or file}: {error.strerror or error}"
        show(display.error_page(ShapeError(message)), sys.stderr)
        return NO_INPUT
    except Contradiction as error:
        show(display.conflict_page(error.message, error.core), sys.stderr)
        return REFUSED
    except ShapeError as error:
        show(display.error_page(error), sys.stderr)
        return USAGE if isinstance(error, ParseError) else REFUSED
    if as_json:
        print(dumps(json_of(model)))
    else:
        show(page_of(model), sys.stdout)
    return 0


def sizes_of(model: Model, name: str) -> str | None:
    return None if name in model.unknown else f"({', '.join(map(str, model.dims(name)))})"


def json_of(model: Model) -> dict[str, object]:
    return {
        "inputs": {name: sizes_of(model, name) for name in model.inputs},
        "outputs": {name: sizes_of(model, name) for name in model.outputs},
        "guards": [guard.text for guard in model.env.guards()],
        "unknown": dict(model.unknown),
    }


def page_of(model: Model) -> Page:
    """Inputs, outputs and guards, and the values whose number of axes is not known."""
    page: list[Line] = []
    for title, names in (("inputs", model.inputs), ("outputs", model.outputs)):
        page.append(line(span(title, "heading")))
        page += columns([[span(f"  {name}"), span(sizes_of(model, name) or "unknown", "fact")] for name in names])
    guards = model.env.guards()
    if guards:
        page += [line(span("guards", "heading")), *display.guards_page(guards)]
    if model.unknown:
        page.append(line(span("unknown", "heading")))
        page += columns([[span(f"  {name}"), span(why, "muted")] for name, why in model.unknown.items()])
    return page


__all__ = ["infer_model"]
