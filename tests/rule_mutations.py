"""Mechanical mutations of the rules of operators: one place in a syntax tree changed, as a mistake would.

    >>> from tests.rule_mutations import FOLDER, mutants
    >>> [mutant.key for mutant in mutants(FOLDER / "axes.py") if mutant.kind == "term forgotten"][0]
    'axes.py replaced: term forgotten: axis + 1 -> axis'

Only what has to do with sizes is changed: no messages, no dtypes, no conditions that choose between two ways to the
same answer.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import shapes.rules

FOLDER = Path(shapes.rules.__file__ or "").parent
NOT_RULES = (
    *("__init__", "__main__", "expectations", "reference", "registry", "shape", "promotion", "collectives", "sharding"),
)
"""The functions that give no sizes, and those that another test compares with simulated ranks or with DTensor."""
OF_NUMPY = ("_backwards", "numpy_getitem")
"""The attributes that only arrays of NumPy have; these are compared with it in tests of their own."""
REQUIRING = ("require", "require_at_least", "at_least", "positive", "agree", "agree_all", "expandable")
UNSEEN = frozenset(("strides", "dtype", "storage_offset", "message", "name"))
"""Keyword arguments that say nothing about sizes."""
SWAPPED = {"sym_min": "sym_max", "sym_max": "sym_min", "min": "max", "max": "min"}
MOVED = {ast.LtE: ast.Lt, ast.Lt: ast.LtE, ast.GtE: ast.Gt, ast.Gt: ast.GtE, ast.Eq: ast.LtE, ast.NotEq: ast.Lt}
Place = tuple[str, int]


@dataclass
class Mutant:
    """One changed place: the function that it is in, and the text before and after."""

    file: Path
    line: int
    function: Place
    kind: str
    old: str
    new: str
    module: ast.Module = field(repr=False)
    node: ast.AST = field(repr=False)
    replacement: ast.AST = field(repr=False)

    @property
    def tree(self) -> ast.Module:
        """The file with the place changed; positions stay, as they identify functions."""
        return ast.fix_missing_locations(_replaced(self.module, self.node, self.replacement))

    @property
    def key(self) -> str:
        """The key of a mutation, whatever line it is on."""
        return f"{self.file.name} {self.function[0]}: {self.kind}: {self.old} -> {self.new}"

    def __str__(self) -> str:
        return f"{self.key}   (line {self.line})"


def mutants(file: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    tree = ast.parse(file.read_text())
    for function in _functions(tree):
        for node, context in _nodes(function):
            for kind, replacement in _changes(node, context, function):
                line = int(getattr(node, "lineno", function.lineno))
                place = function.name, function.lineno
                yield Mutant(file, line, place, kind, text_of(node), text_of(replacement), tree, node, replacement)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions at the top, and those in them with the outer one: a mutation is made once, in the outermost."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in OF_NUMPY:
            yield node


def _nodes(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of a body that have to do with sizes; the context is "requires", "chooses" or "gives"."""

    def walk(node: ast.AST, context: str) -> Iterator[tuple[ast.AST, str]]:
        match node:
            case ast.arguments() | ast.JoinedStr():
                return
            case ast.FunctionDef():
                for child in node.body:
                    yield from walk(child, context)
                return
            case ast.AnnAssign(value=value):
                if value is not None:
                    yield from walk(value, context)
                return
            case ast.keyword(arg=name) if name in UNSEEN:
                return
            case ast.If(test=test, body=body, orelse=rest):
                yield node, context
                yield from walk(test, "requires" if isinstance(body[0], ast.Raise) else "chooses")
                for child in (*body, *rest):
                    yield from walk(child, context)
                return
            case ast.IfExp(test=test, body=then, orelse=other):
                yield from walk(test, "chooses")
                yield from walk(then, context)
                yield from walk(other, context)
                return
            case ast.Call() if _called(node) in REQUIRING:
                context = "requires"
        yield node, context
        for child in ast.iter_child_nodes(node):
            yield from walk(child, context)

    for statement in function.body:
        # what registers rules has run when a mutation is put in place
        if not function.name.startswith("_register") or isinstance(statement, ast.FunctionDef):
            yield from walk(statement, "gives")


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _changes(node: ast.AST, context: str, function: ast.FunctionDef) -> Iterator[tuple[str, ast.AST]]:
    """The nodes that may replace a node."""
    arguments = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
    match node:
        case ast.Expr(value=ast.Call() as call) if _called(call) in REQUIRING:
            yield "dropped requirement", ast.Pass()
        case ast.If(body=[ast.Raise(), *_]):
            changed = copy.deepcopy(node)
            changed.test = ast.Constant(False)
            yield "dropped refusal", changed
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant()]):
            pass  # the constant is moved, and a length is never below zero
        case ast.Compare(ops=[ast.NotEq()], comparators=[right]) if not _counts(node.left) and not _counts(right):
            pass  # names and modes have no order
        case ast.Compare(ops=[ast.NotEq()], comparators=[ast.Constant(value=0)]):
            pass
        case ast.Compare(ops=[op], comparators=[_]) if context == "requires" and type(op) in MOVED:
            changed = copy.deepcopy(node)
            changed.ops = [MOVED[type(op)]()]
            yield "comparison moved", changed
        case ast.BinOp(op=ast.FloorDiv()) if context != "chooses":
            opposite = ast.BinOp(ast.UnaryOp(ast.USub(), node.left), ast.FloorDiv(), node.right)
            if not _is_exact(node, function):
                yield "rounded up", ast.UnaryOp(ast.USub(), opposite)
            yield "divisor forgotten", node.left
        case ast.BinOp(op=ast.Add() | ast.Sub() as op) if context != "chooses":
            if not isinstance(node.left, ast.Tuple | ast.List) and not isinstance(node.right, ast.Tuple | ast.List):
                other = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                yield "sign", ast.BinOp(node.left, other, node.right)
                if _mentions(node.right, arguments) or isinstance(node.right, ast.Constant):
                    yield "term forgotten", node.left
        case ast.BinOp(op=ast.Mult()) if context != "chooses":
            if not isinstance(node.left, ast.Tuple | ast.List) and not isinstance(node.right, ast.Tuple | ast.List):
                yield "factor forgotten", node.left
                yield "factor forgotten", node.right
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED and context != "chooses":
            changed = copy.deepcopy(node)
            changed.func = ast.Name(SWAPPED[name], ast.Load())
            yield f"{SWAPPED[name]} for {name}", changed
        case ast.Call(func=ast.Name(id="ceildiv" | "sym_ceildiv")) if context != "chooses":
            yield "rounded down", ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])
        case ast.Subscript(slice=ast.Constant(value=int(index)) as place) if type(index) is int:
            changed = copy.deepcopy(node)
            changed.slice = ast.Constant({0: 1, -1: -2}.get(place.value, place.value - 1 if index > 0 else index + 1))
            yield "another axis", changed
        case ast.Constant(value=int(value)) if type(value) is int and context != "chooses":
            yield "off by one", ast.Constant(value + 1)


