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
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, get_args, get_origin

from frontends.jaxtyping.dimensions import Dimension, Several, read_dimensions
from frontends.jaxtyping.matching import Condition, Matching
from frontends.jaxtyping.trees import leaves, structure
from shapes.accepted import shown
from shapes.errors import NotExpressible, ShapeError

KINDS: Final = re.compile(
    "(Shaped|Bool|Key|Num|Inexact|Real|Float|Complex|Integer|UInt|Int)|(BFloat|Float|Complex|UInt|Int)[0-9][0-9a-z]*"
)


MOST_DIMENSIONS: Final = 64


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

    def has_rank(self, rank: int) -> bool:
        """Return True if arrays with this many dimensions may fit."""
        several = sum([isinstance(each, Several) for each in self.dimensions])
        return len(self.dimensions) - several <= rank and (several > 0 or rank == len(self.dimensions))


@dataclass(frozen=True, slots=True)
class Union:
    """A union: one of these annotations, or None if it is `optional`. At most one fits a number of dimensions."""

    options: tuple[Annotation, ...]
    optional: bool

    def of_rank(self, rank: int) -> Annotation | None:
        """The option that may fit an array with this many dimensions."""
        return next((each for each in self.options if each.has_rank(rank)), None)

    def __str__(self) -> str:
        return " or ".join([f"'{each.text}'" for each in self.options] + ["None"] * self.optional)


@dataclass(frozen=True, slots=True)
class Tree:
    """A `PyTree`: containers of arrays with this annotation; those of one structure's name are nested alike."""

    leaf: Annotation
    structure: str | None


@dataclass(frozen=True, slots=True)
class Repeated:
    """`*args`: any number of arguments with this annotation."""

    each: Annotation


Shaped = tuple["Shaped", ...] | Annotation | Union | Tree | None
"""The annotations of a result: one, or those of a tuple; None where it has no dimensions."""
Argument = Annotation | Union | Tree | Repeated


@dataclass(frozen=True, slots=True)
class Signature:
    """The dimensions of a function's arguments, in order, and of its result. `others` have none."""

    name: str
    arguments: Mapping[str, Argument]
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
            self._hold(matching, annotation, shapes[name], name)
        if result is not None:
            for annotation, found, place in paired(self.result, result, "return"):
                self._hold(matching, annotation, found, place)
        return {name: int(bound.size) for name, bound in matching.sizes.items()}

    def _hold(self, matching: Matching, annotation: Argument, found: object, place: str) -> None:
        for condition in conditions_of(matching, annotation, found, place):
            if condition.holds is False:
                raise Mismatch(f"{self.name}: {condition.text}")


def conditions_of(matching: Matching, annotation: Argument, found: object, place: str) -> Iterator[Condition]:
    """The conditions under which a value has an annotation. Each is followed by what it binds."""
    match annotation:
        case Annotation(dimensions=dimensions):
            if found is None:
                yield Condition(False, f"{place} is None, annotated with '{annotation.text}'")
                return
            yield from matching.conditions(dimensions, sizes_of(place, found), place)
        case Union(optional=optional):
            if found is None and optional:
                return
            sizes = None if found is None else sizes_of(place, found)
            option = None if sizes is None else annotation.of_rank(len(sizes))
            if sizes is None or option is None:
                shown_as = "None" if sizes is None else f"of {len(sizes)} dimension{'s' * (len(sizes) != 1)}"
                yield Condition(False, f"{place} is {shown_as}, annotated with {annotation}")
                return
            yield from matching.conditions(option.dimensions, sizes, place)
        case Tree(leaf, name):
            if name is not None:
                yield matching.structured(name, structure(found), place)
            for where, each in leaves(found):
                inside = f"{place}{'' if where.startswith('[') or not where else '.'}{where}"
                yield from conditions_of(matching, leaf, each, inside)
        case Repeated(each=repeated):
            if not isinstance(found, Sequence):
                raise ShapeError(f"{place}={shown(found)}: expected an array, or its sizes, for each argument")
            for index, part in enumerate(found):
                yield from conditions_of(matching, repeated, part, f"{place}[{index}]")


