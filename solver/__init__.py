"""The reasoning core: integers, propositions, facts, verdicts. No tensors, no frames, no policy; imports nothing of
ours.

>>> from solver.interner import Interner
>>> terms = Interner()
>>> terms.symbol("s") * 0 is terms.zero
True

An installation may hold the hot modules compiled as well (`setup.py`). They are used only while they are newer than
every source, and never where the environment variable `SYMSHAPE_PURE` is set.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class _Sources:
    """Finds the modules of this package as they are written, whatever was compiled from them once."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.startswith("solver.") and path:
            for folder in path:
                file = os.path.join(folder, name.rpartition(".")[2] + ".py")
                if os.path.isfile(file):
                    return spec_from_file_location(name, file)
        return None


def _compiled_is_current() -> bool:
    """Whether there are compiled modules, and none of the sources has been touched since."""
    here = Path(__file__).parent
    compiled = [file for suffix in EXTENSION_SUFFIXES for file in here.parent.glob(f"symshape__mypyc{suffix}")]
    if not compiled or os.environ.get("SYMSHAPE_PURE"):
        return False
    made = compiled[0].stat().st_mtime
    folders = (here, here / "integer", here / "rungs")
    return all(file.stat().st_mtime <= made for folder in folders for file in folder.glob("*.py"))


if not _compiled_is_current():
    sys.meta_path.insert(0, _Sources)
