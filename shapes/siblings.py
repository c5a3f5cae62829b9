"""The packages of symshape stand on each other by names that other distributions have as well.

Which of them an import finds depends on the path, and on which one was installed into `site-packages` last.
Whatever another one does then, sooner or later it is a traceback that names neither. So each package asks here, before
it imports any other.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Final

NAMES: Final = ("solver", "shapes", "backends", "frontends")
MARK: Final = b"symshape"
"""The marker in the `__init__.py` of each."""


def require_own_packages(root: str) -> None:
    """Each package that an import would find is the one in this folder, and not overwritten by another distribution.

    Raises:
        ImportError: one is not; it says where that comes from, and what to do.
    """
    for name in NAMES:
        own = os.path.join(root, name)
        if name != "solver" and not os.path.isdir(own):
            continue  # who takes parts of the project takes the solver
        found = _found(name)
        if found is None or not _within(found, own):
            raise ImportError(
                f"symshape needs its own package `{name}` ({own}), but on the path {found or 'nothing'} comes first: "
                f"rename that, or put {root} before it (`PYTHONPATH={root}`, or `sys.path.insert(0, {root!r})`)"
            )
        if not _is_marked(os.path.join(own, "__init__.py")):
            others = [other for other in _distributions(name) if other != "symshape"]
            raise ImportError(
                f"{os.path.join(own, '__init__.py')} is not symshape's: another distribution "
                f"({', '.join(others) or 'pip does not know which'}) has a package `{name}` as well, and was installed "
                "over it. Install them in two environments, or uninstall that one and then run "
                "`pip install --force-reinstall --no-deps symshape`"
            )


def _found(name: str) -> str | None:
    """The file or folder that an import of this name gives, or has given."""
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None):
        return os.path.abspath(str(loaded.__file__))
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module without a specification: somebody has made it
        return repr(loaded)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return next((os.path.abspath(place) for place in places if place), None)


def _within(place: str, folder: str) -> bool:
    place, folder = os.path.realpath(place), os.path.realpath(folder)
    return place == folder or place.startswith(folder + os.sep)


def _is_marked(file: str) -> bool:
    """Return True if this file is ours; one that cannot be read (in an archive, say) is."""
    try:
        with open(file, "rb", buffering=0) as text:
            return MARK in text.readall()
    except OSError:
        return True


def _distributions(name: str) -> list[str]:
    """The installed distributions that have a package of this name."""
    from importlib.metadata import packages_distributions

    return sorted(set(packages_distributions().get(name, ())))