def paired(annotated: Shaped, found: object, place: str) -> Iterator[tuple[Argument, object, str]]:
    """The annotations of a result beside what was found, with the place of each.

    Raises:
        Mismatch: a tuple has another length.
    """
    if isinstance(annotated, Annotation | Union | Tree):
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
    arguments: dict[str, Argument] = {}
    for name, parameter in parameters.items():
        found = _read(written.get(name), names)
        if not isinstance(found, Annotation | Union | Tree):
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise NotExpressible(f"**{name} stands for several arguments: annotations of **kwargs are not supported")
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            arguments[name] = found
        elif isinstance(found, Annotation):
            arguments[name] = Repeated(found)
        else:
            raise NotExpressible(f"*{name}: the annotation of *args must be an array, not a union or a tree")
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
    if get_origin(annotation) in (typing.Union, types.UnionType):
        options = get_args(annotation)
        return _union([None if each is types.NoneType else _read(each, names) or False for each in options])
    leaf = getattr(annotation, "leaftype", None)
    if leaf is not None:
        return _tree(_read(leaf, names), getattr(annotation, "structure", None))
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
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union([_read_option(each, names) for each in (left, right)])
        case ast.Subscript(value=name, slice=part) if ast.unparse(name).rpartition(".")[2] == "Optional":
            return _union([_read_option(part, names), None])
        case ast.Subscript(value=name, slice=ast.Tuple(elts=parts)) if ast.unparse(name).rpartition(".")[2] == "Union":
            return _union([_read_option(part, names) for part in parts])
        case ast.Subscript(value=name, slice=ast.Tuple(elts=[leaf, ast.Constant(value=str(text))])) if (
            ast.unparse(name).rpartition(".")[2] == "PyTree"
        ):
            return _tree(_read_tree(leaf, names), text)
        case ast.Subscript(value=name, slice=leaf) if ast.unparse(name).rpartition(".")[2] == "PyTree":
            return _tree(_read_tree(leaf, names), None)
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


def _read_option(tree: ast.expr, names: Mapping[str, object]) -> Shaped | bool:
    """An alternative of a union: None for `None`, False for one without dimensions."""
    if isinstance(tree, ast.Constant) and tree.value is None:
        return None
    return _read_tree(tree, names) or False


def _union(options: Sequence[Shaped | bool]) -> Shaped:
    """A union of annotations and None; None where an alternative has no dimensions.

    Raises:
        NotExpressible: two alternatives may fit one array, and name its sizes differently.
    """
    found: list[Annotation] = []
    optional = False
    for each in options:
        if each is None:
            optional = True
        elif isinstance(each, Union):
            found += each.options
            optional = optional or each.optional
        elif isinstance(each, Annotation):
            found.append(each)
        else:
            return None
    merged: dict[str, Annotation] = {}
    for one in found:
        known = merged.get(one.text)
        merged[one.text] = one if known is None or known.kind == one.kind else replace(known, kind="")
    for first, second in combinations(merged.values(), 2):
        if any(first.has_rank(rank) and second.has_rank(rank) for rank in range(MOST_DIMENSIONS)):
            raise NotExpressible(
                f"'{first.text}' and '{second.text}' may both fit an array; give the alternatives of a union"
                " different numbers of dimensions"
            )
    if not merged:
        return None
    if len(merged) == 1 and not optional:
        return next(iter(merged.values()))
    return Union(tuple(merged.values()), optional)


def _tree(leaf: Shaped, name: str | None) -> Shaped:
    """A tree of arrays; None where its leaves have no dimensions.

    Raises:
        NotExpressible: its leaves are no arrays, or its structure is composed of others.
    """
    if leaf is None:
        return None
    if not isinstance(leaf, Annotation):
        raise NotExpressible("a PyTree whose leaves are not arrays is not supported")
    name = None if name is None else name.strip()
    if name is not None and not name.isidentifier():
        raise NotExpressible(f"PyTree structure `{name}`: only a single structure name is supported")
    return Tree(leaf, name)


def _is_kind(name: str, names: Mapping[str, object]) -> bool:
    """The name is one of jaxtyping's kinds of arrays, `Float32` for one, or of a class like them."""
    return bool(KINDS.fullmatch(name.rpartition(".")[2])) or hasattr(names.get(name), "dtypes")


__all__ = ["Annotation", "Mismatch", "Repeated", "Signature", "Tree", "Union", "signature_of"]
