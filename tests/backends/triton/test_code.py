"""Known facts about sizes show in the code: the width of accesses and of indices, and the masks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from backends.decisions.questions import Decisions
from backends.loops.affine import packed
from backends.loops.kernels import Kernel
from backends.loops.nodes import Tensor
from backends.loops.operations import DTYPES, OPERATIONS
from backends.loops.program import Program
from backends.loops.schedule import schedule
from backends.triton.compiling import TARGETS, compiled
from backends.triton.emission import Source
from backends.triton.launching import Launch
from benchmarks.kernels.compiled import kernels_of, read
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.programs import Program as Measured
from shapes import ShapeEnv
from tests.backends.programs import CASES as COMMON
from tests.backends.programs import softmax
from tests.backends.triton.cases import CASES

ODD, EVEN = 1001, 1008


def launch_of(
    build: Callable[..., Tensor], dimensions: str, facts: Sequence[str], withheld: Sequence[str] = ()
) -> Launch:
    """The kernel of one output of one input, under these facts."""
    env = ShapeEnv(origin=lambda: None)
    sizes = tuple([size.expr for size in env.sizes(dimensions, lo=2)])
    for fact in facts:
        env.assume(fact)
    program = Program(Decisions(env, withheld=withheld))
    x = program.input("x", "float32", sizes, packed(sizes))
    y = build(program.build, x)
    program.outputs.append(program.stored(y, packed(y.sizes)))
    (kernel,) = schedule(program)
    assert isinstance(kernel, Kernel)
    return Launch(kernel, program.decisions)


def rows(b, x):
    return softmax(b, x, 1)


def exponential(b, x):
    return b.apply("exp", x)


def ptx(source: Source) -> str:
    return compiled(source, TARGETS["sm_90"]).asm["ptx"]


def loads(text: str) -> tuple[int, int]:
    """The number of loads that are wide, and of those that are not."""
    wide = len(re.findall(r"ld\.global\.v4", text))
    return wide, len(re.findall(r"ld\.global\.", text)) - wide


def predicated(text: str) -> int:
    return len(re.findall(r"@%p\d+ (?:ld|st)\.global", text))


def test_divisibility_that_is_known_widens_accesses() -> None:
    """A proven multiple of 16 makes accesses wide."""
    known = launch_of(rows, "b s", ["s % 16 == 0"])
    assert known.facts.aligning == ()
    assert loads(ptx(known.plan((100, EVEN)).steps[0].aligned)) == (2, 0)


def test_divisibility_that_is_not_known_is_looked_at_when_launched() -> None:
    """Divisibility that is not proven is tested at launch: wide accesses where the sizes allow them, scalar ones else.
    """
    unknown = launch_of(rows, "b s", [])
    assert len(unknown.facts.aligning) == 1
    assert loads(ptx(unknown.plan((100, EVEN)).steps[0].aligned)) == (2, 0)
    assert loads(ptx(unknown.plan((100, ODD)).steps[0].aligned)) == (0, 8)


def test_a_proven_multiple_is_wide_where_addresses_are_not() -> None:
    """A view at an unaligned address is not read in wide steps."""
    known = launch_of(rows, "b s", ["s % 16 == 0"])
    assert loads(ptx(known.plan((100, EVEN)).steps[0].general)) == (0, 8)


def test_masks_are_gone_where_blocks_divide_the_size() -> None:
    """Accesses have no mask where a fact says that blocks divide the size."""
    known = launch_of(exponential, "n", ["n % 1024 == 0"])
    unknown = launch_of(exponential, "n", [])
    count = 1024 * 1024
    assert known.facts.step == 1024
    assert predicated(ptx(known.plan((count,)).steps[0].aligned)) == 0
    assert predicated(ptx(unknown.plan((count + 16,)).steps[0].aligned)) == 4
    assert predicated(ptx(unknown.plan((count + 1,)).steps[0].aligned)) == 16


def test_blocks_follow_what_is_known_to_divide() -> None:
    """A size known to be a multiple of 256 is tiled by a divisor of it, without a mask."""
    known = launch_of(exponential, "n", ["n % 256 == 0"])
    plan = known.plan((256 * 4097,))
    assert (plan.steps[0].aligned.form.columns, plan.steps[0].aligned.form.masks_columns) == (256, False)


@pytest.mark.parametrize(
    ("facts", "sizes", "bits"),
    [
        (["b * s <= 1000000000", "s <= 100000"], (100, EVEN), 32),
        ([], (100, EVEN), 32),
        ([], (4_000_000, EVEN), 64),
        (["b >= 100000", "s >= 100000"], (100_000, 100_000), 64),
    ],
)
def test_index_width_follows_facts_and_sizes(facts: list[str], sizes: tuple[int, int], bits: int) -> None:
    """Indices are 32 bits wide where facts or sizes allow it, else 64."""
    launch = launch_of(rows, "b s", facts)
    source = launch.plan(sizes).steps[0].aligned
    assert source.form.bits == bits
    assert (f".param .u{bits} k0_param_2") in ptx(source)
    assert launch.facts.narrow == (bits == 32 if facts else None)


def test_a_withheld_fact_is_looked_at_instead() -> None:
    """A withheld fact is tested at launch instead."""
    withheld = launch_of(rows, "b s", ["s % 16 == 0"], withheld=["divisible"])
    assert len(withheld.facts.aligning) == 1
    assert withheld.plan((100, EVEN)).steps[0].aligned.form.is_aligned


def test_rows_in_registers_or_in_blocks() -> None:
    """Rows are held in registers or walked through in blocks: only the proven form is compiled, and long rows do not
    spill.
    """
    short = launch_of(rows, "b s", ["s <= 4000"])
    long = launch_of(rows, "b s", ["s >= 10000"])
    both = launch_of(rows, "b s", [])
    assert [each.facts.short for each in (short, long, both)] == [True, False, None]
    assert [both.plan((100, s)).steps[0].aligned.form.is_looped for s in (1000, 100_000)] == [False, True]


def test_decisions_are_logged() -> None:
    """The log says why a kernel has the code that it has."""
    env = ShapeEnv(origin=lambda: None)
    (n,) = [size.expr for size in env.sizes("n")]
    env.assume("n % 16 == 0")
    program = Program(Decisions(env))
    x = program.input("x", "float32", (n,), (program.build.one,))
    program.outputs.append(program.stored(program.build.apply("exp", x), (program.build.one,)))
    Launch(schedule(program)[0], program.decisions)
    lines = [str(decision) for decision in program.decisions.log]
    assert "k0: divisible: n % 16 == 0? always, because n % 16 == 0: wide accesses; nothing added" in lines
    assert "k0: divisible: n % 32 == 0? depends: a mask where it is not; branch added" in lines
    assert not env.guards()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", [*COMMON, *CASES], ids=lambda case: case.name)
def test_every_kernel_compiles(case, target: str) -> None:
    """Every fused kernel has code for a device."""
    program = case.program()
    for kernel in schedule(program):
        launch = Launch(kernel, program.decisions)
        for size in (ODD,) if target == "gfx942" else (EVEN, 100_000):
            source = launch.plan((size,) * len(kernel.scalars)).steps[0].aligned
            assert compiled(source, TARGETS[target]).asm[{"sm_90": "cubin", "gfx942": "hsaco"}[target]]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_measured_function_compiles(program: Measured) -> None:
    """Every kernel of the measured functions, forward and backward, has code for a device, without spills."""
    for size, target in ((program.sizes[-2], "sm_90"), (program.sizes[-1], "gfx942")):
        found = kernels_of(program, size)
        assert found["forward"]
        for kernel in [each for kernels in found.values() for each in kernels]:
            for step in kernel.steps():
                if target == "sm_90":
                    assert not read(step.aligned).spilled
                else:
                    assert compiled(step.aligned, TARGETS[target]).asm["hsaco"]


@pytest.mark.parametrize(
    ("facts", "rest", "predicates"),
    [(["s % 2048 == 0"], 0, 0), ([], 0, 0), ([], 16, 6), (["s % 16 == 0"], 16, 6), ([], 1, 24)],
)
def test_masks_of_rows_in_blocks(facts: list[str], rest: int, predicates: int) -> None:
    """Rows that are walked through in blocks have no masks where blocks divide them."""
    step = launch_of(rows, "b s", facts).plan((1000, 2048 * 9 + rest)).steps[0]
    assert (step.aligned.form.is_looped, predicated(ptx(step.aligned))) == (True, predicates)


def test_a_multiple_that_is_known_leaves_one_form() -> None:
    """Only one form is compiled for sizes that are multiples of a block by a fact."""
    known = launch_of(exponential, "n", ["n % 1024 == 0"])
    for count in (1, 5, 257, 1023):
        known.plan((1024 * count,))
    assert {(form.masks_columns, form.is_aligned) for form in known.sources} == {(False, True), (False, False)}


@pytest.mark.parametrize("facts", [["outer == s", "inner == 1"], []], ids=["known", "not known"])
def test_strides_that_are_known_are_not_looked_at(facts: list[str]) -> None:
    """A stride that is 1 by a fact is no argument."""
    env = ShapeEnv(origin=lambda: None)
    b, s, outer, inner = [size.expr for size in env.sizes("b s outer inner")]
    for fact in facts:
        env.assume(fact)
    program = Program(Decisions(env))
    x = program.input("x", "float32", (b, s), (outer, inner))
    program.outputs.append(program.stored(rows(program.build, x), (s, program.build.one)))
    (kernel,) = schedule(program)
    launch = Launch(kernel, program.decisions)
    assert (inner in launch.facts.strides) is (inner in kernel.scalars) is (not facts)


@pytest.mark.parametrize(("facts", "short"), [(["s <= 64"], True), (["s >= 65"], False), ([], None)])
def test_columns_that_are_summed(facts: list[str], short: bool | None) -> None:
    """The number of rows that a column sum holds at once follows the facts about their number."""
    launch = launch_of(lambda b, x: b.reduce("sum", x, (0,)), "s c", facts)
    assert (launch.facts.tile.is_along_rows, launch.facts.short) == (True, short)


def test_wide_accesses_of_gfx942() -> None:
    """An AMD device reads known multiples of 16 in wide accesses."""
    known = launch_of(rows, "b s", ["s % 16 == 0"]).plan((100, EVEN)).steps[0].aligned
    odd = launch_of(rows, "b s", []).plan((100, ODD)).steps[0].aligned
    known_text, odd_text = [compiled(each, TARGETS["gfx942"]).asm["amdgcn"] for each in (known, odd)]
    assert re.search(r"(global|buffer)_load_dwordx4", known_text)
    assert not re.search(r"load_dwordx4", odd_text)


def test_strides_that_turn_out_to_be_one_are_contiguous() -> None:
    """Strides that are 1 at launch give contiguous accesses."""
    env = ShapeEnv(origin=lambda: None)
    b, s, outer, inner = [size.expr for size in env.sizes("b s outer inner", lo=2)]
    program = Program(Decisions(env))
    x = program.input("x", "float32", (b, s), (outer, inner))
    program.outputs.append(program.stored(rows(program.build, x), (s, program.build.one)))
    (kernel,) = schedule(program)
    launch = Launch(kernel, program.decisions)
    at = {"b": 100, "s": EVEN, "outer": EVEN, "inner": 1}
    (step,) = launch.plan([at[str(number)] for number in kernel.scalars]).steps
    assert loads(ptx(step.aligned)) == (2, 0)


def test_a_pass_reads_before_it_writes() -> None:
    """A pass loads before it stores, where memory is overwritten in place."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s", lo=2)]
    program = Program(Decisions(env))
    build = program.build
    x, y = [program.input(name, "float32", (b, s), (s, build.one)) for name in "xy"]
    whole = build.apply("sub", x, build.expand(build.reduce("sum", x, (1,), keepdim=True), x.sizes))
    for made in (whole, build.apply("add", whole, y)):
        program.outputs.append(program.stored(made, (s, build.one)))
    (kernel,) = schedule(program)
    launch = Launch(kernel, program.decisions)
    for columns in (100, 100_000):
        words = re.findall(r"tl\.(load|store)", launch.plan((100, columns)).steps[0].general.text)
        assert words[-2:] == ["store", "store"] and words.count("store") == 2


