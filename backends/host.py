"""The host's side of a program: one generated Python function that allocates, computes sizes, launches and calls.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends.decisions import Decisions
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
    >>> def launch(out, x, count):
    ...     torch.exp(x, out=out)
    >>> host = Host(program, schedule(program), [launch])
    >>> print(host.source)
    def run(_inputs):
        x0, = _inputs
        n0 = x0.size(0)
        n1 = x0.size(1)
        m0 = empty((n0, n1), (n1, 1), d_float32)
        k0(m0, x0, n0 * n1)
        return [m0]
    >>> host.function((torch.zeros(2, 3),))
    [tensor([[1., 1., 1.],
            [1., 1., 1.]])]

Sizes are computed once, right before they are needed. Memory is allocated right before the step that writes it, in the
place of other memory where that is planned (`backends.memory`), and let go of after the last that reads it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from keyword import iskeyword
from types import ModuleType
from typing import Final

import torch

from backends.decisions import Decisions
from backends.loops.indices import is_one, is_zero
from backends.loops.kernels import Buffer, Kernel
from backends.loops.program import Bind, Call, Check, Program
from backends.loops.schedule import Scheduled, schedule
from backends.loops.tensors import Memory
from backends.memory import plan
from shapes.arguments import Arguments
from shapes.lowering import Lowering, Operation, Operations
from shapes.python_form import CHOICE, COMPARISON, PythonPrinter, python_scope
from shapes.toolchain import Unavailable
from solver.expr import Atom, Expr
from solver.prop import Prop

Allocate = Callable[[Sequence[int], Sequence[int], torch.dtype], torch.Tensor]
_serial: Final = count()


class Host:
    """The generated function of a program.

    Attributes:
        program: what it runs, and `steps` how.
        launches: the calls of the kernels among the steps, in order.
        source: its text.
        memory: what the program needs, and what shares a place.
        function: takes the inputs and then the numbers as one sequence, and gives the outputs.
    """

    def __init__(
        self,
        program: Program,
        steps: Sequence[Scheduled],
        launches: Sequence[Callable[..., None]],
        *,
        allocate: Allocate = torch._C._dynamo.guards._empty_strided_cpu,
        last: Callable[[], int] | None = None,
    ) -> None:
        """`launches` are the calls of the kernels among the steps, in order: they take the tensors of
        `Kernel.buffers`, then the `Kernel.numbers`, and behind them what `last` gives, which is asked once a run."""
        self.program = program
        self.steps = steps
        self.launches = tuple(launches)
        self._scope: dict[str, object] = {"empty": allocate, "as_strided": torch.as_strided, "last": last}
        self._kernels = {
            id(kernel): f"k{place}" for place, kernel in enumerate(step for step in steps if isinstance(step, Kernel))
        }
        self._scope.update(zip(self._kernels.values(), launches, strict=True))
        self._last = last is not None and bool(self._kernels)
        self.memory = plan(program, steps)
        self._names: dict[Buffer, str] = {buffer: f"x{place}" for place, buffer in enumerate(program.inputs)}
        self._allocated: set[Buffer] = set()
        self._bound: set[Atom] = set()
        """The symbols that have a value by now."""
        for place, (buffer, tensor) in enumerate(program.constants):
            self._names[buffer] = f"c{place}"
            self._scope[f"c{place}"] = tensor
        self._sizes = _SizeTexts(_wanted(program, steps))
        self._calls: dict[object, str] = {}
        self.source = "\n".join(self._lines())
        file = f"<program {next(_serial)}>"
        self._scope.update(self._sizes.scope())
        exec(compile(self.source, file, "exec"), self._scope)
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(keepends=True), file)
        self.function: Callable[[Sequence[object]], list[object]] = self._scope["run"]

    # ------------------------------------------------------------------ text

    def _lines(self) -> Iterator[str]:
        yield "def run(_inputs):"
        given = [self._names[buffer] for buffer in self.program.inputs]
        given += [self._sizes.name(atom) for atom in self.program.numbers]
        if given:
            yield f"    {', '.join(given)}, = _inputs"
        if self._last:
            yield "    z = last()"
        for line in self._read_sizes():
            yield f"    {line}"
        ends = self._ends()
        for place, step in enumerate(self.steps):
            for line in self._step(step):
                yield f"    {line}"
            gone = [self._names[buffer] for buffer in ends.get(place, ()) if buffer in self._names]
            if gone:
                yield f"    del {', '.join(gone)}"
        yield from self._returned()

    def _read_sizes(self) -> Iterator[str]:
        """Symbols that are sizes or strides of inputs."""
        self._bound.update(self.program.numbers)
        yield from self._bound_by(self.program.inputs)

    def _bound_by(self, buffers: Sequence[Buffer]) -> Iterator[str]:
        """Symbols that are sizes or strides of tensors, if they are not known yet: sizes first, as a stride along an
        axis of size 1 is any number."""
        found = [(buffer, "size", buffer.sizes) for buffer in buffers]
        found += [(buffer, "stride", buffer.strides) for buffer in buffers]
        for buffer, method, values in found:
            for axis, value in enumerate(values):
                atom = symbol_of(value)
                if atom is not None and atom not in self._bound and atom in self._sizes:
                    self._bound.add(atom)
                    yield f"{self._sizes.name(atom)} = {self._names[buffer]}.{method}({axis})"

    def _step(self, step: Scheduled) -> Iterator[str]:
        match step:
            case Kernel():
                yield from self._launch(step)
            case Call():
                yield from self._call(step)
            case Check(condition=condition, message=message):
                yield from self._sizes.naming(condition)
                yield f"if not ({self._sizes.text(condition, COMPARISON)}):"
                yield f"    raise RuntimeError({message!r})"
            case Bind(symbol=symbol, buffer=buffer, axis=axis):
                if symbol in self._sizes and symbol not in self._bound:
                    self._bound.add(symbol)
                    yield f"{self._sizes.name(symbol)} = {self._names[buffer]}.size({axis})"

    def _launch(self, kernel: Kernel) -> Iterator[str]:
        for store in kernel.stores:
            yield from self._allocation(store.buffer)
        for number in kernel.numbers:
            yield from self._sizes.naming(number)
        arguments = [self._names[buffer] for buffer in kernel.buffers]
        arguments += [self._sizes.text(number) for number in kernel.numbers]
        arguments += ["z"] if self._last else []
        yield f"{self._kernels[id(kernel)]}({', '.join(arguments)})"

    def _allocation(self, buffer: Buffer) -> Iterator[str]:
        """Memory for a buffer, when it is first written."""
        if buffer in self._names:
            return
        self._names[buffer] = f"m{len(self._allocated)}"
        self._allocated.add(buffer)
        owner = self.memory.places.get(buffer)
        if owner is not None and owner.sizes == buffer.sizes and owner.strides == buffer.strides:
            yield f"{self._names[buffer]} = {self._names[owner]}"
            return
        for size in (*buffer.sizes, *buffer.strides):
            yield from self._sizes.naming(size)
        layout = f"{self._tuple(buffer.sizes)}, {self._tuple(buffer.strides)}"
        if owner is None:
            yield f"{self._names[buffer]} = empty({layout}, {self._dtype(buffer.dtype)})"
        else:
            yield f"{self._names[buffer]} = as_strided({self._names[owner]}, {layout}, 0)"

    def _dtype(self, name: str) -> str:
        self._scope[f"d_{name}"] = getattr(torch, name)
        return f"d_{name}"

    def _call(self, call: Call) -> Iterator[str]:
        lines: list[str] = []
        arguments = [self._argument(value, lines) for value in call.arguments]
        named = {name: self._argument(value, lines) for name, value in call.named.items()}
        arguments += [f"{name}={text}" for name, text in named.items() if not iskeyword(name)]
        arguments += [f"**{{{name!r}: {text}}}" for name, text in named.items() if iskeyword(name)]
        yield from lines
        made = [self._result(result) for result in call.results]
        text = f"{self._operator(call.target)}({', '.join(arguments)})"
        if call.is_list:
            yield f"{', '.join(made)}, = {text}" if made else text
        else:
            yield f"{made[0]} = {text}" if made and call.results[0] is not None else text
        for result, name in zip(call.results, made):
            if isinstance(result, Buffer):
                yield from self._bound_by([result])
            elif isinstance(result, Atom):
                self._bound.add(result)
            if isinstance(result, Buffer) and not call.is_laid_out and call.aliases is None:
                yield from self._laid_out(result, name)

    def _result(self, result: Buffer | Atom | None) -> str:
        if result is None:
            return "_"
        if isinstance(result, Atom):
            return self._sizes.name(result)
        return self._names.setdefault(result, f"r{len(self._names)}")

    def _laid_out(self, buffer: Buffer, name: str) -> Iterator[str]:
        """An operator that lays out its result otherwise than foreseen: elements are put where others look for them."""
        self._scope["laid_out"] = laid_out
        for size in (*buffer.sizes, *buffer.strides):
            yield from self._sizes.naming(size)
        strides = self._tuple(buffer.strides)
        yield f"if {name}.stride() != {strides}:"
        yield f"    {name} = laid_out({name}, {strides})"

    def _operator(self, target: object) -> str:
        if target not in self._calls:
            plain = target._op if type(target) is torch._ops.OpOverload else target
            self._calls[target] = f"f{len(self._calls)}"
            self._scope[self._calls[target]] = plain
        return self._calls[target]

    def _argument(self, value: object, lines: list[str]) -> str:
        """The text of an argument; statements that it needs are added to `lines`."""
        if isinstance(value, Memory):
            return self._memory(value, lines)
        if isinstance(value, Expr):
            lines += self._sizes.naming(value)
            return self._sizes.text(value)
        if isinstance(value, Prop):
            lines += self._sizes.naming(value)
            return self._sizes.text(value)
        if isinstance(value, list | tuple):
            inside = ", ".join([self._argument(item, lines) for item in value])
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
        if type(value) in (int, bool, str, type(None)):
            return repr(value)
        name = f"v{len(self._scope)}"
        self._scope[name] = value
        return name

    def _memory(self, memory: Memory, lines: list[str]) -> str:
        buffer = memory.buffer
        name = self._names[buffer]
        if is_whole(memory, self.program.decisions):
            return name
        laid = strides_of(memory)
        for size in (*memory.sizes, *laid, memory.offset.constant):
            lines += self._sizes.naming(size)
        start = self._sizes.text(memory.offset.constant, COMPARISON)
        if buffer not in self._allocated:
            start = f"{name}.storage_offset()" if start == "0" else f"{name}.storage_offset() + ({start})"
        return f"as_strided({name}, {self._tuple(memory.sizes)}, {self._tuple(laid)}, {start})"

    def _tuple(self, sizes: Iterable[Expr]) -> str:
        texts = [self._sizes.text(size) for size in sizes]
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"

    def _returned(self) -> Iterator[str]:
        lines: list[str] = []
        values = [self._argument(output, lines) for output in self.program.outputs]
        for line in lines:
            yield f"    {line}"
        yield f"    return [{', '.join(values)}]"

    def _ends(self) -> dict[int, list[Buffer]]:
        """The buffers that no step after this one needs, nor another in the same place."""
        last: dict[Buffer, int] = {}
        for life in self.memory.lives:
            last[life.buffer] = life.last
            owner = self.memory.places.get(life.buffer)
            if owner is not None:
                last[owner] = max(last[owner], life.last)
        ends: dict[int, list[Buffer]] = {}
        for buffer, place in last.items():
            ends.setdefault(place, []).append(buffer)
        return ends


class _SizeTexts:
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


def _wanted(program: Program, steps: Sequence[Scheduled]) -> list[Expr | Prop]:
    """Every size whose text may be needed."""
    found: list[Expr | Prop] = []
    for step in steps:
        match step:
            case Kernel():
                found += step.numbers
                for buffer in dict.fromkeys([store.buffer for store in step.stores]):
                    found += [*buffer.sizes, *buffer.strides] if buffer.role == "made" else []
            case Call():
                found += _sizes_among((*step.arguments, *step.named.values()))
                for result in step.results:
                    if isinstance(result, Buffer) and not step.is_laid_out:
                        found += result.strides
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


def hosted(program: Program, backend: ModuleType) -> Host | Unavailable:
    """A program by a backend that makes kernels."""
    steps = schedule(program, crosses=backend.crosses)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    launches = backend.kernels(kernels, program.decisions)
    if isinstance(launches, Unavailable):
        return launches
    return Host(program, steps, launches, allocate=backend.allocate, last=backend.last)


def symbol_of(size: Expr) -> Atom | None:
    """The symbol that a size is, and nothing else."""
    if len(size.symbols) == 1:
        (atom,) = size.symbols
        if atom.expr is size:
            return atom
    return None


def laid_out(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The same elements with these strides."""
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def is_whole(memory: Memory, decisions: Decisions) -> bool:
    """Whether this is all of a buffer, as that is laid out; along an axis of size 1 any stride is."""
    buffer = memory.buffer
    if len(memory.sizes) != len(buffer.sizes) or not is_zero(memory.offset.constant):
        return False
    if not all(map(decisions.equal, memory.sizes, buffer.sizes)):
        return False
    strides = zip(strides_of(memory), buffer.strides, buffer.sizes)
    return all(is_one(size) or decisions.equal(a, b) for a, b, size in strides)


def strides_of(memory: Memory) -> tuple[Expr, ...]:
    """How far apart its elements are along each axis."""
    zero = memory.offset.constant.interner.zero
    strides = [memory.offset.coefficient(axis) for axis in range(memory.rank)]
    return tuple([zero if stride is None else stride for stride in strides])


__all__ = ["Host", "Unavailable", "hosted", "laid_out", "schedule"]
