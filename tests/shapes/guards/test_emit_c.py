"""The native form answers as the Python form does, and where there is none nothing fails."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
import textwrap
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shapes.guards import extension_modules, toolchain
from shapes.guards.codegen import Check, compile_check, is_check
from shapes.guards.emit_c import NotNative, native_source
from shapes.guards.extension_modules import build
from shapes.guards.toolchain import Unavailable
from solver.terms.interner import Interner
from solver.terms.operations import OPERATIONS
from tests.effort import examples
from tests.shapes.guards.propositions import EDGES, NAMES, edge_values, propositions, requirement, written

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a process without loaded libraries or recorded failures."""
    monkeypatch.setenv("SYMSHAPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(extension_modules, "_loaded", {})
    monkeypatch.setattr(toolchain, "_given_up", {})
    return tmp_path / "cache"


def python_check(texts: list[str], names: list[str] = NAMES) -> Check:
    requirements, symbols = written(texts, names)
    return compile_check(requirements, symbols, {name: i for i, name in enumerate(names)})


def compiler_script(folder: Path, text: str) -> str:
    """A program that stands for a compiler."""
    script = folder / "compiler"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return str(script)


@needs_compiler
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(propositions(), st.lists(edge_values(), min_size=50, max_size=100))
def test_native_answers_as_python_does(texts: list[str], tuples: list[tuple[int, ...]]) -> None:
    """A failure: compiled C and generated Python disagree about some sizes: rounding, signs, a missed overflow."""
    python = python_check(texts)
    check = python.native()
    assert check.form == "native" or "constant" in check.reason
    for values in tuples:
        assert check(*values) is python(*values), values


@needs_compiler
def test_every_operation_at_every_edge() -> None:
    """A failure: one operation of the native form is wrong at the ends of 64 bits, at zero or for negative integers."""
    texts = [
        "a // b <= c",
        "a % b >= c",
        "a * b >= c",
        "a - b >= 2*c",
        "max(a, b) >= c",
        "min(a, b) >= c",
        "abs(a) >= b",
    ]
    texts += [
        "a & b >= c",
        "gcd(a, b) >= c",
        "(a if b > c else c) >= b",
        "3*a + 2*b - c >= 1",
        "a // 16 >= b",
        "a % 16 >= b",
        "-a >= b",
        "a // -1 >= b",
    ]
    for text in texts:
        python = python_check([text])
        check = python.native()
        assert check.form == "native", check.reason
        for a in EDGES:
            for b in EDGES:
                for c in (0, -1, 5, 2**62, -(2**63)):
                    assert check(a, b, c) is python(a, b, c), (text, a, b, c)


@needs_compiler
def test_powers() -> None:
    """A failure: `2**u` overflows without an error, or a negative exponent is taken for a large one."""
    python = python_check(["(1 << a) * b >= c", "a >= -70"])
    check = python.native()
    assert check.form == "native"
    for a in [*range(-70, 70), 2**40]:
        for b in (1, -1, 3):
            assert check(a, b, 8) is python(a, b, 8), (a, b)


@needs_compiler
@pytest.mark.parametrize("name", [row.name for row in OPERATIONS.values() if row.c and row.name != "select"])
def test_the_c_of_an_operation_has_the_value_of_its_row(name: str) -> None:
    """A failure: the C in the table of operations computes something else than the Python beside it."""
    row, interner = OPERATIONS[name], Interner()
    symbols = {text: interner.symbol(text) for text in ["a", "b"][: row.arity]}
    result = interner.symbol("result")
    equal = interner.eq(interner.apply(row, *symbols.values()), result)
    symbols["result"] = result
    sources = {text: i for i, text in enumerate(symbols)}
    check = compile_check([requirement("", equal, interner.true)], symbols, sources, native=True)
    assert check.form == "native", check.reason
    for point in product(range(-9, 10), repeat=row.arity):
        if all(point[i] >= 0 for i in row.nonnegative) and all(point[i] for i in row.nonzero):
            value = row.evaluate(*point)
            assert check(*point, value) and not check(*point, value + 1), (point, value)


@needs_compiler
def test_what_is_not_a_small_integer_goes_to_python() -> None:
    """A failure: an argument that native code cannot read is misread or crashes, or too few are accepted."""
    check = python_check(["a >= 1", "b >= 1", "c % 2 == 0"]).native()
    assert check.form == "native"
    assert check(True, 2**200, 4) and not check(False, 2**200, 4)
    for arguments in [(), (1,), (1, 2, 3, 4), (1, 2, None), (1, "2", 4)]:
        with pytest.raises(TypeError):
            check(*arguments)
    assert check(1, c=4, b=2)


@needs_compiler
def test_native_reads_nested_tuples_and_lists() -> None:
    """A failure: native code reads past the end of a tuple, or refuses what the Python form accepts."""
    requirements, symbols = written(["b >= 2", "s % b == 0"], ["b", "s"])
    sources = {"b": [("x", 0), ("y", 0, -1)], "s": ("x", -1)}
    python = compile_check(requirements, symbols, sources)
    check = python.native()
    assert check.form == "native"
    for x in [(2, 8), [2, 8], (2, 7, 8), (3, 8), (), (2,), None, 5, {0: 2, -1: 8}, "28"]:
        for y in [((2,),), [[1, 2]], ((3,),), ((),), (), [], None]:
            assert check(x, y) is python(x, y), (x, y)


@needs_compiler
def test_sources_beyond_positions_have_a_reason() -> None:
    """A failure: a check that reads attributes or keys is refused, instead of staying in Python."""
    requirements, symbols = written(["b >= 2"], ["b"])
    check = compile_check(requirements, symbols, {"b": ("x", ".shape", 0)}, native=True)
    assert (check.form, check.reason) == ("python", "the source x.shape[0] is not read by position")


@needs_compiler
def test_what_has_no_native_form_has_a_reason() -> None:
    """A failure: an opaque function, or a constant beyond 64 bits, makes a check fail rather than stay in Python."""
    interner = Interner()
    a = interner.symbol("a")
    for prop, reason in [
        (interner.ge(interner.function("isqrt", a), 5), "the function isqrt has no native form"),
        (interner.ge(a * 2**70 // 3, 5), "a constant is beyond 64 bits"),
    ]:
        check = compile_check([requirement("", prop, interner.true)], {"a": a}, {"a": 0}, native=True)
        assert (check.form, check.reason) == ("python", reason)
    with pytest.raises(NotNative):
        native_source(list(check.plan.conditions), check.plan.arguments)


@needs_compiler
def test_a_native_check_has_all_attributes_of_a_check() -> None:
    """A failure: whether a check is native shows in more than its speed; or it leaks."""
    check = python_check(["a % 16 == 0"]).native()
    assert is_check(check)
    assert str(check.explain(5, 0, 0)) == "guard `a % 16 == 0` fails at a=5"
    assert check.native() is check and "a % 16 == 0" in check.source
    with pytest.raises(TypeError):
        type(check)()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        python_check(["a % 16 == 0"]).native()
    gc.collect()
    assert len(gc.get_objects()) < before + 500


@needs_compiler
def test_built_once_and_found_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: every process compiles anew, or what is in the cache is not used."""
    python = python_check(["a % 48 == 0"])
    assert python.native().form == "native"
    (built,) = cache.iterdir()
    monkeypatch.setattr(extension_modules, "_loaded", {})
    monkeypatch.setattr(toolchain, "_compile", lambda *arguments: pytest.fail("compiled again"))
    assert python.native()(96, 0, 0) and list(cache.iterdir()) == [built]


@needs_compiler
def test_a_damaged_result_is_built_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a file that was cut short by a full disk makes checks fail from then on."""
    python = python_check(["a % 80 == 0"])
    assert python.native().form == "native"
    (built,) = cache.iterdir()
    built.write_bytes(b"not a module")
    monkeypatch.setattr(extension_modules, "_loaded", {})
    assert python.native().form == "native" and list(cache.iterdir()) == [built] and built.stat().st_size > 100


@needs_compiler
def test_many_processes_at_once(cache: Path) -> None:
    """A failure: processes that build the same check at the same time see half a file, or leave files behind."""
    program = textwrap.dedent("""
        from tests.shapes.guards.test_emit_c import python_check
        check = python_check(["a % 112 == 0", "a*b <= 2**40"]).native()
        assert check.form == "native", check.reason
        assert check(224, 5, 0) and not check(225, 5, 0)
    """)
    processes = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for process in processes:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
    assert len(list(cache.iterdir())) == 1


def test_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a machine without a compiler cannot run checks."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    check = python_check(["a % 16 == 0"]).native()
    assert (check.form, check.reason) == ("python", "no C compiler: cc, gcc, clang not found on PATH")
    assert check(32, 0, 0) and not check(33, 0, 0)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("echo 'disk full' >&2; exit 3", "failed with status 3: disk full"),
        ("exit 1", "failed with status 1: no message"),
        ("exit 0", "failed with status 0"),
        ('while [ "$1" != -o ]; do shift; done; echo garbage > "$2"', "cannot be loaded"),
    ],
)
def test_a_compiler_that_fails(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, reason: str
) -> None:
    """A failure: a broken compiler is an exception where a check is made, or its reason is lost."""
    monkeypatch.setenv("CC", compiler_script(tmp_path, behaviour))
    check = python_check(["a % 16 == 0"]).native()
    assert check.form == "python" and reason in check.reason
    assert check(32, 0, 0)


def test_a_compiler_that_does_not_come_back(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a compiler that hangs, or its children, hang the program; or it is waited for again and again."""
    monkeypatch.setenv("CC", compiler_script(tmp_path, "sleep 600 & sleep 600"))
    started = time.monotonic()
    first = build("int x;", seconds=0.3)
    second = build("int y;", seconds=500)
    assert isinstance(first, Unavailable) and "took longer than 0.3 s" in first.reason
    assert second == first and time.monotonic() - started < 400
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("setting", ["'unclosed", "no-such-compiler-anywhere"])
def test_a_compiler_that_is_not_there(cache: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    """A failure: a wrong `CC` is an exception."""
    monkeypatch.setenv("CC", setting)
    check = python_check(["a % 16 == 0"]).native()
    assert check.form == "python" and (setting in check.reason)


def test_switched_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a site that forbids compilers at run time cannot say so."""
    monkeypatch.setenv("SYMSHAPE_NATIVE", "0")
    check = python_check(["a % 16 == 0"]).native()
    assert check.reason == "switched off by SYMSHAPE_NATIVE=0" and not cache.exists()


def test_too_many_operations_stay_in_python() -> None:
    """A failure: thousands of guards keep a compiler busy for longer than they could ever save."""
    check = python_check([f"a % {k} != 1" for k in range(3, 3003)])
    assert "more than are worth compiling" in check.native().reason
