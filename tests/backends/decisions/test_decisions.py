"""Each kind of question about kernels, answered both ways: other code, the facts in the log, and never a guard."""

from __future__ import annotations

import pytest
import torch

from backends import cpu
from backends.cpu.emission import file_source
from backends.decisions.questions import KINDS, Choice, Decisions, is_multiple
from backends.interpreter import Interpreted
from backends.loops.kernels import Kernel
from backends.loops.program import Call, Program
from backends.loops.schedule import schedule
from backends.program.host import Host
from backends.program.memory import plan
from frontends.pytorch import Policy, compile, trace
from frontends.pytorch.errors import ConstraintViolation
from shapes import ShapeEnv


def program(names, *facts, withheld=()):
    """An empty program, its sizes by name, with what is known of them."""
    env = ShapeEnv(origin=lambda: None)
    sizes = [size.expr for size in env.sizes(names)]
    for fact in facts:
        env.assume(fact)
    return Program(Decisions(env, withheld=withheld)), *sizes


def shortened(made, b, s, c):
    """Writes a program whose rows become of length c after they were of length s; gives what may take their place."""
    build = made.build
    x = made.input("x", "float32", (b, s), (s, build.one))
    first = made.stored(build.apply("exp", x), (s, build.one))
    short, last = [made.buffer("float32", (b, c), (c, build.one)) for _ in range(2)]
    made.steps.append(Call(torch.relu, (first,), {}, (short,), has_layout=True))
    second = made.stored(build.apply("neg", build.memory(short)), (c, build.one))
    made.steps.append(Call(torch.relu, (second,), {}, (last,), has_layout=True))
    made.outputs += [build.memory(last), build.memory(short)]
    return second.buffer


def decided(program, kind):
    """The answers to questions of this kind, with the facts behind them."""
    return {
        (each.answer, tuple([fact.text for fact in each.core])) for each in program.decisions.log if each.kind == kind
    }


def test_the_remainder_of_a_sum_has_parentheses():
    """The log asks about the remainder of a whole sum."""
    made, n = program("n")
    made.decisions.holds("divisible", is_multiple(n - 1, 8), Choice("whole", "a tail"))
    assert [each.words for each in made.decisions.log] == ["(n - 1) % 8 == 0"]


@pytest.mark.parametrize(("facts", "axes", "answer"), [((), 2, "depends"), (("t == s",), 1, "always")])
def test_axes_are_one_loop_where_strides_say_so(facts, axes, answer):
    """Rows that may not be adjacent are collapsed into one loop, or adjacent rows are not."""
    made, b, s, t = program("b s t", *facts)
    x = made.input("x", "float32", (b, s), (t, made.build.one))
    made.outputs.append(made.stored(made.build.apply("exp", x), (s, made.build.one)))
    (kernel,) = schedule(made)
    assert len(kernel.extents) == axes
    assert answer in [found for found, _ in decided(made, "collapse")]


@pytest.mark.parametrize(("facts", "fits", "core"), [((), False, ()), (("c == b*s",), True, ("c == b*s",))])
def test_sizes_that_are_equal(facts, fits, core):
    """A view is taken for another one, or one that costs nothing is a copy."""
    made, b, s, c = program("b s c", *facts)
    x = made.input("x", "float32", (b, s), (s, made.build.one))
    assert (made.build.reshape(x, (c,)) is not None) == fits
    assert ("always" if fits else "depends", core) in decided(made, "equal")


@pytest.mark.parametrize(("facts", "axes"), [((), 2), (("b == 1",), 1), (("b >= 2",), 2)])
def test_axes_of_size_one(facts, axes):
    """An axis of one element is a loop, or one of more is none."""
    made, b, s, t = program("b s t", *facts)
    x = made.input("x", "float32", (b, s), (t, made.build.one))
    made.outputs.append(made.stored(made.build.apply("exp", x), (s, made.build.one)))
    (kernel,) = schedule(made)
    assert len(kernel.extents) == axes


