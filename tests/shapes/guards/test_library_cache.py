"""Nothing that is in the cache, or is done to it, ends a process or gives another result than a fresh build."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from shapes import folders
from shapes.guards import extension_modules, library_cache, toolchain
from shapes.guards.library_cache import keep, read, sweep
from shapes.guards.toolchain import Unavailable, compiler
from tests.shapes.guards import damage
from tests.shapes.guards.test_emit_c import compiler_script, needs_compiler, python_check

ROOT = Path(__file__).parents[3]
NAME = f"{'0123456789abcdef' * 2}.so"
CONTENT = bytes(range(256)) * 64


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process that has loaded nothing, and warned of nothing; its temporary files are in a folder of the test."""
    monkeypatch.setenv("SYMSHAPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(extension_modules, "_loaded", {})
    monkeypatch.setattr(toolchain, "_given_up", {})
    monkeypatch.setattr(library_cache, "_unswept", {})
    library_cache._warn.cache_clear()
    library_cache.private_folder.cache_clear()
    return tmp_path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a library was kept."""
    (tmp_path / "kept").mkdir()
    keep(tmp_path / "kept" / NAME, CONTENT)
    return tmp_path / "kept" / NAME


def test_what_was_kept_is_read(place: Path) -> None:
    """A failure: nothing is ever found again, and every process compiles anew."""
    assert read(place) == CONTENT and list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize("length", [0, 1, 47, 48, 4096, 3 * 4096, len(CONTENT), len(CONTENT) + 47])
def test_what_was_cut_short_is_not(place: Path, length: int) -> None:
    """A failure: the loader maps pages behind the end of a file, and the process is ended when it reads them."""
    os.truncate(place, length)
    assert read(place) is None


@pytest.mark.parametrize("position", [0, 1000, len(CONTENT) - 1, len(CONTENT), len(CONTENT) + 9, len(CONTENT) + 47])
def test_what_was_altered_is_not(place: Path, position: int) -> None:
    """A failure: a bit that a disk has lost gives wrong results, or ends the process."""
    altered = bytearray(place.read_bytes())
    altered[position] ^= 1
    place.write_bytes(altered)
    assert read(place) is None


def test_another_library_under_this_name_is_not(place: Path) -> None:
    """A failure: a file that was copied over another, whole as it is, computes something else."""
    other = place.with_name(f"{'f' * 32}.so")
    shutil.copy(place, other)
    assert read(other) is None


@pytest.mark.parametrize("kind", sorted(damage.KINDS))
def test_no_damage_is_taken_for_a_library(place: Path, kind: str) -> None:
    """A failure: a pipe is waited for, a device is read without end, a link is followed, or damage is not seen."""
    untouched = ("remove", "chmod", "chmod of the folder", "replace", "swap", "longer", "flip", "cut", "zeros")
    other = place.with_name(f"{'f' * 32}.so")
    keep(other, CONTENT[::-1])
    damage.KINDS[kind](place, [other], damage.random.Random(kind))
    assert read(place) in ((None, CONTENT) if kind in untouched else (None,))
    keep(place, CONTENT)
    assert read(place) == CONTENT, "what is in its place is replaced"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_what_others_can_write_is_not_run(place: Path, mode: int) -> None:
    """A failure: code of another user runs in this process."""
    place.chmod(mode)
    assert read(place) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_others_is_not_run(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: code of another user runs in this process."""
    os.chown(place, 65534, 65534)
    assert read(place) is None
    os.chown(place.parent, 65534, 65534)
    monkeypatch.setenv("SYMSHAPE_CACHE", str(place.parent))
    with pytest.raises(PermissionError, match="written by others"):
        library_cache.cache_folder()


def test_a_file_is_on_the_disk_before_it_has_its_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: after a power failure the name is there, and the content is not."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("fsync"), fsync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths))[1])
    keep(place, CONTENT)
    assert done == ["fsync", "replace"]


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    """A failure: the cache grows for ever, or what is used at every start is thrown away."""
    folder = tmp_path / "full"
    folder.mkdir()
    places = [folder / f"{number:032x}.so" for number in range(8)]
    for number, each in enumerate(places):
        keep(each, CONTENT)
        os.utime(each, (1000 + number, 1000 + number))
    (folder / "notes").write_bytes(CONTENT * 9)
    assert read(places[0]) == CONTENT
    sweep(folder, 4 * 512 * places[0].stat().st_blocks)
    assert sorted(folder.iterdir()) == sorted([places[0], *places[5:], folder / "notes"])


def test_keeping_stays_within_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: the limit is enforced only on request."""
    monkeypatch.setenv("SYMSHAPE_CACHE_MIB", "1")
    (tmp_path / "full").mkdir()
    for number in range(12):
        keep(tmp_path / "full" / f"{number:032x}.so", bytes(2**18))
        time.sleep(0.002)
    left = sorted((tmp_path / "full").iterdir())
    assert 2 <= len(left) <= 4 and left[-1].name == f"{11:032x}.so"


def test_a_limit_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a misspelt limit is an exception far from where it was set, or another limit without an error."""
    monkeypatch.setenv("SYMSHAPE_CACHE_MIB", "2 GB")
    with pytest.warns(RuntimeWarning, match="SYMSHAPE_CACHE_MIB='2 GB' is not a number of MiB"):
        assert library_cache.limit() == library_cache.LIMIT * 2**20


def test_what_killed_processes_left_goes(place: Path) -> None:
    """A failure: each process that is killed leaves a folder for ever; or one that still runs loses its own."""
    old, new = [place.parent / name for name in ("build-old", "part-old")], place.parent / "build-new"
    old[0].mkdir()
    (old[0] / "source.c").write_text("int x;")
    old[1].write_text("half")
    new.mkdir()
    for path in old:
        os.utime(path, (time.time() - 2 * library_cache.ABANDONED,) * 2)
    sweep(place.parent, 2**30)
    assert sorted(place.parent.iterdir()) == sorted([place, new])


@needs_compiler
def test_builds_of_killed_processes_go(tmp_path: Path) -> None:
    """A failure: folders of killed processes fill the disk for temporary files."""
    old, foreign = tmp_path / "symshape-build-old", tmp_path / "build-old"
    for folder in (old, foreign):
        folder.mkdir()
        os.utime(folder, (1000, 1000))
    toolchain._remove_abandoned.cache_clear()
    assert python_check(["a % 336 == 0"]).native().form == "native"
    assert not old.exists() and foreign.exists()


@needs_compiler
def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: foreign code in the folder is run; or nothing is compiled at all, or there is no warning."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("SYMSHAPE_CACHE", str(shared))
    python = python_check(["a % 176 == 0"])
    with pytest.warns(RuntimeWarning, match="not kept for later processes: .*shared can be written by others") as told:
        assert python.native().form == "native" and python_check(["a % 177 == 0"]).native().form == "native"
    assert len(told) == 1 and list(shared.iterdir()) == []


@needs_compiler
@pytest.mark.parametrize("kind", ["file", "pipe", "relative", "below a file"])
def test_a_folder_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A failure: a wrong `SYMSHAPE_CACHE` ends the program or hangs it, or guards are not compiled."""
    named = tmp_path / "named"
    named.write_text("") if kind != "pipe" else os.mkfifo(named)
    value = {"relative": "relative", "below a file": str(named / "cache")}.get(kind, str(named))
    monkeypatch.setenv("SYMSHAPE_CACHE", value)
    with pytest.warns(RuntimeWarning, match="not kept for later processes"):
        assert python_check(["a % 178 == 0"]).native().form == "native"
    assert not (ROOT / "relative").exists()


@needs_compiler
@pytest.mark.parametrize("home", ["", "relative", None])
def test_home_folders_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    """A failure: with `HOME=""` the cache is in the root folder, or below the working directory."""
    monkeypatch.delenv("SYMSHAPE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home) if home is not None else monkeypatch.delenv("HOME")
    pwd = pytest.importorskip("pwd")
    entry = pwd.struct_passwd(("me", "", os.geteuid(), 0, "", str(tmp_path / "of the system"), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda user: entry)
    assert library_cache.cache_folder() == tmp_path / "of the system" / ".cache" / "symshape"

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.warns(RuntimeWarning, match="there is no home folder"):
        assert python_check(["a % 179 == 0"]).native().form == "native"


@pytest.mark.parametrize("umask", [0o000, 0o777, 0o022])
def test_folders_and_files_are_private_under_any_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    """A failure: under `umask 0` others can write what is run, or put another folder in the place of the cache."""
    monkeypatch.delenv("SYMSHAPE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one" / "two"))
    before = os.umask(umask)
    try:
        folder = library_cache.cache_folder()
        keep(folder / NAME, CONTENT)
        works = not shutil.which("cc") or python_check(["a % 181 == 0"]).native().form == "native"
    finally:
        os.umask(before)
    assert works and read(folder / NAME) == CONTENT
    made = (folder, folder.parent, folder.parent.parent)
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [0o700] * 3
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}


def test_folders_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a relative `XDG_CACHE_HOME`, which the specification has ignored, makes folders wherever one works."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    below_home = tmp_path / "home" / ".cache"
    for value, expected in [("", below_home), ("x", below_home), ("/x", Path("/x"))]:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert folders.base_folder("XDG_CACHE_HOME", ".cache") == expected


@needs_compiler
@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """A failure: a library that could not be cached is lost; or a partial file stays; or there is no warning."""

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, broken, full)
    with pytest.warns(RuntimeWarning, match="not kept for later processes: .*No space left on device"):
        check = python_check(["a % 144 == 0"]).native()
    assert check.form == "native" and check(288, 0, 0) and not check(289, 0, 0)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_full_disk_under_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: where there is no room to compile, the reason is not told, or half a library is loaded."""
    said = 'echo "x.s: Fatal error: cannot write: No space left on device" >&2; exit 1'
    monkeypatch.setenv("CC", compiler_script(tmp_path, said))
    check = python_check(["a % 145 == 0"]).native()
    assert check.form == "python" and "No space left on device" in check.reason and check(290, 0, 0)


@needs_compiler
def test_the_cache_is_compiled_in_where_other_disks_are_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a full `/tmp` is the end of compiling, although the cache has room."""
    real = compiler()
    assert not isinstance(real, Unavailable)
    script = f'case $PWD in */cache/*) exec {real[0]} "$@";; esac; echo "No space left on device" >&2; exit 1'
    monkeypatch.setenv("CC", compiler_script(tmp_path, script))
    assert python_check(["a % 146 == 0"]).native().form == "native"


@needs_compiler
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_compiler_that_leaves_half_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """A failure: the loader maps pages that are not there, and the process is ended by a bus error."""
    real = compiler()
    assert not isinstance(real, Unavailable)
    cut = f"{sys.executable} -c 'import os, sys; p = sys.argv[1]; os.truncate(p, int(os.path.getsize(p) * {share}))'"
    script = f'{real[0]} "$@"; while [ "$1" != -o ]; do shift; done; {cut} "$2"'
    monkeypatch.setenv("CC", compiler_script(tmp_path, script))
    check = python_check(["a % 147 == 0"]).native()
    assert check.form == "python" and "cut short" in check.reason and check(294, 0, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@needs_compiler
def test_a_read_only_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: a cache without write permission is an exception, or what is in it is not used."""
    assert python_check(["a % 208 == 0"]).native().form == "native"
    (tmp_path / "cache").chmod(0o500)
    monkeypatch.setattr(extension_modules, "_loaded", {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert python_check(["a % 208 == 0"]).native().form == "native"
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        assert python_check(["a % 209 == 0"]).native().form == "native"


@needs_compiler
def test_without_files_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: on systems that have none, or where policy forbids to run them, nothing is native."""

    def forbidden(name: str, flags: int) -> int:
        raise PermissionError(errno.EACCES, "not here")

    monkeypatch.setattr(os, "memfd_create", forbidden, raising=False)
    for number in (337, 338):
        check = python_check([f"a % {number} == 0"]).native()
        assert check.form == "native" and check(2 * number, 0, 0) and not check(number + 1, 0, 0)
    assert list(library_cache.private_folder().iterdir()) == []


@needs_compiler
def test_many_libraries_are_not_taken_for_each_other() -> None:
    """A failure: the loader gives the library that had the same number of a file before; or a file stays open."""
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for number in range(3, 9):
        check = python_check([f"a % {number}000 == 0"]).native()
        assert check.form == "native" and check(number * 1000, 0, 0) and not check(number * 1000 + 1, 0, 0)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def run_damage(tmp_path: Path, rounds: int, seed: int) -> None:
    folder = tmp_path / "rounds"
    environment = os.environ | {"SYMSHAPE_CACHE": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.shapes.guards.damage", str(rounds), str(seed)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert json.loads(done.stdout) == {"failed": [], "left": [], "kept": damage.ANSWERS}, done.stderr


@needs_compiler
def test_random_damage(tmp_path: Path) -> None:
    """A failure: some damage to files ends a process, hangs it, or gives a wrong result."""
    run_damage(tmp_path, 20, 1)


@needs_compiler
@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_a_thousand_rounds_of_random_damage(tmp_path: Path) -> None:
    """A failure: some damage to files ends a process, hangs it, or gives a wrong result."""
    run_damage(tmp_path, 1000, 2)


@needs_compiler
def test_a_process_killed_while_it_compiles(tmp_path: Path) -> None:
    """A failure: what a killed process was building stands in the way of the next one, or is taken for whole."""
    program = textwrap.dedent("""
        from tests.shapes.guards.test_emit_c import python_check
        print("begun", flush=True)
        for number in range(400, 404):
            check = python_check([f"a % {number} == 0"]).native()
            assert check.form == "native" and check(2 * number, 0, 0) and not check(number + 1, 0, 0)
    """)
    for milliseconds in (0, 30, 90, 200):
        process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline()
        time.sleep(milliseconds / 1000)
        process.kill()
        process.communicate()
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, timeout=600)
    assert all(read(path) is not None for path in (tmp_path / "cache").glob("*.so"))
