"""Extras: libraries that only a part of the project needs, and the command that installs a missing one.

>>> require("json", extra="onnx", needed_by="frontends.onnx")
>>> require("no_such_library", extra="onnx", needed_by="frontends.onnx")
Traceback (most recent call last):
ModuleNotFoundError: frontends.onnx needs no_such_library: pip install 'symshape[onnx]'
"""

from __future__ import annotations

import importlib


def require(library: str, *, extra: str, needed_by: str) -> None:
    """Import a library.

    Raises:
        ModuleNotFoundError: it is not installed; the message has the command. An error inside of an installed library
            is raised as it is.
    """
    try:
        importlib.import_module(library)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        raise ModuleNotFoundError(
            f"{needed_by} needs {library}: pip install 'symshape[{extra}]'", name=library
        ) from None