@pytest.mark.parametrize(
    ("facts", "added", "vector", "strided"),
    [(("t == 1",), "nothing", True, False), ((), "branch", True, True), (("t >= 2",), "nothing", False, True)],
    ids=["one", "open", "not one"],
)
def test_strides(facts, added, vector, strided):
    """A stride that is not known is taken for 1, or one that is known is looked at when the kernel runs."""
    made, s, t = program("s t", *facts)
    x = made.input("x", "float32", (s,), (t,))
    made.outputs.append(made.stored(made.build.apply("exp", x), (made.build.one,)))
    kernels = schedule(made)
    text = file_source(kernels, made.decisions)
    questions = [each for each in made.decisions.log if each.kind == "stride one"]
    assert {each.added for each in questions} <= {added}
    assert ("load_f32(p1" in text, "load_strided_f32(p1" in text) == (vector, strided)
    assert ("k0_strided" in text) == (added == "branch")
    launch, given = cpu.kernels(kernels, made.decisions)[0], torch.randn(24)
    step = 3 if strided else 1
    out = torch.empty(8)
    launch(out, given, *[{s: 8, t: step}[number] for number in kernels[0].scalars], 1)
    torch.testing.assert_close(out, given[: 8 * step : step].exp())


@pytest.mark.parametrize(("facts", "added"), [((), "branch"), (("s >= 64",), "nothing")], ids=["any", "long"])
def test_lanes_of_transposing_kernels(facts, added):
    """Lanes run along an axis that fills no vector, or a kernel for such runs is made where there are none."""
    made, b, s = program("b s", *facts)
    x = made.input("x", "float32", (s, b), (b, made.build.one))
    turned = made.build.permute(made.build.apply("exp", x), (1, 0))
    made.outputs.append(made.stored(turned, (s, made.build.one)))
    kernels = schedule(made)
    text = file_source(kernels, made.decisions)
    assert {each.added for each in made.decisions.log if each.kind == "lanes"} == {added}
    assert ("k0_across" in text) == (added == "branch")
    launch = cpu.kernels(kernels, made.decisions)[0]
    for rows, length in ((70, 3), (33, 1), (1, 1), (0, 2), (2, 0)) if added == "branch" else ((70, 65), (1, 64)):
        given = torch.randn(length, rows)
        out = torch.empty(rows, length)
        launch(out, given, *[{b: rows, s: length}[number] for number in kernels[0].scalars], 1)
        torch.testing.assert_close(out, given.t().exp())


@pytest.mark.parametrize(("facts", "shared"), [((), False), (("c <= s",), True)])
def test_memory_that_is_used_again(facts, shared):
    """A buffer takes a place that is too small, or memory that fits is not used again."""
    made, b, s, c = program("b s c", "b >= 1", "s >= 1", "c >= 1", *facts)
    second = shortened(made, b, s, c)
    found = plan(made, schedule(made))
    assert (second in found.slots) == shared
    assert ("always" if shared else "depends") in [answer for answer, _ in decided(made, "reuse")]


@pytest.mark.parametrize("turned", [False, True])
def test_memory_that_is_overwritten_as_it_is_read(turned):
    """A kernel overwrites what another of its turns has yet to read, or takes memory where it need not."""
    made, b, s = program("b s")
    build = made.build
    x = made.input("x", "float32", (b, s), (s, build.one))
    product = made.buffer("float32", (b, s), (s, build.one))
    made.steps.append(Call(torch.neg, (x,), {}, (product,), has_layout=True))
    value = build.memory(product)
    largest = build.expand(build.reduce("maximum", value, (1,), keepdim=True), (b, s))
    value = build.apply("exp", build.apply("sub", value, largest))
    value = build.permute(value, (1, 0)) if turned else value
    kernel = made.stored(value, (value.sizes[1], build.one))
    last = made.buffer("float32", value.sizes, (value.sizes[1], build.one))
    made.steps.append(Call(torch.relu, (kernel,), {}, (last,), has_layout=True))
    made.outputs.append(build.memory(last))
    steps = schedule(made)
    kernels = [step for step in steps if isinstance(step, Kernel)]
    host = Host(made, steps, cpu.kernels(kernels, made.decisions), Interpreted(threads=cpu.threads))
    assert (host.memory.slots.get(kernel.buffer) is product) == (not turned)
    given = torch.randn(37, 70)
    expected = (-given - (-given).amax(1, keepdim=True)).exp().relu()
    torch.testing.assert_close(host.function((given,))[0], expected.t() if turned else expected)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_that_is_withheld_is_not_asked(kind):
    """A withheld kind of question is not asked, so that its worth can be measured."""
    made, b, _ = program("b s", withheld={kind})
    assert made.decisions.holds(kind, made.decisions.interner.ge(b, 0), Choice("yes", "no")) is None
    (decision,) = made.decisions.log
    assert decision.answer == "withheld" and decision.chosen == "no"


