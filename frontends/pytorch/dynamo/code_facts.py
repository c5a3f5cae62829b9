"""Facts about a program's code: the lines that read a name, and those that look for something in a container.

    >>> from frontends.pytorch.dynamo.code_facts import global_reads
    >>> def f(a, b):
    ...     return max(a, b)
    >>> [each.function for each in global_reads(f.__code__, "max")], list(global_reads(f.__code__, "min"))
    (['f'], [])
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Final

import torch

from frontends.pytorch.dynamo.graph_function import frames_of
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin

GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")
SIZES: Final = frozenset(("shape", "size", "len", "numel", "nelement", "stride", "item", "tolist"))
"""Names by which a program reads sizes and other numbers that may be symbols."""
Place = tuple[int, int, int, int]


@functools.lru_cache(maxsize=4096)
def instructions(code: CodeType) -> Sequence[dis.Instruction]:
    """The instructions of a code object."""
    return tuple(dis.get_instructions(code))


def reads(code: CodeType, kinds: Sequence[str], name: str) -> Iterator[Origin]:
    if name in code.co_names:
        for each in instructions(code):
            if each.opname in kinds and each.argval == name:
                yield Origin.of_instruction(code, each.offset)


def global_reads(code: CodeType, name: str) -> Iterator[Origin]:
    """The places that read a global or a builtin."""
    return reads(code, GLOBALS, name)


def attribute_reads(code: CodeType, name: str) -> Iterator[Origin]:
    """The places that read an attribute."""
    return reads(code, ATTRIBUTES, name)


def missing_attributes(code: CodeType) -> Iterator[Origin]:
    """The places that set an attribute for which the code asks by its name."""
    if "getattr" in code.co_names or "hasattr" in code.co_names:
        for each in instructions(code):
            if each.opname == "STORE_ATTR" and each.argval in code.co_consts:
                yield Origin.of_instruction(code, each.offset)


def membership_tests(code: CodeType) -> Iterator[Origin]:
    """The places of `in` and `not in`."""
    return (Origin.of_instruction(code, each.offset) for each in instructions(code) if each.opname == "CONTAINS_OP")


def numbers_looked_for(code: CodeType) -> Iterator[Origin]:
    """The places of `in` and `not in` where a number may be looked for among sizes. Neither types nor values are known:
    a literal number may be anywhere, and anything may be among what the function has computed of sizes."""
    yield from attribute_reads(code, "__contains__")
    yield from global_reads(code, "contains")
    for each in instructions(code):
        if each.opname == "CONTAINS_OP":
            found = None
            if each.positions is not None and None not in each.positions:
                place = each.positions.lineno, each.positions.col_offset
                found = comparisons(code.co_filename, "".join(linecache.getlines(code.co_filename))).get(place)  # type: ignore[arg-type]
            if found is None or any(may_miss(*test, found[1]) for test in tests_of(found[0])):
                yield Origin.of_instruction(code, each.offset)


def tests_of(comparison: ast.Compare) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of item and container, one per membership test."""
    sides = [comparison.left, *comparison.comparators]
    return ((a, b) for a, op, b in zip(sides, comparison.ops, sides[1:]) if isinstance(op, ast.In | ast.NotIn))


def may_miss(item: ast.expr, container: ast.expr, function: ast.AST) -> bool:
    """Return True if a membership test may look for a number among sizes."""
    if literal(container) or isinstance(container, ast.Set | ast.Dict | ast.SetComp | ast.DictComp):
        # hashed: Dynamo makes sizes constants
        return False
    if (literal(item) and not is_number(item)) or is_table(container, item, function):
        return False
    return literal(item) or mentions_sizes(container, function, frozenset())


def is_table(container: ast.expr, item: ast.expr, function: ast.AST) -> bool:
    """Return True if the function uses a container as a dictionary: it reads or writes it at the item."""
    wanted = ast.dump(container), ast.dump(item)
    entries = [each for each in ast.walk(function) if isinstance(each, ast.Subscript)]
    return any((ast.dump(each.value), ast.dump(each.slice)) == wanted for each in entries)


def literal(node: ast.expr) -> bool:
    """Return True if an expression is made of constants alone."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def is_number(node: ast.expr) -> bool:
    return isinstance(ast.literal_eval(node), int | float)


def mentions_sizes(node: ast.expr, function: ast.AST, seen: frozenset[str]) -> bool:
    """Return True if an expression reads sizes, by itself or by the variables of its function."""
    for each in ast.walk(node):
        name = each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        if name in SIZES:
            return True
        if isinstance(each, ast.Name) and name not in seen:
            if any(mentions_sizes(value, function, seen | {name}) for value in assigned(function, name)):
                return True
    return False


def assigned(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """The expressions that a variable is assigned or extended by."""
    for each in ast.walk(function):
        match each:
            case ast.Assign(targets=targets, value=value) if any(binds(target, name) for target in targets):
                yield value
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                if binds(target, name):
                    yield value
            case ast.AnnAssign(target=target, value=value) if value is not None and binds(target, name):
                yield value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                if binds(target, name):
                    yield value
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of)), args=arguments) if of == name:
                yield from arguments


def binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(target))


@functools.lru_cache(maxsize=64)
def comparisons(file: str, text: str) -> dict[tuple[int, int], tuple[ast.Compare, ast.AST]]:
    """The comparisons of a file by their places, each with the function around it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    found: dict[tuple[int, int], tuple[ast.Compare, ast.AST]] = {}

    def visit(node: ast.AST, function: ast.AST) -> None:
        if isinstance(node, ast.Compare):
            found[node.lineno, node.col_offset] = node, function
        inner = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else function
        for each in ast.iter_child_nodes(node):
            visit(each, inner)

    visit(tree, tree)
    return found


def texts(code: CodeType) -> Iterator[str]:
    """The texts among a code object's constants."""
    values: list[object] = list(code.co_consts)
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | frozenset):
            values.extend(value)


def generators_in(code: CodeType) -> Iterator[Origin]:
    """Generators that a function defines."""
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_flags & inspect.CO_GENERATOR:
            yield Origin.of_instruction(each, 0)


COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Names of code that is no function of the program's."""


def has_state(code: CodeType) -> bool:
    """Return True if a function may access state that outlives a call, other than globals that it reads."""
    stores = ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR")
    return bool(code.co_freevars) or any(each.opname in stores for each in instructions(code))


def place_of(node: torch.fx.Node) -> Origin | None:
    """The line of the program that an operator of a graph stands on: the innermost of its stack."""
    frames = [frame for frame in frames_of(node) if is_users(frame[0])]
    return Origin(*frames[-1]) if frames else None
