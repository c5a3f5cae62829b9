"""The solver of symshape: integers, propositions, facts, verdicts. No tensors, no frames, no policy; it imports none of
our other packages.

>>> from solver.terms.interner import Interner
>>> terms = Interner()
>>> terms.symbol("s") * 0 is terms.zero
True

An installation may hold the hot modules compiled by mypyc as well (`setup.py`). They are used only where the sources
beside them have the checksum that they were compiled from, and never where the environment variable `SYMSHAPE_PURE` is
set.

Importing the package injects what lower layers need of higher ones (`solver.wiring`).
"""

import os
import sys
import zlib
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Final

MADE_FROM: Final = "compiled.txt"
"""The file that holds the checksum of the sources which the extensions were made from."""
ROOMS: Final = ("", "terms", "floats", "syntax", "proofs", "integer", "knowledge", "samples", "rungs", "decide")
"""The folders whose modules are compiled, or whose constants are."""


class _Sources:
    """Import finder of this package's sources, which ignores compiled modules."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.startswith("solver.") and path:
            for folder in path:
                file = os.path.join(folder, name.rpartition(".")[2] + ".py")
                if os.path.isfile(file):
                    return spec_from_file_location(name, file)
        return None


def checksum(solver: str | os.PathLike[str]) -> str:
    """Checksum of the sources that are compiled, or whose constants are; takes a millisecond.

    When a file was written does not matter: installers write files in any order, version control writes old ones anew.
    """
    total = 0
    for part in ROOMS:
        folder = os.path.join(solver, part)
        for name in sorted([name for name in os.listdir(folder) if name.endswith(".py")]):
            with open(os.path.join(folder, name), "rb", buffering=0) as file:
                content = file.readall()
            total = zlib.crc32(f"{part}/{name} {len(content)}\n".encode() + content, total)
    return f"{total:08x}"


def _compiled_is_current() -> bool:
    """Return True if compiled modules exist and match the sources beside them."""
    here = os.path.dirname(__file__)
    if os.environ.get("SYMSHAPE_PURE"):
        return False
    if not any(os.path.exists(f"{os.path.dirname(here)}/symshape__mypyc{suffix}") for suffix in EXTENSION_SUFFIXES):
        return False
    try:
        with open(os.path.join(here, MADE_FROM)) as file:
            return file.read() == checksum(here)
    except OSError:
        return False


if not _compiled_is_current():
    sys.meta_path.insert(0, _Sources)

import solver.wiring  # noqa: E402  # once the finder of modules is chosen