def test_unknown_kinds_are_refused():
    """A kind that does not exist is withheld, and seems to be worth nothing."""
    with pytest.raises(ConstraintViolation, match="the kinds of decisions are"):
        Policy(withheld=frozenset(["speed"]))


def test_no_decision_adds_a_guard():
    """A kernel makes a function recompile."""

    def block(x, y, weight):
        return torch.nn.functional.layer_norm((x + y) @ weight, (weight.shape[1],)).softmax(-1).sum(0)

    inputs = torch.randn(4, 6), torch.randn(6), torch.randn(6, 5)
    plain = trace(block, inputs)
    through = trace(block, inputs)
    through.run_by(cpu)
    assert [str(guard) for guard in through.guards] == [str(guard) for guard in plain.guards]
    (host,) = through.running.hosts
    assert any(isinstance(step, Kernel) for step in host.steps)
    for decision in host.program.decisions.log:
        assert decision.verdict is not None
        assert decision.added in ("nothing", "branch")


def test_explanation_shows_kernels_lines_and_decisions():
    """A person can not see why a kernel is as it is."""
    compiled = compile(lambda x, y: (x * y).softmax(-1), backend="cpu", dynamic=True)
    compiled(torch.randn(3, 4), torch.randn(4))
    text = compiled.explain(kernels=True)
    for words in ("lanes i1", "from ", "test_decisions.py", "peak: ", "equal: ", "always, because", "nothing added"):
        assert words in text
    assert "kernels:" not in compiled.explain()


@pytest.mark.parametrize(
    ("facts", "has_tail", "answer"),
    [((), True, "depends"), (("s % 64 == 0",), False, "always"), (("s % 64 == 3",), True, "never")],
)
def test_tails(facts, has_tail, answer):
    """Elements behind the last whole vector are left out, or code for them is there though there are none."""
    made, b, s, t = program("b s t", *facts)
    x = made.input("x", "float32", (b, s), (t, made.build.one))
    made.outputs.append(made.stored(made.build.apply("exp", x), (s, made.build.one)))
    kernels = schedule(made)
    text = file_source(kernels, made.decisions)
    assert ("const int64_t n = " in text) == has_tail
    assert answer in [found for found, _ in decided(made, "divisible")]
    columns = 128 if answer == "always" else 67
    out, given = torch.empty(3, columns), torch.randn(3, columns + 5)
    sizes = {b: 3, s: columns, t: columns + 5}
    cpu.kernels(kernels, made.decisions)[0](out, given, *[sizes[number] for number in kernels[0].scalars], 1)
    torch.testing.assert_close(out, given[:, :columns].exp())


