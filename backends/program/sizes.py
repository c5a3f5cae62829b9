"""Sizes as Python text, common subexpressions computed once.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = [size.expr for size in env.sizes("b s")]
>>> texts = SizeTexts([b * s, b * s + 1])
>>> texts.naming(b * s), texts.text(b * s + 1)
(['t0 = n0 * n1'], 't0 + 1')
>>> symbol_of(b), symbol_of(b * s)
(b, None)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory
from backends.loops.program import Call, Check, Program
from backends.loops.schedule import Scheduled
from backends.program.layouts import Layout
from shapes.guards.arguments import Arguments
from shapes.guards.emit_python import CHOICE, PythonPrinter, python_scope
from shapes.guards.lowering import Lowering, Operation, Operations
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class SizeTexts:
    """Sizes as Python text: what is used twice is computed once."""

    def __init__(self, wanted: Sequence[Expr | Prop]) -> None:
        self._operations = Operations()
        atoms = {atom for value in wanted for atom in value.symbols}
        in_order = sorted(atoms, key=lambda atom: atom.serial)
        self._atoms = {atom: f"n{place}" for place, atom in enumerate(in_order)}
        leaves = {atom.expr: self._operations.leaf(place) for place, atom in enumerate(self._atoms)}
        self._lowering = Lowering(self._operations, leaves)
        paths = tuple([(name,) for name in self._atoms.values()])
        self._printer = PythonPrinter(self._operations, Arguments((), paths, tuple(self._atoms.values()), {}, True))
        self._printer.count([self._lowered(value) for value in wanted])

    def __contains__(self, atom: Atom) -> bool:
        return atom in self._atoms

    def name(self, atom: Atom) -> str:
        """The variable of a symbol."""
        return self._atoms.setdefault(atom, f"n{len(self._atoms)}")

    def naming(self, value: Expr | Prop) -> list[str]:
        return self._printer.naming(self._lowered(value))

    def text(self, value: Expr | Prop, place: int = CHOICE) -> str:
        return self._printer.text(self._lowered(value), place)

    def scope(self) -> dict[str, object]:
        return python_scope(self._printer.functions)

    def _lowered(self, value: Expr | Prop) -> Operation:
        if isinstance(value, Prop):
            return self._lowering.proposition(value)
        return self._lowering.expression(value)


def wanted(program: Program, steps: Sequence[Scheduled], layouts: Mapping[Buffer, Layout]) -> list[Expr | Prop]:
    """Every size whose text may be needed."""
    found: list[Expr | Prop] = []
    for step in steps:
        match step:
            case Kernel():
                found += step.scalars
                for buffer in dict.fromkeys([store.buffer for store in step.stores]):
                    sizes, strides = layouts.get(buffer, (buffer.sizes, buffer.strides))
                    found += [*sizes, *strides] if buffer.role == "made" else []
            case Call():
                found += _sizes_among((*step.arguments, *step.named.values()))
                for result in step.results:
                    if isinstance(result, Buffer) and step.into is not None:
                        found += [size for sizes in layouts[result] for size in sizes] if result in layouts else []
                    elif isinstance(result, Buffer) and not step.has_layout:
                        found += result.strides
                    if isinstance(result, Buffer) and step.checked is not None:
                        found += result.sizes
            case Check(condition=condition):
                found.append(condition)
    return [*found, *_sizes_among(program.outputs)]


def _sizes_among(values: Iterable[object]) -> Iterator[Expr | Prop]:
    for value in values:
        if isinstance(value, Expr | Prop):
            yield value
        elif isinstance(value, list | tuple):
            yield from _sizes_among(value)
        elif isinstance(value, Memory):
            yield from value.sizes
            yield from [coefficient for _, coefficient in value.offset.terms]
            yield value.offset.constant


def symbol_of(size: Expr) -> Atom | None:
    """The symbol that a size is, and nothing else."""
    if len(size.symbols) == 1:
        (atom,) = size.symbols
        if atom.expr is size:
            return atom
    return None