def _counts(node: ast.AST) -> bool:
    """Return True if an operand is plainly a number."""
    match node:
        case ast.Constant(value=int()) | ast.Call(func=ast.Name(id="len")):
            return True
        case ast.BinOp():
            return True
    return False


def _is_exact(quotient: ast.BinOp, function: ast.FunctionDef) -> bool:
    """Return True if the function looks at the remainder as well: rounding up what leaves none changes nothing."""
    left, right = ast.dump(quotient.left), ast.dump(quotient.right)
    return any(
        isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod)
        and (ast.dump(inner.left), ast.dump(inner.right)) == (left, right)
        for inner in ast.walk(function)
    )  # fmt: skip


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def _replaced(tree: ast.Module, node: ast.AST, by: ast.AST) -> ast.Module:
    """A copy of a tree with one node replaced."""

    class Replace(ast.NodeTransformer):
        def visit(self, each: ast.AST) -> ast.AST:
            if each is node:
                return ast.copy_location(copy.deepcopy(by), node)
            return super().generic_visit(each)

    kept: dict[int, object] = {id(node): node}  # the transformer works in place, and finds the node by its identity
    changed = Replace().visit(copy.deepcopy(tree, kept))
    assert isinstance(changed, ast.Module)
    return changed


def text_of(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
    return text.splitlines()[0]


def chosen(every: Sequence[Mutant], count: int, seed: int = 0) -> list[Mutant]:
    """A sample in which each file and kind has its share."""
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in every:
        groups.setdefault((mutant.file.name, mutant.kind.partition(" for ")[0]), []).append(mutant)
    rng = random.Random(seed)
    for group in groups.values():
        rng.shuffle(group)
    found: list[Mutant] = []
    while len(found) < min(count, len(every)):
        for key in sorted(groups):
            if groups[key] and len(found) < count:
                found.append(groups[key].pop())
    return found