@pytest.mark.parametrize(
    ("facts", "axes", "kind", "answer", "words"),
    [
        ((), (), "parallel", "depends", "#pragma omp"),
        (("b*s <= 1000",), (), "parallel", "never", None),
        ((), (0, 1), "split", "depends", "#pragma omp"),
        (("b*s <= 1000",), (0, 1), "split", "never", "chunks = 0 + 1"),
        (("b >= 1000", "s >= 1000"), (0, 1), "split", "always", "#pragma omp"),
    ],
)
def test_threads(facts, axes, kind, answer, words):
    """Little work is divided among threads, or much is not."""
    made, b, s = program("b s", *facts)
    x = made.input("x", "float32", (b, s), (s, made.build.one))
    value = made.build.reduce("sum", x, axes) if axes else made.build.apply("exp", x)
    made.outputs.append(made.stored(value, (s, made.build.one)[2 - value.rank :]))
    text = file_source(schedule(made), made.decisions)
    assert answer in [found for found, _ in decided(made, kind)]
    assert "#pragma omp" not in text if words is None else words in text
    added = {each.added for each in made.decisions.log if each.kind == kind}
    assert added == {"branch" if answer == "depends" else "nothing"}


@pytest.mark.parametrize(("facts", "number"), [((), False), (("s == 56",), True)])
def test_sizes_that_are_numbers(facts, number):
    """A size that is known is read when the kernel runs, or one that is not is taken for a number."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s", hints=(4, 56))]
    for fact in facts:
        env.assume(fact)
    made = Program(Decisions(env))
    x = made.input("x", "float32", (b, s), (s, made.build.one))
    made.outputs.append(made.stored(made.build.reduce("sum", x, (1,)), (made.build.one,)))
    (kernel,) = schedule(made)
    file_source([kernel], made.decisions)
    assert kernel.extents[-1].is_constant == number
    assert ("always" if number else "depends", facts) in decided(made, "constant")


@pytest.mark.parametrize(("withheld", "is_one"), [((), True), (("equal",), False)])
def test_products_that_are_the_same_are_a_question(withheld, is_one):
    """An engine that answers unknown seems to cost little, as equalities of the normal form are no questions."""
    made, a, b, s, t = program("a b s t", withheld=withheld)
    build = made.build
    strides = (b * s * t, s * t, t, build.one)
    x = made.input("x", "float32", (a, b, s, t), strides)
    total = build.expand(build.reduce("sum", x, (3,), keepdim=True), x.sizes)
    made.outputs.append(made.stored(build.apply("sub", x, total), strides))
    assert (len(schedule(made)) == 1) == is_one
    same = [each for each in made.decisions.log if each.kind == "equal" and each.put]
    assert any(str(each).startswith("equal: b*s == b*s? always: the same") for each in same) == is_one


@pytest.mark.parametrize("likely", [True, False])
@pytest.mark.parametrize(
    ("facts", "withheld", "found"),
    [((), (), None), (("s <= t",), (), True), (("s > t",), (), False), ((), ("reuse",), False)],
)
def test_what_is_likely_counts_only_where_nothing_is_known(facts, withheld, found, likely):
    """The sizes of the trace decide what is known for all sizes, or what is not to be asked."""
    made, s, t = program("s t", *facts, withheld=withheld)
    question = made.decisions.interner.le(s, t)
    expected = likely if found is None else found
    assert made.decisions.sooner("reuse", question, Choice("yes", "no"), likely=likely) is expected
    (decision,) = made.decisions.log
    assert decision.chosen == ("yes" if expected else "no") + (", as where it was traced" if found is None else "")


@pytest.mark.parametrize(("hints", "shared"), [((4, 30, 20), True), ((4, 1000, 20), False)])
def test_a_place_that_is_much_too_large_is_let_go_of(hints, shared):
    """A small buffer keeps the memory of a large one alive."""
    env = ShapeEnv(origin=lambda: None)
    b, s, c = [size.expr for size in env.sizes("b s c", hints=hints)]
    for fact in ("b >= 1", "c >= 1", "c <= s"):
        env.assume(fact)
    made = Program(Decisions(env))
    second = shortened(made, b, s, c)
    assert (second in plan(made, schedule(made)).slots) == shared
    words = "a slot as large" if shared else "too large a slot"
    assert f"{words}, as where it was traced" in [each.chosen for each in made.decisions.log]
