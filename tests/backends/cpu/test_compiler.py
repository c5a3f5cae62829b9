"""C text is compiled strictly, and once by any number of processes; where it cannot be, the reason is given."""

from __future__ import annotations

import ctypes
import io
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from backends import progress
from backends.cpu import compiler
from backends.cpu.compiler import compile_all, compile_source, load, openmp_library, sanitizer_environment
from shapes.guards import toolchain
from shapes.guards.toolchain import Unavailable
from tests.backends.cpu.vector.vectors import needs_compiler


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a process without loaded libraries or recorded failures."""
    monkeypatch.setenv("SYMSHAPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_libraries", {})
    monkeypatch.setattr(toolchain, "_given_up", {})
    return tmp_path / "cache"


def answer(number: int) -> str:
    return f"int answer(void) {{ return {number}; }}"


def built(text: str, **options: bool) -> Path:
    path = compile_source(text, **options)
    assert not isinstance(path, Unavailable), path.reason
    return path


@needs_compiler
def test_compiled_once_and_found_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: every process compiles anew, or two texts share a library."""
    path = built(answer(1))
    assert load(path).answer() == 1 and load(built(answer(2))).answer() == 2
    monkeypatch.setattr(compiler, "_libraries", {})
    monkeypatch.setattr(toolchain, "_compile", lambda *arguments: pytest.fail("compiled again"))
    assert built(answer(1)) == path and sorted(cache.iterdir()) == sorted([path, built(answer(2))])


@needs_compiler
@pytest.mark.parametrize("changed", ["_processor", "_version"])
def test_another_processor_or_compiler_compiles_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """A failure: a home folder shared between machines brings instructions that this one does not have."""
    before = built(answer(3))
    monkeypatch.setattr(compiler, changed, lambda *arguments: "Free Software Foundation, another")
    assert built(answer(3)) != before


@needs_compiler
def test_a_damaged_library_is_built_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a file that a full disk cut short makes a model fail from then on."""
    path = built(answer(4))
    path.write_bytes(path.read_bytes()[:100])
    monkeypatch.setattr(compiler, "_libraries", {})
    assert built(answer(4)) == path and path.stat().st_size > 100 and load(path).answer() == 4


@needs_compiler
def test_many_processes_at_once(cache: Path) -> None:
    """A failure: processes that build the same kernels at the same time see half a file, or leave files behind."""
    program = textwrap.dedent("""
        from backends.cpu.compiler import compile_all, load
        texts = [f"int answer(void) {{ return {number}; }}" for number in range(3)]
        assert [load(path).answer() for path in compile_all(texts)] == [0, 1, 2]
    """)
    processes = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
    assert len(list(cache.iterdir())) == 3


@needs_compiler
def test_strictly_compiled(cache: Path) -> None:
    """A failure: kernels round otherwise than they are written, or loading one flushes subnormal numbers to zero."""
    text = """
    float contracted(float a, float b, float c) { return a * b + c; }
    int wraps(int x) { return x + 1 < x; }
    float reordered(float a, float b) { return (a + b) - a; }
    """
    library = load(built(text))
    library.contracted.restype = library.reordered.restype = ctypes.c_float
    one = ctypes.c_float(1 + 2**-12)
    assert library.contracted(one, one, ctypes.c_float(-1 - 2**-11)) == 0
    assert library.reordered(ctypes.c_float(1e10), ctypes.c_float(1.0)) == 0
    assert library.wraps(2**31 - 1) == 1
    assert 5e-324 * 1.0 == 5e-324 and 2.0**-1073 / 2 != 0


@needs_compiler
def test_several_at_once_and_no_more_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: kernels are compiled one after the other, or a hundred compilers run at the same time."""
    running, most, lock = [0], [0], threading.Lock()

    def pretend(text: str, *, openmp: bool = False) -> Path:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        deadline = time.monotonic() + 300
        while most[0] < 3 and time.monotonic() < deadline:  # the others come as soon as they get a core
            time.sleep(0.001)
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        return Path(text)

    monkeypatch.setattr(compiler, "compile_source", pretend)
    monkeypatch.setattr(compiler, "_cores", lambda: 3)
    assert compile_all([str(number) for number in range(12)]) == [Path(str(number)) for number in range(12)]
    assert most[0] == 3


