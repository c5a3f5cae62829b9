"""The guards of a torch ShapeEnv over the sizes of a program's inputs, as torch prints them, each with its line.

    >>> import torch
    >>> from torch.fx.experimental.symbolic_shapes import ShapeEnv, TrackedFake
    >>> from torch._dynamo.source import LocalSource
    >>> from torch._subclasses import FakeTensorMode
    >>> mode, source = FakeTensorMode(shape_env=ShapeEnv(tracked_fakes=[])), LocalSource("x")
    >>> x = mode.from_tensor(torch.ones(8, 3), static_shapes=False, source=source)
    >>> mode.shape_env.tracked_fakes.append(TrackedFake(x, source, None))
    >>> bool(x.shape[0] % 4 == 0)
    True
    >>> [each.text for each in of_environment(mode.shape_env).conditions[-3:]]
    ['(x.shape[0] % 4) == 0', 'x.shape[0] >= 2', 'x.shape[1] >= 2']

These are torch's own guards: branches, ranges, constants, and equal sizes. They include Inductor's assumptions: index
widths (`numel <= 2**31 - 1`), equal sizes and multiples are guarded during code generation.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv as TorchEnv

from frontends.pytorch.dynamo.graph_function import place_of
from frontends.pytorch.shape_env.translation import is_float, is_unbacked
from frontends.pytorch.source_location import is_users
from shapes.certification.certificates import Condition, Conditions
from shapes.origin import Origin
from shapes.size_names import canonical, names_in, renamed

LINE: Final = re.compile(r"# (?P<file>[^\n#(][^\n#]*?):(?P<line>\d+) in (?P<function>[^\s()]+)")
"""A line of the program in torch's comment."""
FRAME: Final = re.compile(r"\((?P<file>[^\s()]+):(?P<line>\d+) in (?P<function>[^\s()]+)\)$")
"""The line of torch that asked."""
RANGE: Final = re.compile(r"(?:(?P<low>-?\d+) <= )?(?P<size>[^\s<>=]+)(?: <= (?P<high>\d+))?")
BOTH_ENDS: Final = re.compile(r"((?:.*? in \S+ )?\((?:[^()]|\([^()]*\))*\)) and (.*)", re.DOTALL)
"""The comments of the two ends of a range."""
CONSTANT: Final = re.compile(r"\S+ == -?\d+")
DYNAMO: Final = "_dynamo/"
LARGEST: Final = 2**63 - 1
SPECIALIZED: Final = "sizes of 0 and 1 are specialized"
NEVER_A_SYMBOL: Final = "a constant: it was never a symbol"
EQUAL: Final = "duck sizing: the sizes were equal when it was compiled"


def of_environment(
    shapes: TorchEnv, called: Mapping[str, str] = {}, first_uses: Mapping[int, Origin | None] = {}
) -> Conditions:
    """All conditions of an environment; `called` renames inputs, and `first_uses` has the first line that uses a fake
    tensor, by identity."""
    return _Reader(shapes, called, first_uses).conditions()


