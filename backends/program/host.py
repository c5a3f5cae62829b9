"""The Python printer of a host program: one function that allocates, computes sizes, launches and calls.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
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

Sizes are computed once, right before they are needed. A slot is allocated right before the step that writes it first,
and freed after the last step that reads it (`backends.program.memory`). Kernels ignore sizes and strides of tensors, so
buffers have the layout that most operators take, which then need no view.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import count
from keyword import iskeyword
from types import BuiltinFunctionType
from typing import Final

import torch

from backends.backend import Backend, Launch
from backends.interpreter import REFERENCE
from backends.loops.affine import packed
from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory
from backends.loops.program import Bind, Call, Check, Program
from backends.loops.schedule import Scheduled, schedule
from backends.program.generated_functions import defined
from backends.program.host_program import Allocation, HostStep, SymbolSource, host_program, symbols_of
from backends.program.launch_groups import combine, interleaved_counts
from backends.program.layouts import strides_of
from backends.program.sizes import SizeTexts, wanted
from backends.results import PACKED
from shapes.guards.emit_python import COMPARISON
from shapes.guards.toolchain import Unavailable
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

_serial: Final = count()


class Host:
    """The generated function of a program.

    Attributes:
        plan: what it does, of which `program` and `memory` are parts.
        steps: the steps of the program before they were grouped.
        launches: the calls of the kernels among the steps, in order.
        source: its text, and `scope` what it refers to.
        launch_groups: launches of several kernels, by their names: these kernels, their tensors and numbers, and the
            lengths of their interleaved groups.
        operators: the names of the operators in it.
        function: takes the inputs and then the numbers as one sequence, and returns the outputs.
    """

    def __init__(
        self,
        program: Program,
        steps: Sequence[Scheduled],
        launches: Sequence[Launch],
        backend: Backend = REFERENCE,
        *,
        returned: int | None = None,
        consuming: bool = False,
    ) -> None:
        """`launches` are those of the kernels among the steps, in order; `returned` and `consuming` are as in
        `host_program`."""
        self.program, self.steps, self.launches = program, steps, tuple(launches)
        self.plan = host_program(program, steps, backend, returned=returned, consuming=consuming)
        self.memory = self.plan.memory
        self.scope: dict[str, object] = {
            "empty": backend.allocate,
            "as_strided": torch.as_strided,
            "seen": torch._C._dynamo.guards._reinterpret_tensor,
            "last": backend.threads,
            "large": backend.large and backend.large[1],
            "kept": backend.pooled,
        }
        self._least = backend.large and backend.large[0]
        kernels = [step for step in steps if isinstance(step, Kernel)]
        self._kernels = {kernel: f"k{place}" for place, kernel in enumerate(kernels)}
        self._launches = dict(zip(self._kernels, launches, strict=True))
        self.scope.update(zip(self._kernels.values(), launches))
        self._gives_threads = backend.threads is not None and bool(self._kernels)
        self._combine = backend.combine
        self._faster = backend.operator
        self.launch_groups: dict[str, list[object]] = {}
        self.operators: dict[object, str] = {}
        self._names: dict[Buffer, str] = {buffer: f"x{place}" for place, buffer in enumerate(program.inputs)}
        self._results, self._allocated = count(), count()
        self._views: dict[Buffer, dict[str, str]] = {}
        """The names of views of each slot, by their text: each is made once, and stays as long as that."""
        self._bound: set[Atom] = set()
        """The symbols that have a value by now."""
        for place, (buffer, tensor) in enumerate(program.constants):
            self._names[buffer] = f"c{place}"
            self.scope[f"c{place}"] = tensor
        self._sizes = SizeTexts(wanted(program, steps, self.plan.layouts))
        self.source = "\n".join(self._lines())
        self.scope.update(self._sizes.scope())
        self.function: Callable[[Sequence[object]], list[object]] = defined(
            self.source, f"<program {next(_serial)}>", self.scope
        )

    # ------------------------------------------------------------------ text

    def _lines(self) -> Iterator[str]:
        yield "def run(_inputs):"
        given = [self._names[buffer] for buffer in self.program.inputs]
        given += [self._sizes.name(atom) for atom in self.program.numbers]
        if given:
            yield f"    {', '.join(given)}, = _inputs"
            if self.plan.is_consuming:
                yield "    _inputs.clear()"
        if self._gives_threads:
            yield "    z = last()"
        self._bound.update(self.program.numbers)
        for line in self._bind(self.plan.symbols):
            yield f"    {line}"
        for step in self.plan.steps:
            for line in self._run(step):
                yield f"    {line}"
            gone = [self._names[buffer] for buffer in step.freed if buffer in self._names]
            gone += [view for buffer in step.freed for view in self._views.get(buffer, {}).values()]
            if gone:
                yield f"    del {', '.join(gone)}"
        yield from self._returned()

    def _bind(self, sources: Iterable[SymbolSource]) -> Iterator[str]:
        """Give the symbols that are wanted a value, unless they have one."""
        for each in sources:
            if each.symbol not in self._bound and each.symbol in self._sizes:
                self._bound.add(each.symbol)
                yield f"{self._sizes.name(each.symbol)} = {self._name(each.buffer)}.{each.what}({each.axis})"

    def _name(self, buffer: Buffer) -> str:
        return self._names[self.plan.slot(buffer)]

    def _run(self, step: HostStep) -> Iterator[str]:
        match step.work:
            case Call() as call:
                yield from self._call(call, step)
            case Check(condition=condition, message=message, error=error):
                yield from self._sizes.naming(condition)
                yield f"if not ({self._sizes.text(condition, COMPARISON)}):"
                self.scope[error.__name__] = error
                yield f"    raise {error.__name__}({message!r})"
            case Bind(symbol=symbol, buffer=buffer, axis=axis):
                yield from self._bind([SymbolSource(symbol, buffer, "size", axis)])
            case kernels:
                yield from self._launch(kernels, step)

    def _launch(self, kernels: Sequence[Kernel], step: HostStep) -> Iterator[str]:
        made = {each.buffer: each for each in step.allocations}
        for kernel in kernels:
            for buffer in [store.buffer for store in kernel.stores if store.buffer in made]:
                yield from self._allocate(made.pop(buffer))
            for number in kernel.scalars:
                yield from self._sizes.naming(number)
        tensors = [[self._name(buffer) for buffer in kernel.buffers] for kernel in kernels]
        numbers = [
            [self._sizes.text(number) for number in kernel.scalars] + ["z"] * self._gives_threads for kernel in kernels
        ]
        name = self._kernels[kernels[0]]
        given = [*tensors[0], *numbers[0]]
        if len(kernels) > 1 and self._combine is not None:
            launches = [self._launches[kernel] for kernel in kernels]
            iterations = interleaved_counts(kernels, self.memory)
            self.launch_groups[name] = [[self._kernels[kernel] for kernel in kernels], tensors, numbers, iterations]
            self.scope[name], given = combine(self._combine, launches, tensors, numbers, iterations)
        yield f"{name}({', '.join(given)})"

    def _allocate(self, made: Allocation) -> Iterator[str]:
        """Allocate a slot, right before it is first written."""
        name = self._names[made.buffer] = f"m{next(self._allocated)}"
        sizes, strides = made.layout
        for size in (*sizes, *strides):
            yield from self._sizes.naming(size)
        layout = f"{self._tuple(sizes)}, {self._tuple(strides)}, {self._dtype(made.buffer.dtype)}"
        if made.is_large is False:
            yield f"{name} = empty({layout})"
            return
        yield from self._sizes.naming(made.bytes)
        condition = f"{self._sizes.text(made.bytes, COMPARISON)} >= {self._least}"
        if made.is_pooled:
            kept = f"kept({self._sizes.text(made.bytes)}, {layout})"
            yield f"{name} = {kept if made.is_large else f'{kept} if {condition} else empty({layout})'}"
            return
        yield f"{name} = empty({layout})"
        if made.is_large:
            yield f"large({name})"
        else:
            yield f"if {condition}:"
            yield f"    large({name})"

    def _dtype(self, name: str) -> str:
        self.scope[f"d_{name}"] = getattr(torch, name)
        return f"d_{name}"

    def _call(self, call: Call, step: HostStep) -> Iterator[str]:
        lines: list[str] = []
        seen = "as_strided" if call.writes or call.aliases is not None else "seen"
        arguments = [self._argument(value, lines, seen) for value in call.arguments]
        named = {name: self._argument(value, lines, seen) for name, value in call.named.items()}
        operands = [*arguments, *named.values()]
        arguments += [f"{name}={text}" for name, text in named.items() if not iskeyword(name)]
        arguments += [f"**{{{name!r}: {text}}}" for name, text in named.items() if iskeyword(name)]
        yield from lines
        if step.out is not None:
            for allocation in step.allocations:
                yield from self._allocate(allocation)
            lines = []
            out = self._memory(step.out, lines, "seen")
            yield from lines
            yield f"{self._operator(call.into)}({', '.join(arguments)}, out={out})"
            return
        made = [self._result(result) for result in call.results]
        text = f"{self._operator(call.target)}({', '.join(arguments)})"
        if call.checked is not None:
            text = yield from self._checked(call, text, operands)
        if call.is_list:
            yield f"{', '.join(made)}, = {text}" if made else text
        else:
            yield f"{made[0]} = {text}" if made and call.results[0] is not None else text
        for result, name in zip(call.results, made):
            if isinstance(result, Buffer):
                yield from self._bind(symbols_of([result]))
            elif isinstance(result, Atom):
                self._bound.add(result)
            if isinstance(result, Buffer) and not call.has_layout and call.aliases is None:
                yield from self._laid_out(result, name)

    def _checked(self, call: Call, text: str, operands: Sequence[str]) -> Generator[str, None, str]:
        """The text of an operator's results, checked against their prediction before they are used."""
        predicted = []
        for result in call.results:
            if not isinstance(result, Buffer):
                predicted.append("None")
                continue
            for size in (*result.sizes, *result.strides):
                if self._is_bound(size):
                    yield from self._sizes.naming(size)
            sizes, strides = self._predicted(result.sizes), self._predicted(result.strides)
            if not all(map(self._is_bound, result.strides)) and result.strides == packed(result.sizes):
                strides = repr(PACKED)
            predicted.append(f"({sizes}, {strides})")
        self.scope[name := f"checked{len(self.scope)}"] = call.checked
        given = "".join([f"{each}, " for each in operands])
        return f"{name}({text}, ({given}), ({''.join([f'{each}, ' for each in predicted])}))"

    def _predicted(self, sizes: Sequence[Expr]) -> str:
        """Sizes as the text of a tuple, None for those that are not bound yet."""
        texts = [self._sizes.text(size) if self._is_bound(size) else "None" for size in sizes]
        return f"({''.join([f'{text}, ' for text in texts])})"

    def _is_bound(self, size: Expr) -> bool:
        """Return True if every symbol in a size is bound."""
        return all(
            atom in self._bound or (atom.definition is not None and self._is_bound(atom.definition))
            for atom in size.symbols
        )

    def _result(self, result: Buffer | Atom | None) -> str:
        if result is None:
            return "_"
        if isinstance(result, Atom):
            return self._sizes.name(result)
        return self._names.setdefault(result, f"r{next(self._results)}")

    def _laid_out(self, buffer: Buffer, name: str) -> Iterator[str]:
        """A result with other strides than predicted is copied to the predicted layout."""
        self.scope["laid_out"] = laid_out
        for size in (*buffer.sizes, *buffer.strides):
            yield from self._sizes.naming(size)
        strides = self._tuple(buffer.strides)
        yield f"if {name}.stride() != {strides}:"
        yield f"    {name} = laid_out({name}, {strides})"

    def _operator(self, target: object) -> str:
        if target not in self.operators:
            self.operators[target] = f"f{len(self.operators)}"
            faster = self._faster and self._faster(target)
            called = bound(target) if isinstance(target, torch._ops.OpOverload) else target
            self.scope[self.operators[target]] = faster or called
        return self.operators[target]

    def _argument(self, value: object, lines: list[str], seen: str) -> str:
        """The text of an argument, by `seen` if it is a view; statements that it needs are added to `lines`."""
        if isinstance(value, Memory):
            return self._memory(value, lines, seen)
        if isinstance(value, Expr | Prop):
            lines += self._sizes.naming(value)
            return self._sizes.text(value)
        if isinstance(value, list | tuple):
            inside = ", ".join([self._argument(item, lines, seen) for item in value])
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
        if type(value) in (int, bool, str, type(None)):
            return repr(value)
        name = f"v{len(self.scope)}"
        self.scope[name] = value
        return name

    def _memory(self, memory: Memory, lines: list[str], seen: str) -> str:
        """Memory as a tensor; if it is a view, `seen` makes it: `as_strided`, or what is faster but unknown to
        autograd."""
        name = self._name(memory.buffer)
        if self.plan.is_whole(memory):
            return name
        slot, laid = self.plan.slot(memory.buffer), strides_of(memory)
        for size in (*memory.sizes, *laid, memory.offset.constant):
            lines += self._sizes.naming(size)
        start = self._sizes.text(memory.offset.constant, COMPARISON)
        if slot not in self.plan.layouts and seen == "as_strided":
            start = f"{name}.storage_offset()" if start == "0" else f"{name}.storage_offset() + ({start})"
        text = f"{seen}({name}, {self._tuple(memory.sizes)}, {self._tuple(laid)}, {start})"
        if seen == "as_strided":
            return text
        views = self._views.setdefault(slot, {})
        if text not in views:
            views[text] = f"w{sum(map(len, self._views.values()))}"
            lines.append(f"{views[text]} = {text}")
        return views[text]

    def _tuple(self, sizes: Iterable[Expr]) -> str:
        texts = [self._sizes.text(size) for size in sizes]
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"

    def _returned(self) -> Iterator[str]:
        lines: list[str] = []
        values = [self._argument(output, lines, "as_strided") for output in self.program.outputs]
        for place, first in self.program.apart.items():
            if place == first:
                lines.append(f"apart{place} = {values[place]}.detach()")
            values[place] = f"apart{first}"
        for line in lines:
            yield f"    {line}"
        yield f"    return [{', '.join(values)}]"


def hosted(
    program: Program, backend: Backend, *, returned: int | None = None, consuming: bool = False
) -> Host | Unavailable:
    """A program compiled by a backend; `returned` says how many outputs its caller sees, if not all."""
    steps = schedule(program, interchanges=backend.interchanges)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    launches = backend.kernels(kernels, program.decisions)
    if isinstance(launches, Unavailable):
        return launches
    return Host(program, steps, launches, backend, returned=returned, consuming=consuming)


def bound(operator: torch._ops.OpOverload) -> object:
    """The fastest callable of an operator. Torch's function of that name takes 1 us less than the operator itself,
    where it has no other overload to choose."""
    packet = operator._overloadpacket
    overloads = [name for name in packet.overloads() if not name.endswith("out")]
    function = getattr(torch, packet.__name__, None) if operator.namespace == "aten" else None
    return function if overloads == ["default"] and isinstance(function, BuiltinFunctionType) else operator._op


def laid_out(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The same elements with these strides: the same memory, if only axes of one element differ."""
    sizes = tensor.shape
    if all(a == b or size == 1 for a, b, size in zip(tensor.stride(), strides, sizes)):
        return torch.as_strided(tensor, sizes, strides)
    return torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