@needs_compiler
def test_one_that_does_not_compile_is_told_apart(cache: Path) -> None:
    """A failure: one bad kernel loses the others, or its error."""
    first, bad, last = compile_all([answer(5), "this is not C", answer(6)])
    assert isinstance(first, Path) and isinstance(last, Path)
    assert isinstance(bad, Unavailable) and "error" in bad.reason


class Terminal(io.StringIO):
    """Where a progress bar would be shown."""

    def isatty(self) -> bool:
        return True


@needs_compiler
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_on_a_terminal(cache: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """A failure: a long compilation says nothing to a person, or writes into a file of messages."""
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    compile_all([answer(7), answer(8)])
    assert ("compiling kernels" in shown.getvalue()) is terminal


def test_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a machine without a compiler has an error where a backend should say why it runs eagerly."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    reason = "no C compiler: cc, gcc, clang not found on PATH"
    assert compile_source(answer(9)) == Unavailable(reason)
    assert compile_all([answer(9), answer(10)]) == [Unavailable(reason)] * 2
    assert isinstance(sanitizer_environment(), Unavailable)
    monkeypatch.setenv("SYMSHAPE_NATIVE", "0")
    assert compile_source(answer(9)) == Unavailable("switched off by SYMSHAPE_NATIVE=0")


THREADS = """
int threads(void)
{
    int count = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : count) num_threads(2)
    for (int i = 0; i < 2; i++)
        count += 1;
    return count;
#endif
    return -1;
}
"""


@needs_compiler
def test_openmp_is_that_of_the_process(cache: Path) -> None:
    """A failure: kernels bring a second pool of threads beside torch's, or pragmas are ignored."""
    program = textwrap.dedent(f"""
        import re, torch
        from pathlib import Path
        from backends.cpu.compiler import compile_source, load
        assert load(compile_source({THREADS!r}, openmp=True)).threads() == 2
        assert load(compile_source({THREADS!r}, openmp=False)).threads() == -1
        mapped = set(re.findall(r"/\\S*libgomp\\S*", Path("/proc/self/maps").read_text()))
        assert len(mapped) == 1 and "torch" in min(mapped), mapped
    """)
    if "libgomp" not in (openmp_library() or ""):
        pytest.skip("no OpenMP here")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


@needs_compiler
def test_without_openmp_the_loop_is_serial(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a compiler without OpenMP compiles no kernel at all."""
    monkeypatch.setattr(compiler, "openmp_library", lambda: None)
    assert load(built(THREADS, openmp=True)).threads() == -1


@needs_compiler
def test_the_sanitizer_sees_what_a_kernel_does_wrong(cache: Path) -> None:
    """A failure: the sanitized run of the tests passes whatever kernels do."""
    variables = sanitizer_environment()
    if isinstance(variables, Unavailable):
        pytest.skip(variables.reason)
    program = textwrap.dedent("""
        import ctypes, sys, torch
        from backends.cpu.compiler import compile_source, load
        text = "int f(int n) { int a[4] = {1, 2, 3, 4}; int *volatile p = a; return p[n]; }"
        print(load(compile_source(text)).f(int(sys.argv[1])))
        try:
            torch.empty(-1)
        except RuntimeError:
            pass
    """)

    def run(place: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, str(place)]
        return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=600)

    good, bad = run(2), run(4)
    assert good.returncode == 0 and good.stdout.strip() == "3", good.stderr
    assert bad.returncode != 0 and "AddressSanitizer: stack-buffer-overflow" in bad.stderr
    refused = compile_source(answer(11), sanitize=True)
    assert isinstance(refused, Unavailable) and "sanitizer_environment" in refused.reason
