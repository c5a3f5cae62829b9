"""`certify`: faults planted in programs of every compiler are found, with their lines, and nothing else is reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import torch._dynamo

from frontends.pytorch import certify, compile
from frontends.pytorch.errors import ConstraintViolation
from shapes.errors import ShapeError
from tests.frontends.pytorch.certificates.compilers import COMPILERS, by_dynamo, without_entries
from tests.frontends.pytorch.certificates.planted_faults import FACTS, PROGRAMS

entries_removed = pytest.fixture(without_entries, autouse=True)


@pytest.mark.parametrize("compiler", ["eager", "export"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_planted_faults(name: str, compiler: str) -> None:
    """Every planted fault is found at its line, and nothing else is reported."""
    planted = PROGRAMS[name]
    compiled = COMPILERS[compiler](planted.program, planted.arguments())
    found = certify(compiled, planted.failing)
    if compiler != "export":
        # of what an operator asks, export knows the line of the module's forward
        assert {each.origin.line for each in found.findings if each.origin is not None} == set(planted.lines())
    assert len(found.findings) == len(planted.lines()), str(found)
    assert not found.not_shown and found.check() and found.exit_status == 1, str(found)
    sound = certify(compiled, planted.sound or planted.failing, [FACTS[name]] if name in FACTS else [])
    assert sound.proven and sound.check() and sound.exit_status == 0, str(sound)


@pytest.mark.parametrize("compiler", ["ours", "eager"])
def test_each_finding_is_a_size_that_is_not_accepted(compiler: str) -> None:
    """Each finding is the smallest size at which the compiled program falls back to eager."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] % 4 == 0 and x.shape[0] <= 40 else x

    compiled = COMPILERS[compiler](program, [torch.ones(8, 3)])
    found = certify(compiled, {"x.shape[0]": (4, 64, 2), "x.shape[1]": (2, None)})
    assert {each.size["x.shape[0]"] for each in found.findings} == {6, 42}


