"""The guards of a torch ShapeEnv as propositions over the sizes of a program's inputs, each with its line.

    >>> import torch
    >>> from torch.fx.experimental.symbolic_shapes import ShapeEnv, TrackedFake
    >>> from torch._dynamo.source import LocalSource
    >>> from torch._subclasses import FakeTensorMode
    >>> mode = FakeTensorMode(shape_env=ShapeEnv())
    >>> mode.shape_env.tracked_fakes = []
    >>> x = mode.from_tensor(torch.ones(8, 3), static_shapes=False, source=LocalSource("x"))
    >>> mode.shape_env.tracked_fakes.append(TrackedFake(x, LocalSource("x"), None))
    >>> bool(x.shape[0] % 4 == 0)
    True
    >>> [each.text for each in read(mode.shape_env).conditions]
    ['(x.shape[0] % 4) == 0', '2 <= x.shape[0]', '2 <= x.shape[1]']

They are those that torch generates, as text with comments (`produce_guards_verbose`): branches, ranges, equalities,
constants, and Inductor's assumptions, as index widths (`numel <= 2**31 - 1`), equal sizes and multiples are guarded
during code generation.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import ShapeEnv as TorchEnv
from torch.utils._sympy.functions import FloorDiv

from frontends.pytorch.dynamo.code_facts import place_of
from frontends.pytorch.shape_env.translation import is_float, is_unbacked
from shapes.certification.certificates import Condition, Conditions
from shapes.certification.size_names import canonical, is_layout, names_in, renamed
from shapes.origin import Origin

Derived: TypeAlias = dict[sympy.Symbol, sympy.Expr]
"""Torch's symbols that are no sizes, as expressions of the sizes' names."""
LINE: Final = re.compile(r"# ([^\n#]+?):(\d+) in ([^\s()]+)")
ASKED: Final = re.compile(r"\(([^\s()]+):(\d+) in ([^\s()]+)\)")
CALLED: Final = re.compile(r"\b(?:math\.|torch\._?sym_)(?=\w+\()")
BETWEEN: Final = re.compile(r"(-?\d+ <= (.+)) <= (-?\d+)")
TORCH: Final = os.path.dirname(torch.__file__)
SPECIALIZED: Final = "sizes of 0 and 1 are specialized"
UNKNOWN: Final = "a constant: it was never a symbol"
EQUAL: Final = "duck sizing: the sizes were equal when it was compiled"


def read(
    shapes: Any,
    called: Callable[[str], str] = lambda name: name,
    first_uses: Mapping[int, Origin | None] = {},
    more: Callable[[Mapping[str, str], Derived], Iterable[Condition]] = lambda names, derived: (),
) -> Conditions:
    """The guards of a ShapeEnv, and `more`; `called` renames inputs, and `first_uses` are the lines of fake tensors."""

    def name_of(source: str) -> str:
        return called(canonical(source))

    tracked = [(name_of(each.source.name), each) for each in shapes.tracked_fakes or ()]
    lines = {name: first_uses.get(id(each.fake)) for name, each in tracked}
    sources = {symbol: each[0] for symbol, each in shapes.var_to_sources.items() if each and not is_unbacked(symbol)}
    # the `n` of a derived dimension is no size of an input
    free = {symbol: each.name for symbol, each in sources.items() if isinstance(each, ConstantSource)}
    names = {str(symbol): name_of(each.name) for symbol, each in sources.items() if symbol not in free}
    floats = {names[str(symbol)] for symbol in sources if is_float(symbol) and symbol not in free}
    equal = [(names.get(str(symbol)), target) for symbol, target in shapes.replacements.items()]
    derived = solved([(size, target) for size, target in equal if size is not None], names)
    texts = {free[symbol]: str(each) for symbol, each in derived.items() if symbol in free}
    asserts = [each for found in shapes.deferred_runtime_asserts.values() for each in found]
    assumed = [f"run-time check {renamed(str(each.expr), lambda name: names.get(name, name))}" for each in asserts]
    conditions: list[Condition] = []
    for each in generated(shapes, name_of, lines):
        mentioned = names_in(each.text)
        unknown = set(free.values()).difference(texts).intersection(mentioned)
        if unknown:
            conditions.append(replace(each, fault=f"{min(unknown)} is no size of an input"))
        elif mentioned and floats.issuperset(mentioned):
            assumed.append(each.text)
        elif not floats.isdisjoint(mentioned):
            conditions.append(replace(each, fault="it is about a float and sizes"))
        elif not any(map(is_layout, mentioned)):
            conditions.append(replace(each, text=renamed(each.text, lambda name: texts.get(name, name))))
    return Conditions(
        [*conditions, *more(names, derived)],
        names=names,
        integers=frozenset([name for name in names.values() if name.isidentifier()]),
        assumed=assumed,
        inputs=frozenset([*names.values(), *[size for name, each in tracked for size in sizes_of(name, each.fake)]]),
    )


def sizes_of(name: str, value: object) -> list[str]:
    """The names of the sizes of an input."""
    return [f"{name}.shape[{axis}]" for axis in range(value.dim())] if isinstance(value, torch.Tensor) else [name]


def generated(
    shapes: Any, name_of: Callable[[str], str], lines: Mapping[str, Origin | None]
) -> Iterator[Condition]:
    """The guards that torch generates, with the places in its comments."""
    tracked = shapes.tracked_fakes or ()
    fakes, sources = [each.fake for each in tracked], [each.source for each in tracked]
    # ours generates the minimal ones
    produce = TorchEnv.produce_guards_verbose
    (found,) = produce(shapes, fakes, sources, ignore_static=False, langs=("verbose_python",))
    for line in found.exprs:
        text, _, comment = line.partition("  # ")
        text = renamed(CALLED.sub("", text), name_of)
        both = BETWEEN.fullmatch(text)
        users, asked = LINE.findall(comment), ASKED.findall(comment)
        if both is not None:
            yield condition(both[1], comment, users[:1], asked[:-1], lines)
            text, comment = f"{both[2]} <= {both[3]}", ""
        yield condition(text, comment, users[-1:], asked[-1:], lines)


def condition(
    text: str,
    comment: str,
    users: Sequence[tuple[str, str, str]],
    asked: Sequence[tuple[str, str, str]],
    lines: Mapping[str, Origin | None],
) -> Condition:
    """A guard with the line of the program, or else the one that first uses its tensor, and torch's line that asked."""
    own = [Origin(full_path(file), int(line), name) for file, line, name in (*users, *asked) if not is_torchs(file)]
    names = names_in(text)
    first = next(filter(None, [lines.get(name.partition(".shape[")[0]) for name in names]), None)
    file, line, name = asked[-1] if asked else ("", "", "")
    why = "" if own or not asked else f"{file}:{line} in {name}"
    is_derived = bool(why) or (is_torchs(file) and not file.startswith("_dynamo"))
    constant = "unknown source" in comment
    if "0/1 specialization" in comment:
        why, is_derived = SPECIALIZED, True
    elif "duck sizing" in comment:
        why = EQUAL
    elif constant:
        why = UNKNOWN
    # attributes and globals
    is_setting = all(not each.isidentifier() and ".shape[" not in each for each in names)
    return Condition(text, own[0] if own else first, why, static=constant or is_setting, derived=is_derived)


