"""The host program is decided once, and both of its printers read it."""

from dataclasses import FrozenInstanceError

import pytest

from backends.cpu.launcher.whole_graph import described
from backends.decisions.questions import Decisions
from backends.interpreter import Interpreted
from backends.loops.kernels import Kernel
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.program.host import Host
from shapes import ShapeEnv
from shapes.guards.emit_c import NotNative
from tests.backends.programs import CASES


def printed(program, **options):
    steps = schedule(program)
    return Host(program, steps, [print for step in steps if isinstance(step, Kernel)], Interpreted(**options))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_question_is_asked_by_the_printer_in_c(case, monkeypatch):
    """The two printers take different decisions about one program."""
    host = printed(case.program(), large=(1 << 20, print), pooled=print)
    for name in ("holds", "same", "equal", "is_one", "sooner"):
        monkeypatch.setattr(Decisions, name, lambda *_, **__: pytest.fail("a question is asked while C is printed"))
    description = described(host)
    made = [each for step in host.plan.steps for each in step.allocations]
    assert len(description.scratch) + len(host.program.outputs) == len(made)
    with pytest.raises(FrozenInstanceError):
        host.plan.steps = ()


def test_a_symbol_is_read_from_a_size_rather_than_a_stride():
    """A stride along an axis of size 1 is any number."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s")]
    program = Program(Decisions(env))
    x = program.input("x", "float32", (b, s), (s, program.build.one))
    program.outputs.append(program.stored(program.build.apply("exp", x), (s, program.build.one)))
    host = printed(program)
    assert [(each.symbol.expr, each.what, each.axis) for each in host.plan.symbols] == [(b, "size", 0), (s, "size", 1)]
    assert described(host).symbols == {b: ("x0", ".shape", 0), s: ("x0", ".shape", 1)}


def test_a_comparison_is_no_constant_output():
    """C returns the proposition itself, where Python returns whether it holds."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s")]
    program = Program(Decisions(env))
    program.input("x", "float32", (b, s), (s, program.build.one))
    program.outputs.append(env.interner.gt(b, s))
    assert "return [n0 > n1]" in printed(program).source or "return [n1 < n0]" in printed(program).source
    with pytest.raises(NotNative, match="comparison"):
        described(printed(program))
