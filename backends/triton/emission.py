"""Kernels as text in Triton's language: one function for each form.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> from backends.triton.facts import Facts
    >>> from backends.triton.forms import choose
    >>> env = ShapeEnv(origin=lambda: None)
    >>> (n,) = [size.expr for size in env.sizes("n")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (n,), (program.build.one,))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (program.build.one,)))
    >>> kernel = schedule(program)[0]
    >>> facts = Facts.of(kernel, program.decisions)
    >>> print(source(kernel, facts, choose(facts, rows=1, columns=1000, narrow=True, aligned=True)).text)
    @triton.jit
    def k0(p0, p1, n0):
        column = tl.program_id(0) * 128 + tl.arange(0, 128)
        column_mask = column < n0
        t0 = tl.load(p1 + column, column_mask)
        t1 = libdevice.exp(t0)
        tl.store(p0 + column, t1, column_mask)

Rows that fit stay in registers, and each element is loaded once; other rows are traversed once for each pass, where a
maximum and the sum of exponentials below it are one (`online`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import (
    Apply,
    Constant,
    IndexValue,
    Kernel,
    Load,
    Pass,
    Ragged,
    Reduced,
    Reduction,
    Scalar,
    SizeValue,
    Store,
    walk,
)
from backends.triton.arguments import Argument, Arguments
from backends.triton.facts import Facts
from backends.triton.forms import Form
from backends.triton.online import at_once
from backends.triton.operations import ELEMENT, LANGUAGE, REDUCED, accumulated, applied, cast, constant, identity
from solver.terms.expr import Expr


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a kernel in one form, and what it is called with: pointers, then `numbers`.

    Attributes:
        pointers: their names, with the dtypes of what they point to: the buffers, then memory between two stages.
        aligned: the arguments that are multiples of 16, by position.
    """

    name: str
    text: str
    pointers: dict[str, str]
    numbers: tuple[Argument, ...]
    aligned: tuple[int, ...]
    form: Form

    @property
    def signature(self) -> dict[str, str]:
        pointers = {name: f"*{ELEMENT[dtype]}" for name, dtype in self.pointers.items()}
        return pointers | {number.name: number.type for number in self.numbers}


def source(kernel: Kernel, facts: Facts, form: Form) -> Source:
    """The text of a kernel."""
    emission = Emission(kernel, facts, form)
    lines = ["    " + line for line in emission.body()]
    pointers = {name: buffer.dtype for buffer, name in emission.pointers.items()}
    if form.stage != "whole":
        pointers |= {f"w{place}": reduction.dtype for place, reduction in enumerate(kernel.reductions)}
    numbers = emission.arguments.made
    names = [*pointers, *[number.name for number in numbers]]
    text = "\n".join(["@triton.jit", f"def {kernel.name}({', '.join(names)}):", *lines, ""])
    aligned = list(range(len(pointers))) if form.is_aligned else []
    for place, number in enumerate(numbers, len(pointers)):
        if number.name == "chunk" or any(_is_aligned(size, facts, form) for size in number.sizes):
            aligned.append(place)
    return Source(kernel.name, text, pointers, numbers, tuple(aligned), form)


def _is_aligned(size: Expr, facts: Facts, form: Form) -> bool:
    if size.is_constant:
        return size.constant % 16 == 0
    return size in facts.aligned or form.is_aligned and size in facts.aligning and size not in form.units