def is_torchs(file: str) -> bool:
    """Return True if a file, as torch shows it, is one of torch's."""
    return bool(file) and os.path.exists(os.path.join(TORCH, file))


def solved(sizes: Iterable[tuple[str, sympy.Expr]], known: Collection[str]) -> Derived:
    """For the `n` of a derived dimension, which is no size itself, the number that a size determines: n is (x - 1)//4
    where x is 4*n + 1. There is such an n if and only if both are equal for this one, which is a guard too."""
    found: Derived = {}
    for size, expression in sizes:
        for symbol in itertools.filterfalse(is_unbacked, expression.free_symbols):
            factor = expression.coeff(symbol)
            rest = sympy.expand(expression - factor * symbol)
            if factor.is_Integer and factor > 0 and rest.is_Integer and str(symbol) not in known:
                found.setdefault(symbol, FloorDiv(sympy.Symbol(size, integer=True) - rest, factor))
    return found


def first_use(node: torch.fx.Node) -> Origin | None:
    """The program's line that first uses an input of a graph."""
    return next(filter(None, map(place_of, node.users)), None)


def full_path(file: str) -> str:
    """The full path of a loaded file from its suffix."""
    candidates = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    for each in candidates:
        if isinstance(each, str) and each.endswith(file):
            return each
    return file