def test_a_maximum_and_what_is_below_it_are_one_pass() -> None:
    """A softmax reads rows that do not stay in registers twice, not three times."""
    text = launch_of(rows, "b s", []).plan((1000, 100_000)).steps[0].aligned.text
    assert (text.count("for start"), text.count("below("), text.count("lowered(")) == (2, 1, 1)


@pytest.mark.parametrize(
    ("sizes", "block"), [((100, 100_000), 8192), ((1000, 100_000), 2048), ((100, 12_000), 4096), ((100, 10_240), 2048)]
)
def test_few_long_rows_are_read_in_longer_blocks(sizes: tuple[int, int], block: int) -> None:
    """A softmax over few long rows reads longer blocks, without masks."""
    form = launch_of(rows, "b s", []).plan(sizes).steps[0].aligned.form
    assert (form.columns, form.warps, form.masks_columns) == (
        block,
        block // 256 if block < 8192 else 16,
        sizes[1] % 2048 > 0,
    )


OF_ALL = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", OF_ALL)
def test_every_operation_compiles(dtype: str, target: str) -> None:
    """Every operation has code for a device."""
    kind = "float" if "float" in dtype else "bool" if dtype == "bool" else "integer"
    program = Program(Decisions(env := ShapeEnv(origin=lambda: None)))
    build, (n,) = program.build, [size.expr for size in env.sizes("n", lo=2)]
    x, y = [program.input(name, dtype, (n,), (build.one,)) for name in "xy"]
    made = [build.apply("select", build.apply("ne", x, y), x, y), *[build.cast(x, other) for other in DTYPES]]
    for name, operation in OPERATIONS.items():
        if kind in operation.kinds and name not in ("select", "cast"):
            made.append(build.apply(name, *(x, y)[: operation.arity]))
    total = build.cast(made[0], "float32")
    for each in made[1:]:
        total = build.apply("add", total, build.cast(each, "float32"))
    program.outputs.append(program.stored(total, (build.one,)))
    (kernel,) = schedule(program)
    source = Launch(kernel, program.decisions).plan((1000,)).steps[0].aligned
    assert compiled(source, TARGETS[target]).asm[{"sm_90": "cubin", "gfx942": "hsaco"}[target]]


def test_few_long_rows_are_cut_in_parts() -> None:
    """A sum over few long rows is split over several programs."""
    launch = launch_of(lambda b, x: b.reduce("sum", x, (0,)), "b s", [])
    part, rest = launch.plan((64, 1_000_000)).steps
    assert part.grid > 100 and rest.grid == 2
    assert (part.aligned.form.stage, rest.aligned.form.stage) == ("part", "rest")
    assert len(launch.plan((100_000, 1_000_000)).steps) == 1
    for step in (part, rest):
        assert compiled(step.aligned, TARGETS["sm_90"]).asm["cubin"]


def test_rows_that_are_stored_beside_their_sum_are_cut_in_parts() -> None:
    """A sum over few long rows is split over several programs, if its elements are stored by the same loop as well."""
    case = next(each for each in COMMON if each.name == "costly elements and their sum over rows")
    program = case.program()
    (kernel,) = schedule(program)
    launch = Launch(kernel, program.decisions)
    sizes = {"b": 100_000, "s": 56}
    part, rest = launch.plan([sizes[str(size)] for size in kernel.scalars]).steps
    assert part.grid > 100 and rest.grid == 2
    assert "tl.store(p" in part.aligned.text and rest.aligned.text.count("tl.store") == 1
