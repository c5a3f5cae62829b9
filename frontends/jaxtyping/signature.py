"""The annotations of a function: which argument has which dimensions, and the check of one call.

    >>> from frontends.jaxtyping.signature import signature_of
    >>> def scores(q: "Float[Array, 'b s d']", k: "Float[Array, 'b t d']") -> "Float[Array, 'b s t']": ...
    >>> signature = signature_of(scores)
    >>> signature.check({"q": (2, 5, 8), "k": (2, 7, 8)}, result=(2, 5, 7))
    {'b': 2, 's': 5, 'd': 8, 't': 7}
    >>> signature.check({"q": (2, 5, 8), "k": (2, 7, 9)})
    Traceback (most recent call last):
    frontends.jaxtyping.signature.Mismatch: scores: dimension d: k.shape[2] is 9, q.shape[2] is 8

Annotations are jaxtyping's, or text that looks like them: jaxtyping need not be installed.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args, get_origin

from frontends.jaxtyping.dimensions import Dimension, read_dimensions
from frontends.jaxtyping.matching import Condition, Matching
from shapes.accepted import shown
from shapes.errors import NotExpressible, ShapeError

KINDS: Final = re.compile(
    "(Shaped|Bool|Key|Num|Inexact|Real|Float|Complex|Integer|UInt|Int)|(BFloat|Float|Complex|UInt|Int)[0-9][0-9a-z]*"
)


class Mismatch(ShapeError):
    """Shapes that the annotations do not accept."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """The dimensions of one array, their text, and the names of its type and its kind, `Tensor` and `Float` for
    instance."""

    text: str
    dimensions: tuple[Dimension, ...]
    array: str
    kind: str


Shaped = tuple["Shaped", ...] | Annotation | None
"""The annotations of a result: one, or those of a tuple; None where it has no dimensions."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The dimensions of a function's arguments, in order, and of its result. `others` have none."""

    name: str
    arguments: Mapping[str, Annotation]
    result: Shaped
    others: tuple[str, ...]

    def check(
        self, shapes: Mapping[str, object], result: object = None, values: Mapping[str, object] = {}
    ) -> dict[str, int]:
        """The sizes by name in a call with arguments of these shapes, or arrays, and with this result if it is given.

        Raises:
            Mismatch: jaxtyping refuses the call.
        """
        matching = Matching(values)
        for name, annotation in self.arguments.items():
            if name not in shapes:
                raise ShapeError(f"{self.name}: the shape of {name} is missing")
            self._hold(matching.conditions(annotation.dimensions, sizes_of(name, shapes[name]), name))
        if result is not None:
            for annotation, found, place in paired(self.result, result, "return"):
                self._hold(matching.conditions(annotation.dimensions, sizes_of(place, found), place))
        return {name: int(bound.size) for name, bound in matching.sizes.items()}

    def _hold(self, conditions: Iterator[Condition]) -> None:
        for condition in conditions:
            if condition.holds is False:
                raise Mismatch(f"{self.name}: {condition.text}")


def paired(annotated: Shaped, found: object, place: str) -> Iterator[tuple[Annotation, object, str]]:
    """The annotations of a result beside what was found, with the place of each.

    Raises:
        Mismatch: a tuple has another length.
    """
    if isinstance(annotated, Annotation):
        yield annotated, found, place
    elif isinstance(annotated, tuple):
        if not isinstance(found, tuple | list) or len(found) != len(annotated):
            raise Mismatch(f"{place}: expected a tuple of {len(annotated)}, not {shown(found)}")
        for index, (each, part) in enumerate(zip(annotated, found)):
            yield from paired(each, part, f"{place}[{index}]")


def sizes_of(place: str, value: object) -> tuple[int, ...]:
    """The sizes of an array, or a sequence of sizes."""
    sizes = getattr(value, "shape", value)
    if not isinstance(sizes, Sequence) or isinstance(sizes, str):
        raise ShapeError(f"{place}={shown(value)}: expected an array, or its sizes")
    return tuple(sizes)


def signature_of(function: Callable[..., object]) -> Signature:  # type: ignore[explicit-any]  # any function
    """The annotations of a function.

    Raises:
        ParseError: dimensions that jaxtyping does not accept.
        ShapeError: it is no function with annotations.
    """
    if not callable(function):
        raise ShapeError(f"function={shown(function)}: expected a function")
    function = inspect.unwrap(function)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise ShapeError(f"function={shown(function)}: {error}") from None
    written = dict(getattr(function, "__annotations__", {}))
    names = {**vars(sys.modules.get(function.__module__, object)), **getattr(function, "__globals__", {})}
    arguments = {name: found for name in parameters if isinstance(found := _read(written.get(name), names), Annotation)}
    for name in arguments:
        if parameters[name].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise NotExpressible(f"{name} stands for several arguments, whose annotation is not read")
    return Signature(
        getattr(function, "__name__", "function"),
        arguments,
        _read(written.get("return"), names),
        tuple([name for name in parameters if name not in arguments]),
    )


def _read(annotation: object, names: Mapping[str, object]) -> Shaped:
    """The dimensions of an annotation; None where it has none."""
    if isinstance(annotation, str):
        try:
            tree = ast.parse(annotation, mode="eval").body
        except SyntaxError:
            return None
        return _read_tree(tree, names)
    if isinstance(text := getattr(annotation, "dim_str", None), str):
        array = getattr(getattr(annotation, "array_type", None), "__name__", "Any")
        kind = getattr(getattr(annotation, "dtype", None), "__name__", "")
        return Annotation(text, read_dimensions(text), array, kind)
    if get_origin(annotation) is tuple and Ellipsis not in get_args(annotation):
        return tuple([_read(each, names) for each in get_args(annotation)])
    return None


def _read_tree(tree: ast.expr, names: Mapping[str, object]) -> Shaped:
    match tree:
        case ast.Constant(value=str(text)):
            return _read(text, names)
        case ast.Name(id=name):
            return None if isinstance(found := names.get(name), str) else _read(found, names)
        case ast.Subscript(value=ast.Name(id="tuple" | "Tuple"), slice=ast.Tuple(elts=parts)):
            return tuple([_read_tree(part, names) for part in parts])
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=[array, ast.Constant(value=str(text))])) if (
            _is_kind(ast.unparse(kind), names)
        ):
            inner = _read_tree(array, names)
            if not isinstance(inner, Annotation):
                name = ast.unparse(array).rpartition(".")[2]
                return Annotation(text.strip(), read_dimensions(text), name, ast.unparse(kind).rpartition(".")[2])
            text = f"{text.strip()} {inner.text}"
            return Annotation(text, read_dimensions(text), inner.array, inner.kind)
    return None


def _is_kind(name: str, names: Mapping[str, object]) -> bool:
    """The name is one of jaxtyping's kinds of arrays, `Float32` for one, or of a class like them."""
    return bool(KINDS.fullmatch(name.rpartition(".")[2])) or hasattr(names.get(name), "dtypes")


__all__ = ["Annotation", "Mismatch", "Signature", "signature_of"]