class Emission:
    """Prints a kernel in one form.

    Attributes:
        names: of the values in scope.
        spread: along which of rows and columns a value varies.
    """

    def __init__(self, kernel: Kernel, facts: Facts, form: Form) -> None:
        self.kernel = kernel
        self.tile = facts.tile
        self.form = form
        self.arguments = Arguments(kernel.scalars, form.bits)
        self.pointers = {buffer: f"p{place}" for place, buffer in enumerate(kernel.buffers)}
        self.names: dict[Scalar, str] = {}
        self.spread: dict[Scalar, frozenset[str]] = {}
        self.results: dict[Reduction, str] = {}
        self.lines: list[str] = []
        self.indent = ""
        self.count = 0
        self.side = dict.fromkeys(self.tile.rows, "row") | dict.fromkeys(self.tile.columns, "column")
        self.indexed: set[int] = set()
        """The axes that have an index, besides those that are rows or columns by themselves."""
        self.whole = f"({form.rows}, {form.columns})"
        self.bounds = ("", "")
        """The bounds of the rows of a ragged axis, once known."""
        self.inside = "column_mask"
        """The mask of what varies along columns, or along rows and columns where an axis is ragged."""

    def body(self) -> list[str]:
        """All lines."""
        self._places()
        passes, self.maxima = at_once(self.kernel.passes) if self.form.is_looped else (self.kernel.passes, {})
        for each in passes:
            if self.form.stage == "rest":
                self._gathered(each)
            elif self.form.is_looped:
                self._looped(each)
            else:
                self._straight(each)
        if self.form.stage == "part":
            for place, reduction in enumerate(self.kernel.reductions):
                self._partial("tl.store", place, "part", "row", f", {self.results[reduction]}", frozenset(["row"]))
        else:
            for store in self.kernel.once:
                self._store(store, once=True)
        return self.lines

    def write(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def fresh(self, text: str) -> str:
        """A new name for what is computed."""
        name = f"t{self.count}"
        self.count += 1
        self.write(f"{name} = {text}")
        return name

    # ------------------------------------------------------------------ places

    def _places(self) -> None:
        """The rows and columns of the program's tile."""
        form = self.form
        program = "tl.program_id(0)" + (".to(tl.int64)" if form.bits == 64 else "")
        match self.tile.kind:
            case "flat":
                self._range("column", program, form.columns, "")
            case "grid":
                columns = self._extent("column")
                self.write(f"program = {program}")
                self.write(f"tiles = tl.cdiv({columns}, {form.columns})")
                self._range("row", "program // tiles", form.rows, "[:, None]")
                self._range("column", "program % tiles", form.columns, "[None, :]")
            case "reduction" if form.stage == "part":
                parts = self.arguments.parts("parts")
                self.write(f"program = {program}")
                self.write(f"part = program % {parts}")
                self._range("row", f"program // {parts}", form.rows, "[:, None]")
            case "reduction":
                self._range("row", program, form.rows, "[:, None]")
                if not form.is_looped:
                    self._range("column", "0", form.columns, "[None, :]")

    def _range(self, side: str, start: str, block: int, shape: str) -> None:
        lanes = f"tl.arange(0, {block}){shape}"
        if start == "0":
            lanes = f"{lanes}.to(tl.int64)" if self.form.bits == 64 else lanes
            self.write(f"{side} = {lanes}")
        else:
            self.write(f"{side} = {start} * {block} + {lanes}")
        self._mask(side)

    def _mask(self, side: str) -> None:
        if self.form.masks_rows if side == "row" else self.form.masks_columns:
            self.write(f"{side}_mask = {side} < {self._extent(side)}")

    def _extent(self, side: str) -> str:
        if side == "column" and self.form.stage == "rest":
            return self.arguments.parts("parts")
        axes = self.tile.rows if side == "row" else self.tile.columns
        return self.arguments.product([self.kernel.extents[axis] for axis in axes])

    def _place(self, axis: int) -> str:
        """The index of one axis."""
        side = self.side[axis]
        axes = self.tile.rows if side == "row" else self.tile.columns
        if len(axes) == 1:
            return side
        if axis not in self.indexed:
            self.indexed.add(axis)
            place = axes.index(axis)
            text = side
            inside = [self.kernel.extents[each] for each in axes[place + 1 :]]
            if inside:
                text = f"{text} // {self.arguments.product(inside)}"
            if place:
                text = f"{text} % {self.arguments.size(self.kernel.extents[axis])}"
            self.write(f"i{axis} = {text}")
        return f"i{axis}"

    def _offset(self, index: Affine, bits: int) -> str:
        """An index as text; nothing for zero."""
        wide = ".to(tl.int64)" if bits > self.form.bits else ""
        parts = []
        for axis, coefficient in index.terms:
            place = self._place(axis) + wide
            is_unit = is_one(coefficient) or coefficient in self.form.units
            parts.append(place if is_unit else f"{place} * {self.arguments.size(coefficient)}")
        if not is_zero(index.constant):
            parts.append(self.arguments.size(index.constant))
        return " + ".join(parts)

    def _sides(self, index: Affine) -> frozenset[str]:
        return frozenset([self.side[axis] for axis in index.axes])

    def _masks(self, sides: frozenset[str]) -> str:
        """The mask of what varies along these sides, as one more argument."""
        form = self.form
        if self.inside != "column_mask" and sides == {"row", "column"}:
            return f", {self.inside}"
        wanted = [("row", form.masks_rows), ("column", form.masks_columns)]
        masks = [f"{side}_mask" for side, masked in wanted if masked and side in sides]
        return f", {' & '.join(masks)}" if masks else ""

    # ------------------------------------------------------------------ values

    def value(self, root: Scalar) -> str:
        """The name of a value, which is defined if it is not."""
        for value in walk([root]):
            if value not in self.names:
                self.names[value] = self._computed(value)
        return self.names[root]

    def _computed(self, value: Scalar) -> str:
        self.spread[value] = frozenset().union(*[self.spread[operand] for operand in value.operands])
        match value:
            case Load():
                return self._loaded(value)
            case Constant(value=number, dtype=dtype):
                return constant(number, dtype)
            case SizeValue(size=size, dtype=dtype):
                return self.fresh(applied("cast", dtype, [self.arguments.value(size)], "int64"))
            case IndexValue(index=index, dtype=dtype):
                self.spread[value] = self._sides(index)
                return self.fresh(self._offset(index, 64) or constant(0, dtype))
            case Reduced(reduction=reduction):
                self.spread[value] = frozenset(["row"])
                return self.results[reduction]
            case Apply(operation=operation, operands=operands, dtype=dtype):
                names = [self.names[operand] for operand in operands]
                return self.fresh(applied(operation, dtype, names, operands[-1].dtype))

    def _loaded(self, load: Load) -> str:
        self.spread[load] |= self._sides(load.offset)
        parts = [self.pointers[load.buffer], self._offset(load.offset, self.form.bits)]
        for number, stride in load.indirect:
            step = "" if is_one(stride) else f" * {self.arguments.size(stride)}"
            parts.append(f"{self.names[number]}.to(tl.int64){step}")
        masks = self._masks(self.spread[load])
        if load.condition is not None:
            condition = self.names[load.condition]
            masks = f", {condition}{masks.replace(', ', ' & ', 1)}, other=0"
            if not self.spread[load.condition] <= self._sides(load.offset):
                parts.append(f"tl.zeros({self._shape(self.spread[load])}, tl.int32)")
        text = f"tl.load({' + '.join(filter(None, parts))}{masks})"
        narrow = load.buffer.dtype != load.dtype
        return self.fresh(f"{text}.to({LANGUAGE[load.dtype]})" if narrow else text)

    def _shape(self, sides: frozenset[str]) -> str:
        """The shape of what varies along these sides."""
        if self.tile.kind == "flat":
            return f"({self.form.columns},)"
        return f"({self.form.rows if 'row' in sides else 1}, {self.form.columns if 'column' in sides else 1})"

    def _store(self, store: Store, *, once: bool = False) -> None:
        value = self.value(store.value)
        dtype = store.buffer.dtype
        if store.value.dtype != dtype:
            value = cast(value, store.value.dtype, dtype)
        offset = self._offset(store.offset, self.form.bits) or "0"
        shape, sides = self.whole, frozenset(["row", "column"])
        if self.tile.kind == "flat":
            shape, sides = f"({self.form.columns},)", frozenset(["column"])
        elif once:
            shape, sides = f"({self.form.rows}, 1)", frozenset(["row"])
        if self._sides(store.offset) != sides:
            offset = f"{offset} + tl.zeros({shape}, tl.int32)"
        self.write(f"tl.store({self.pointers[store.buffer]} + {offset}, {value}{self._masks(sides)})")

    # ------------------------------------------------------------------ passes

    def _whole(self, reduction: Reduction) -> str:
        """The body of a reduction, for every row and column of the tile."""
        text = self.value(reduction.body)
        if self.spread[reduction.body] == {"row", "column"}:
            return text
        return self.fresh(f"tl.broadcast_to({text}, {self.whole})")

    def _straight(self, each: Pass) -> None:
        """A pass over rows that are in registers."""
        for reduction in each.reductions:
            self._reduce(reduction, self._masked(reduction, self._whole(reduction)))
        self._stores(each)

    def _stores(self, each: Pass) -> None:
        """All stores of a pass, behind all loads: one may overwrite what another's value is computed from."""
        for store in each.stores:
            self.value(store.value)
        for store in each.stores:
            self._store(store)

    def _masked(self, reduction: Reduction, text: str) -> str:
        """The identity in place of lanes behind the end of a row."""
        if not self.form.masks_columns:
            return text
        return self.fresh(f"tl.where(column_mask, {text}, {identity(reduction.operation, reduction.dtype)})")

    def _reduce(self, reduction: Reduction, text: str) -> None:
        back = "" if reduction.dtype == "bool" else f".to({LANGUAGE[reduction.dtype]})"
        self.results[reduction] = self.fresh(f"{REDUCED[reduction.operation]}({text}){back}")

    def _looped(self, each: Pass) -> None:
        """A pass that walks over the columns."""
        above = [self.maxima.get(reduction, reduction) for reduction in each.reductions]
        roots = [*[reduction.body for reduction in above], *[store.value for store in each.stores]]
        for value in walk(roots):
            if value not in self.kernel.varying:
                self.value(value)
        for axis in self._rows_used(each, roots):
            self._place(axis)
        totals = {}
        for reduction in each.reductions:
            start = identity(reduction.operation, reduction.dtype)
            totals[reduction] = self.fresh(f"tl.full({self.whole}, {start}, {LANGUAGE[reduction.dtype]})")
        before, indexed = dict(self.names), set(self.indexed)
        wide = ".to(tl.int64)" if self.form.bits == 64 else ""
        first, last = "0", self._extent("column")
        end = last
        if self.kernel.ragged is not None:
            first, end = self._columns_of_rows(self.kernel.ragged)
        if self.form.stage == "part":
            chunk = self.arguments.parts("chunk")
            self.write(f"first = part * {chunk}")
            self.write(f"last = tl.minimum(first + {chunk}, {last})")
            first, last, end = "first", "last", "last"
        self.write(f"for start in range({first}, {end}, {self.form.columns}):")
        self.indent = "    "
        self.write(f"column = start + tl.arange(0, {self.form.columns})[None, :]{wide}")
        if self.form.masks_columns:
            self.write(f"column_mask = column < {last}")
        if self.kernel.ragged is not None:
            place, (begin, stop) = self._place(self.kernel.ragged.axis), self.bounds
            self.inside = "inside"
            self.write(f"inside = ({place} >= {begin}) & ({place} < {stop})")
        for (reduction, total), top in zip(totals.items(), above):
            operand = self._whole(top)
            is_below = f"below({total}, {totals[top]}, {operand})"
            text = accumulated(reduction.operation, total, operand) if top is reduction else is_below
            masked = f"tl.where({self.inside}, {text}, {total})" if self.form.masks_columns else text
            self.write(f"{total} = {masked}")
        self._stores(each)
        self.indent, self.inside = "", "column_mask"
        self.names, self.indexed = before, indexed
        for reduction, total in reversed(totals.items()):
            maximum = self.maxima.get(reduction)
            lowered = total if maximum is None else f"lowered({total}, {totals[maximum]}, {self.results[maximum]})"
            self._reduce(reduction, lowered)

    def _columns_of_rows(self, ragged: Ragged) -> tuple[str, str]:
        """The columns from the first to the last of any row of the tile."""
        extent = self.arguments.size(self.kernel.extents[ragged.axis])
        if not self.bounds[0]:
            bounds = [self.value(ragged.first), self.value(ragged.last)]
            if self.form.masks_rows:
                pairs = zip(bounds, (extent, "0"))
                bounds = [self.fresh(f"tl.where(row_mask, {bound}, {none})") for bound, none in pairs]
            self.bounds = (bounds[0], bounds[1])
        if ragged.axis != self.kernel.outer:
            return "0", self._extent("column")
        rest = self.arguments.product([self.kernel.extents[axis] for axis in self.tile.columns[1:]])
        factor = "" if rest == "1" else f" * {rest}"
        kind = f".to(tl.int{self.form.bits})"
        first, last = [
            self.fresh(f"tl.{function}(tl.broadcast_to({bound}, ({self.form.rows}, 1))){kind}{factor}")
            for function, bound in zip(("min", "max"), self.bounds)
        ]
        return first, last

    def _partial(self, function: str, place: int, part: str, row: str, value: str, sides: frozenset[str]) -> str:
        """An access to the partial results of rows."""
        rows = self.arguments.product([self.kernel.extents[axis] for axis in self.tile.rows])
        text = f"{function}(w{place} + {part} * {rows} + {row}{value}{self._masks(sides)})"
        if not value:
            return self.fresh(text)
        self.write(text)
        return text

    def _gathered(self, each: Pass) -> None:
        """A pass whose reductions combine partial results."""
        for place, reduction in enumerate(self.kernel.reductions):
            text = self._partial("tl.load", place, "column", "row", "", frozenset(["row", "column"]))
            self._reduce(reduction, self._masked(reduction, text))

    def _rows_used(self, each: Pass, roots: Sequence[Scalar]) -> Iterator[int]:
        """The axes of rows that indices within a pass need."""
        for value in walk(roots):
            match value:
                case Load(offset=index) | IndexValue(index=index):
                    yield from [axis for axis in index.axes if axis in self.tile.rows]
        for store in each.stores:
            yield from [axis for axis in store.offset.axes if axis in self.tile.rows]
