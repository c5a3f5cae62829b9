"""Damage to what was kept on disk, at random: bytes that are gone or altered, other things in the place of files.

    python -m tests.shapes.guards.damage ROUNDS SEED

plays so many rounds in the folder that `SYMSHAPE_CACHE` names, and prints what failed.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import socket
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

from shapes.guards.library_cache import usable_folder
from shapes.guards.toolchain import Unavailable, compiler, library


def damage(folder: Path, random_: random.Random) -> str:
    """Do one thing to one library in a folder, or to the folder; the result says what."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.is_symlink())
    files = [path for path in files if path.stat().st_size < 2**24]  # what was made huge is not copied
    if not files:
        return "nothing there"
    file = random_.choice(files)
    kind = random_.choice(sorted(KINDS))
    KINDS[kind](file, files, random_)
    return kind


def _cut(file: Path, files: list[Path], random_: random.Random) -> None:
    os.truncate(file, random_.randrange(file.stat().st_size + 1))


def _cut_page(file: Path, files: list[Path], random_: random.Random) -> None:
    os.truncate(file, file.stat().st_size // 4096 * 4096)


def _flip(file: Path, files: list[Path], random_: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(random_.choice((1, 1, 8))):
        if content:
            content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
    file.write_bytes(content)


def _zeros(file: Path, files: list[Path], random_: random.Random) -> None:
    """Damage as a file system leaves it whose journal has the size, and not the content."""
    size = file.stat().st_size
    os.truncate(file, random_.randrange(size + 1))
    os.truncate(file, size)


def _longer(file: Path, files: list[Path], random_: random.Random) -> None:
    with file.open("ab") as end:
        end.write(random_.randbytes(random_.choice((1, 48, 4096))))


def _huge(file: Path, files: list[Path], random_: random.Random) -> None:
    os.truncate(file, 2**40)


def _replace(file: Path, files: list[Path], random_: random.Random) -> None:
    """Another library, whole, by a name that is not its own."""
    file.write_bytes(random_.choice(files).read_bytes())


def _swap(file: Path, files: list[Path], random_: random.Random) -> None:
    other = random_.choice(files)
    first, second = file.read_bytes(), other.read_bytes()
    file.write_bytes(second)
    other.write_bytes(first)


def _chmod(file: Path, files: list[Path], random_: random.Random) -> None:
    file.chmod(random_.choice((0o000, 0o200, 0o400, 0o666, 0o777, 0o4755)))


def _chmod_folder(file: Path, files: list[Path], random_: random.Random) -> None:
    file.parent.chmod(random_.choice((0o777, 0o722, 0o500)))


def _remove(file: Path, files: list[Path], random_: random.Random) -> None:
    file.unlink()


def _instead(make: Callable[[Path], object]) -> Callable[[Path, list[Path], random.Random], None]:
    def act(file: Path, files: list[Path], random_: random.Random) -> None:
        file.unlink()
        make(file)

    return act


def _socket(file: Path) -> None:
    here = os.getcwd()
    os.chdir(file.parent)  # the path of a socket has room for a hundred characters
    try:
        socket.socket(socket.AF_UNIX).bind(file.name)
    finally:
        os.chdir(here)


def _folder(file: Path) -> None:
    file.mkdir()
    (file / "inside").write_text("something")


KINDS: dict[str, Callable[[Path, list[Path], random.Random], None]] = {
    "cut": _cut,
    "cut to whole pages": _cut_page,
    "flip": _flip,
    "zeros": _zeros,
    "longer": _longer,
    "huge": _huge,
    "replace": _replace,
    "swap": _swap,
    "chmod": _chmod,
    "chmod of the folder": _chmod_folder,
    "remove": _remove,
    "pipe": _instead(os.mkfifo),
    "folder": _instead(_folder),
    "socket": _instead(_socket),
    "link to itself": _instead(lambda file: file.symlink_to(file.name)),
    "link to a device": _instead(lambda file: file.symlink_to("/dev/zero")),
    "link to nothing": _instead(lambda file: file.symlink_to("nothing")),
}


ANSWERS: Final = 4
"""The number of libraries."""
TABLE: Final = 20_000
"""Numbers in each, so that most of its pages are read only after it was loaded."""


def source(number: int) -> str:
    table = ", ".join([str(number + place % 7) for place in range(TABLE)])
    return f"static const volatile int table[] = {{{table}}};\nint at(int place) {{ return table[place]; }}"


def answers(find: Callable[[int], ctypes.CDLL]) -> bool:
    """Return True if each library gives what is in its source."""
    places = (0, TABLE // 2, TABLE - 1)
    return all(find(number).at(place) == number + place % 7 for number in range(ANSWERS) for place in places)


def loaded(number: int) -> ctypes.CDLL:
    command = compiler()
    assert not isinstance(command, Unavailable), command.reason
    found = library(source(number), (*command, "-shared", "-fPIC", "-O0", "-w"), ".so", load=_load, known={})
    assert not isinstance(found, Unavailable), found.reason
    return found[1]


def _load(path: str) -> ctypes.CDLL | Unavailable:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        return Unavailable(str(error))


def user(begin: int, ready: int, go: int) -> None:
    """A process that uses the libraries, before and after they are damaged once more."""
    os.read(begin, 1)
    libraries = [loaded(number) for number in range(ANSWERS)]
    os.write(ready, b".")
    os.read(go, 1)
    assert answers(libraries.__getitem__)


def forked(act: Callable[[], None]) -> int:
    """The number of a process that does this and ends with 0, or with 1 where that raises."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            act()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def play(folder: Path, random_: random.Random) -> list[str]:
    """One round: damage; two processes at once, one of them perhaps killed; damage while they run. What failed."""
    folder.chmod(0o700)
    done = [damage(folder, random_) for _ in range(random_.choice((1, 1, 2)))]
    begin, ready, go = os.pipe(), os.pipe(), os.pipe()
    processes = [forked(lambda: user(begin[0], ready[1], go[0])) for _ in range(2)]
    os.close(ready[1])  # so that reading ends where both have failed
    os.write(begin[1], b"..")
    killed = random_.random() < 0.25
    if killed:
        time.sleep(random_.random() * 0.1)
        os.kill(processes[0], signal.SIGKILL)
    for _ in range(1 if killed else 2):
        os.read(ready[0], 1)
    done.append(damage(folder, random_))
    os.write(go[1], b"..")
    for end in (*begin, ready[0], *go):
        os.close(end)
    statuses = [os.waitpid(process, 0)[1] for process in processes]
    return [f"{done}: {status}" for status in (statuses[1:] if killed else statuses) if status]


def main() -> None:
    rounds, seed = map(int, sys.argv[1:])
    warnings.simplefilter("ignore")  # that the folder is not trusted, for a while
    folder = usable_folder()
    random_ = random.Random(seed)
    signal.alarm(20 * rounds + 60)  # a process that waits for ever is a failure as well
    assert answers(loaded)
    failed = [failure for _ in range(rounds) for failure in play(folder, random_)]
    folder.chmod(0o700)
    assert answers(loaded)
    # what a process was writing when it was killed stays, until it is old enough
    left = [path.name for path in folder.iterdir() if not path.name.endswith(".so") and "part-" not in path.name]
    print(json.dumps({"failed": failed, "left": left, "kept": len(list(folder.glob("*.so")))}))


if __name__ == "__main__":
    main()