class _Reader:
    def __init__(
        self, shapes: TorchEnv, called: Mapping[str, str], first_uses: Mapping[int, Origin | None]
    ) -> None:
        self.shapes: Any = shapes
        self.called = called
        self.tracked: list[Any] = list(shapes.tracked_fakes or ())
        self.uses = {self.name_of(each.source.name): first_uses.get(id(each.fake)) for each in self.tracked}

    def name_of(self, source: str) -> str:
        """The canonical name of a size from torch's source."""
        name = canonical(source)
        for theirs, ours in self.called.items():
            if name.startswith(theirs):
                return ours + name.removeprefix(theirs)
        return name

    def conditions(self) -> Conditions:
        fakes, sources = [each.fake for each in self.tracked], [each.source for each in self.tracked]
        (printed,) = self.shapes.produce_guards_verbose(
            fakes, sources, ignore_static=False, langs=("verbose_python",)
        )
        symbols = {
            str(symbol): self.name_of(found[0].name) for symbol, found in self.shapes.var_to_sources.items() if found
        }
        floats = {symbols[str(symbol)] for symbol in self.shapes.var_to_sources if is_float(symbol)}
        asserts = [each.expr for found in self.shapes.deferred_runtime_asserts.values() for each in found]
        asserts += [each.expr for each in self.shapes.guards if any(map(is_unbacked, each.expr.free_symbols))]
        assumed = [f"run-time check {renamed(str(each), lambda name: symbols.get(name, name))}" for each in asserts]
        stated: list[Condition] = []
        for line in printed.exprs:
            text, _, comment = line.partition("  # ")
            text = renamed(text, self.name_of)
            names = set(names_in(text))
            if names and names <= floats:
                assumed.append(text)
            elif names & floats:
                place, _ = self.place(comment, names)
                stated.append(Condition(text, place, fault="it is about a float and sizes"))
            else:
                stated += self.stated(text, comment, names)
        inputs = [self.name_of(source) for source in self.shapes.source_to_var]
        for each in self.tracked:
            axes = range(each.fake.dim()) if isinstance(each.fake, torch.Tensor) else None
            name = each.source.name
            inputs += [self.name_of(name if axes is None else f"{name}.size()[{axis}]") for axis in axes or (0,)]
        integers = [name for name in inputs if name.isidentifier()]
        return Conditions(stated, integers=frozenset(integers), assumed=assumed, inputs=frozenset(inputs))

    def stated(self, text: str, comment: str, names: set[str]) -> Iterator[Condition]:
        """The conditions of one guard: each end of a range has a line."""
        limits = RANGE.fullmatch(text)
        if limits is None:
            place, why = self.place(comment, names)
            constant = CONSTANT.fullmatch(text) is not None
            static = constant and "unknown source" in comment
            # attributes and globals
            static |= not any(name.isidentifier() or ".shape[" in name for name in names)
            why = NEVER_A_SYMBOL if static else EQUAL if "duck sizing" in comment else why
            framework = FRAME.search(comment)
            derived = framework is not None and not framework["file"].startswith(DYNAMO)
            yield Condition(text, place, why, static=static, derived=derived or (constant and not static))
            return
        both = BOTH_ENDS.fullmatch(comment) if limits["low"] and limits["high"] else None
        comments = both.groups() if both is not None else (comment, comment)
        for end, sign, said in ((limits["low"], ">=", comments[0]), (limits["high"], "<=", comments[1])):
            if end is not None and (sign, end) != (">=", "0") and (sign, int(end) >= LARGEST) != ("<=", True):
                place, why = self.place(said, names)
                why = SPECIALIZED if "0/1 specialization" in said else why
                yield Condition(f"{limits['size']} {sign} {end}", place, why, derived=True)

    def place(self, comment: str, names: set[str]) -> tuple[Origin | None, str]:
        """The program's line that caused a guard, and the internal caller, if any.

        Without a line from torch, the line that first uses one of its tensors.
        """
        user = line_of(LINE.search(f"# {comment}"))
        if user is not None and is_users(user.file):
            return user, ""
        asked = FRAME.search(comment)
        framework = line_of(asked)
        if user is None and framework is not None and is_users(framework.file):
            return framework, ""
        uses = [self.uses.get(name.partition(".shape[")[0]) for name in sorted(names)]
        by = "" if asked is None else f"{asked['file']}:{asked['line']} in {asked['function']}"
        return next(filter(None, uses), None), by


def first_use(node: torch.fx.Node) -> Origin | None:
    """The program's line that first uses an input of a graph."""
    return next(filter(None, map(place_of, node.users)), None)


def line_of(found: re.Match[str] | None) -> Origin | None:
    """A source location of torch's text, with the full path if possible."""
    if found is None:
        return None
    return Origin(full_path(found["file"]), int(found["line"]), found["function"])


def full_path(file: str) -> str:
    """The full path of a loaded file from its suffix."""
    candidates = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return next((each for each in candidates if isinstance(each, str) and each.endswith(file)), file)