def cut(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.shape[0] <= 64:
        x = x * 2
    return x.sum() + y.sum()


BOTH = {"x.0": (2, 128), "x.1": (2, 9), "y.0": (2, 9), "y.1": (2, 9)}


def given(size: int) -> Sequence[torch.Tensor]:
    return torch.ones(size, 5), torch.ones(3, 4)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_guards_that_were_dropped(backend: str) -> None:
    """Dropped guards are not certified, as none are tested."""
    dropped = torch.compile(
        cut, backend=backend, dynamic=True, options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    )
    dropped(*given(8))
    (finding,) = certify(dropped, BOTH).findings
    assert (finding.guard, finding.size) == ("x.shape[0] <= 64", {"x.shape[0]": 65})
    assert finding.origin is not None and finding.origin.line == cut.__code__.co_firstlineno + 1
    assert certify(dropped, BOTH | {"x.0": (2, 64)}).proven


def test_variants_beside_each_other() -> None:
    """Sizes that another variant accepts are not reported; those that none accepts are."""
    for compiled in (compile(cut, dynamic=True), torch.compile(cut, backend="eager", dynamic=True)):
        compiled(*given(8))
        assert not certify(compiled, BOTH).proven
        compiled(*given(80))
        found = certify(compiled, BOTH)
        assert found.proven and found.check(), str(found)


def test_behind_a_graph_break() -> None:
    """A program with a graph break is not certified: the rest behind it is unknown."""

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y[y > 0].exp()

    compiled = torch.compile(broken, backend="eager", dynamic=True)
    compiled(torch.ones(8, 3))
    found = certify(compiled, {"x.0": (2, 64), "x.1": (2, 64)})
    assert found.status == "unknown" and "graph break" in found.not_shown[0].guard

    def reads(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    own = compile(reads, dynamic=True)
    own(torch.ones(8, 3))
    assert certify(own, {"x.0": (2, 64), "x.1": (2, 64)}).status == "unknown"


def test_only_its_own_entries() -> None:
    """A certificate reads only entries of its own backend."""
    first, second = [torch.compile(cut, backend=backend, dynamic=True) for backend in ("eager", "aot_eager")]
    first(*given(8))
    second(*given(80))
    assert [each.size for each in certify(first, BOTH).findings] == [{"x.shape[0]": 65}]
    assert [each.size for each in certify(second, BOTH).findings] == [{"x.shape[0]": 2}]


def test_settings_and_weights_are_assumed() -> None:
    """Sizes of parameters and attributes, which are no inputs, are assumed and not reported."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm, self.times = torch.nn.Linear(5, 5), torch.nn.LayerNorm(5), 3

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(self.linear(x)) * self.times

    for compiler in ("ours", "eager", "aot_eager", "export"):
        compiled = COMPILERS[compiler](Net(), [torch.ones(8, 5)])
        assert certify(compiled, {"x.0": (2, 64), "x.1": 5}).proven, compiler


class Layers(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)
        return y if y.shape[0] <= 64 else y * 2


def test_modules_of_one_class() -> None:
    """A certificate of a module does not read the entries of another module of its class."""
    first, second = [torch.compile(Layers(width), backend="eager", dynamic=True) for width in (5, 7)]
    first(torch.ones(8, 5))
    second(torch.ones(80, 7))
    (finding,) = certify(first, {"x.0": (2, 128), "x.1": 5}).findings
    assert finding.size == {"x.shape[0]": 65}
    (finding,) = certify(second, {"x.0": (2, 128), "x.1": 7}).findings
    assert finding.size == {"x.shape[0]": 2}


def test_graphs_within_graphs() -> None:
    """Guards of a graph are its own, also where it leads to other graphs."""
    inner = torch.compile(lambda x: x * 3 if x.shape[0] <= 7 else x, backend="eager", dynamic=True)
    inner(torch.ones(5, 4))

    def outer(x: torch.Tensor) -> torch.Tensor:
        both = torch.cond(x.shape[0] > 2, lambda x: x * 2, lambda x: x + 1, (x,))
        return inner(x) + (both if x.shape[1] <= 9 else 2)

    compiled = torch.compile(outer, backend="eager", dynamic=True)
    compiled(torch.ones(5, 4))
    sizes = {"x.0": (3, 64), "x.1": (2, 64)}
    assert {each.guard for each in certify(compiled, sizes).findings} == {"x.shape[0] <= 7", "x.shape[1] <= 9"}
    assert [each.guard for each in certify(inner, sizes).findings] == ["x.shape[0] <= 7"]


def test_a_module_compiled_in_place() -> None:
    module = Layers(5)
    module.compile(backend="eager", dynamic=True)
    with pytest.raises(ConstraintViolation, match="never called"):
        certify(module, {})
    module(torch.ones(8, 5))
    assert [each.size for each in certify(module, {"x.0": (2, 128), "x.1": 5}).findings] == [{"x.shape[0]": 65}]


def test_what_only_run_time_knows() -> None:
    """Checks of the program itself are not reported, and unbacked sizes are known."""

    def cut_at(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        end = n.sum().item()
        torch._check(end >= 2)
        torch._check(end <= x.shape[0])
        return x[:end].sum()

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        for compiler in ("ours", "eager"):
            compiled = COMPILERS[compiler](cut_at, [torch.ones(8, 5), torch.tensor([1, 2])])
            assert certify(compiled, {"x.0": (2, 128), "x.1": (2, 9), "n.0": 2}).proven, compiler
    x = torch.ones(8, 5)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    unbacked = torch.compile(lambda x: x * 2, backend="eager")
    unbacked(x)
    assert certify(unbacked, {"x.0": (0, 128), "x.1": 5}).proven


def test_integers_among_the_arguments() -> None:
    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n if n <= 9 else x

    for compiled in (compile(scaled, dynamic=True), torch.compile(scaled, backend="eager", dynamic=True)):
        compiled(torch.ones(8, 3), 4)
        compiled(torch.ones(8, 3), 5)
        sizes = {"x.0": (2, 64), "x.1": (2, 64)}
        found = certify(compiled, sizes | {"n": (2, 9)})
        assert found.proven, str(found)
        found = certify(compiled, sizes | {"n": (2, 99)})
        assert [each.size for each in found.findings] == [{"n": 10}]


def test_a_variant_and_a_file(tmp_path: Path) -> None:
    own = compile(cut, dynamic=True)
    own(*given(8))
    own(*given(80))
    found = [[each.size for each in certify(variant, BOTH).findings] for variant in own.variants]
    assert found == [[{"x.shape[0]": 65}], [{"x.shape[0]": 2}]]
    path = tmp_path / "guards.txt"
    path.write_text("L['x'].size()[0] <= 64  # model.py:3 in f\n")
    (finding,) = certify(path, {"x.0": (2, 128)}).findings
    assert finding.size == {"x.shape[0]": 65} and str(finding.origin) == "model.py:3 in f"


@pytest.mark.parametrize("what", [3, torch.nn.Linear(2, 2), cut, None])
def test_what_was_not_compiled(what: object) -> None:
    with pytest.raises(ConstraintViolation, match="expected a compiled object"):
        certify(what, {})


def test_what_was_never_called() -> None:
    for compiled in (compile(cut), torch.compile(cut, backend="eager")):
        with pytest.raises(ConstraintViolation, match=r"never (been )?called"):
            certify(compiled, {})


def test_sizes_that_there_are_not() -> None:
    """An unknown size is an error that lists the sizes."""
    for compiler in ("ours", "eager", "export"):
        compiled = COMPILERS[compiler](cut, given(8))
        with pytest.raises(ShapeError, match=r"'x.shape\[2\]': there is no such size; there are"):
            certify(compiled, {"x.2": (1, 2)})


def test_nothing_changes() -> None:
    """A certificate recompiles nothing and leaves no guard behind."""
    own, torchs = compile(cut, dynamic=True), torch.compile(cut, backend="eager", dynamic=True)
    counter = torch._dynamo.testing.CompileCounter()
    counted = torch.compile(cut, backend=counter, dynamic=True)
    for compiled in (own, torchs, counted):
        compiled(*given(8))
        certify(compiled, BOTH)
        compiled(*given(16))
    assert len(own.variants) == 1 and counter.frame_count == 1


@pytest.mark.thorough
def test_what_inductor_assumes() -> None:
    """Guards that Inductor adds for its kernels are found, and planted ones beside them."""
    compiled = by_dynamo("inductor")
    for name in ("short_rows", "two_of_them", "narrow_numel", "Attention", "asserted"):
        planted = PROGRAMS[name]
        found = certify(compiled(planted.program, planted.arguments()), planted.failing)
        own = {each.origin.line for each in found.findings if each.origin is not None and not each.why}
        assert own == set(planted.lines()), str(found)
        assert all(each.why.startswith(("_inductor", "_functorch")) for each in found.findings if each.why)
        assert found.check()


def test_the_width_of_indices() -> None:
    """A kernel with 32-bit indices is certified for no more elements than 32 bits index."""
    from torch._dynamo.source import LocalSource
    from torch._inductor.sizevars import SizeVarAllocator
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv, TrackedFake

    from frontends.pytorch.certificates.shape_envs import of_environment
    from shapes.certification.certifying import certify as judged

    mode, source = FakeTensorMode(shape_env=ShapeEnv(tracked_fakes=[])), LocalSource("x")
    x = mode.from_tensor(torch.ones(8, 3), static_shapes=False, source=source)
    mode.shape_env.tracked_fakes.append(TrackedFake(x, source, None))
    rows, columns = [size.node.expr for size in x.shape]
    # what Inductor asks before it makes a kernel for a GPU with such indices
    SizeVarAllocator(mode.shape_env).check_leq(rows * columns, torch.iinfo(torch.int32).max)
    found = judged([of_environment(mode.shape_env)], {"x.0": (2, 2**16), "x.1": (2, 2**16)})
    (finding,) = found.findings
    assert finding.size == {"x.shape[0]": 2**15, "x.shape[1]": 2**16}
