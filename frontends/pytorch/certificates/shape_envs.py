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

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv as TorchEnv

from frontends.pytorch.dynamo.graph_function import place_of
from frontends.pytorch.shape_env.translation import is_float, is_unbacked
from frontends.pytorch.source_location import is_users
from shapes.certification.certificates import Condition, Conditions
from shapes.certification.printed_guards import places_in, stated, words_of
from shapes.origin import Origin
from shapes.size_names import canonical, names_in, renamed


def of_environment(
    shapes: TorchEnv, called: Mapping[str, str] = {}, first_uses: Mapping[int, Origin | None] = {}
) -> Conditions:
    """All conditions of an environment; `called` renames inputs, and `first_uses` has the first line that uses a fake
    tensor, by identity."""
    return _Reader(shapes, called, first_uses).conditions()


class _Reader:
    def __init__(self, shapes: TorchEnv, called: Mapping[str, str], first_uses: Mapping[int, Origin | None]) -> None:
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
        conditions: list[Condition] = []
        for line in printed.exprs:
            text, _, comment = line.partition("  # ")
            text = renamed(text, self.name_of)
            names = set(names_in(text))
            if names and names <= floats:
                assumed.append(text)
            elif names & floats:
                place, _ = self.place(names, comment)
                conditions.append(Condition(text, place, fault="it is about a float and sizes"))
            else:
                # attributes and globals
                static = not any(name.isidentifier() or ".shape[" in name for name in names)
                conditions += stated(text, comment, partial(self.place, names), static=static)
        inputs = [self.name_of(source) for source in self.shapes.source_to_var]
        for each in self.tracked:
            axes = range(each.fake.dim()) if isinstance(each.fake, torch.Tensor) else None
            name = each.source.name
            inputs += [self.name_of(name if axes is None else f"{name}.size()[{axis}]") for axis in axes or (0,)]
        integers = [name for name in inputs if name.isidentifier()]
        return Conditions(conditions, integers=frozenset(integers), assumed=assumed, inputs=frozenset(inputs))

    def place(self, names: set[str], comment: str) -> tuple[Origin | None, str]:
        """The program's line that caused a guard, and the internal caller, if any.

        Without a line from torch, the line that first uses one of its tensors.
        """
        program, asked = places_in(comment)
        for found in (program, asked if program is None else None):
            place = None if found is None else Origin(full_path(found.file), found.line, found.function)
            if place is not None and is_users(place.file):
                return place, ""
        uses = [self.uses.get(name.partition(".shape[")[0]) for name in sorted(names)]
        return next(filter(None, uses), None), words_of(asked)


def first_use(node: torch.fx.Node) -> Origin | None:
    """The program's line that first uses an input of a graph."""
    return next(filter(None, map(place_of, node.users)), None)


def full_path(file: str) -> str:
    """The full path of a loaded file from its suffix."""
    candidates = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return next((each for each in candidates if isinstance(each, str) and each.endswith(file)), file)
