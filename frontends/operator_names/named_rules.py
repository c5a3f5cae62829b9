"""Tables of named rules: each line maps a library's operator to a rule of this project.

    >>> from shapes import ShapeEnv
    >>> mine = OperatorNames("mine", '''
    ...     join(arrays, axis=0)             = cat(arrays, axis)
    ...     halves(a, axis=-1)               = chunk(a, 2, axis)
    ... ''')
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> mine["join"](env, [(b, 3), (s, 3)]), mine.halves(env, (b, 6))
    (Shape(b + s, 3), (Shape(b, 3), Shape(b, 3)))
    >>> mine["join"](env, [(b, 3), (s, 4)], axis=0)
    Traceback (most recent call last):
    shapes.rules.registry.Refused: mine.join(arrays=[(b, 3), (s, 4)], axis=0): axes differ that are not joined

The left side is the operator with its argument names and defaults; the right side is a Python expression whose calls
are rules. A line that is indented further continues the one before it.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
from textwrap import dedent
from typing import Final

from shapes.env import ShapeEnv
from shapes.rules import Refused, Rule, rules
from shapes.rules.registry import Output

PLAIN: Final = {"len": len, "range": range, "slice": slice, "tuple": tuple}
"""Functions of Python that an expression may call beside rules."""


class NamedRule(Rule):
    """A rule under a library's name. Its errors show the call in the library's terms."""

    def __call__(self, env: ShapeEnv, /, *args: object, **kwargs: object) -> Output:
        try:
            return super().__call__(env, *args, **kwargs)
        except Refused as refused:
            reason = refused.__cause__ or refused
            raise Refused(f"{self.call_text(args, kwargs)}: {reason}") from refused


class OperatorNames(Mapping[str, Rule]):
    """Operators by the names of one library, as items and as attributes."""

    def __init__(self, name: str, table: str, *, like: Callable[[str], Rule | None] = lambda name: None) -> None:
        """`table` has one rule on each line; `like` derives the rule of a missing name, or returns None."""
        self.name = name
        joined = re.sub(r"\n {2,}", " ", dedent(table).strip())
        self._lines = dict(_line(line) for line in joined.splitlines() if line.strip())
        self._like = like
        self._rules: dict[str, Rule] = {}
        self._made: dict[str, Rule] = {}
        """The rules that were asked for: from a line, or like a rule."""

    def __getitem__(self, name: str) -> Rule:
        rule = self._rules.get(name) or self._made.get(name)
        if rule is None:
            line = self._lines.get(name)
            made = self._like(name) if line is None else _defined(f"{self.name}.{name}", *line)
            if made is None:
                raise KeyError(name)
            rule = self._made[name] = made
        return rule

    def define(self, name: str) -> Callable[[Callable[..., object]], NamedRule]:  # type: ignore[explicit-any]  # any rule
        """Register a function as a rule, where a line is not enough."""

        def register(function: Callable[..., object]) -> NamedRule:  # type: ignore[explicit-any]  # any rule
            made = self._rules[name] = NamedRule(f"{self.name}.{name}", function)
            return made

        return register

    def __getattr__(self, name: str) -> Rule:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self.name} has no rule {name}") from None

    def __iter__(self) -> Iterator[str]:
        """The names that are defined; `like` may derive more."""
        return iter(sorted({*self._lines, *self._rules}))

    def __len__(self) -> int:
        return len({*self._lines, *self._rules})

    def __repr__(self) -> str:
        return f"<operator names of {self.name}, {len(self)}>"


def renamed(name: str, rule: Rule, names: Mapping[str, str]) -> NamedRule:
    """A rule with other names for some of its parameters."""
    back = {new: old for old, new in names.items()}

    def call(env: ShapeEnv, /, *args: object, **kwargs: object) -> Output:
        return rule(env, *args, **{back.get(key, key): value for key, value in kwargs.items()})

    call.__doc__ = rule.__doc__
    parameters = [one.replace(name=names.get(one.name, one.name)) for one in rule.signature.parameters.values()]
    vars(call)["__signature__"] = rule.signature.replace(parameters=parameters)
    return NamedRule(name, call)


def _line(line: str) -> tuple[str, tuple[str, str]]:
    """A line of a table: name, parameters and expression."""
    found = re.fullmatch(r"([\w.]+)\((.*?)\) += (.*)", line)
    if found is None:
        raise ValueError(f"expected `name(parameters) = expression`, not {line!r}")
    return found[1], (found[2], found[3])


def _defined(name: str, parameters: str, expression: str) -> NamedRule:
    tree = ast.parse(f"lambda env, {parameters}: {expression}", mode="eval")
    tree = ast.fix_missing_locations(_Calls().visit(tree))
    # a file name of ours, so that origins name the caller's line
    file = f"{os.path.dirname(__file__)}{os.sep}<{name}>"
    function = eval(compile(tree, file, "eval"), {"__builtins__": {}, **PLAIN, "call": _call})
    function.__doc__ = f"As {expression}."
    return NamedRule(name, function)


class _Calls(ast.NodeTransformer):
    """Rewrite calls of rules by name to look-ups."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name in PLAIN:
            return node
        arguments: list[ast.expr] = [ast.Constant(name), ast.Name("env", ast.Load()), *node.args]
        return ast.Call(ast.Name("call", ast.Load()), arguments, node.keywords)


def _call(name: str, env: ShapeEnv, *args: object, **kwargs: object) -> Output:
    return rules[name](env, *args, **kwargs)


__all__ = ["NamedRule", "OperatorNames", "renamed"]
