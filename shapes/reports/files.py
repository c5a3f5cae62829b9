"""Records as JSON files, of which one page may show several: one for each process.

>>> import tempfile
>>> from shapes.reports.records import Entry
>>> report = Report("attend", breaks=(Entry("break", "print", file="model.py", line=7),))
>>> with tempfile.TemporaryDirectory() as folder:
...     write_records([report], Path(folder) / "one.json")
...     read_folder(folder) == [report]
True
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Final, get_args, get_origin, get_type_hints

from shapes.errors import ShapeError
from shapes.reports.report import Report

FORMAT: Final = 1


def write_records(reports: Sequence[Report], path: str | PathLike[str]) -> None:
    """Write the records, all of them or nothing."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    text = json.dumps({"format": FORMAT, "functions": [asdict(each) for each in reports]})
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def read_folder(folder: str | PathLike[str]) -> list[Report]:
    """The records in the `.json` files of a folder, by the names of the files.

    Raises:
        ShapeError: there is none, or a file has something else.
        OSError: a file cannot be read.
    """
    files = sorted([path for path in Path(folder).glob("*.json") if not path.name.startswith(".")])
    if not files:
        raise ShapeError(f"{folder} has no records: run the program with SYMSHAPE_REPORT={folder}")
    return [report for path in files for report in read_records(path)]


def read_records(path: Path) -> list[Report]:
    """The records in a file.

    Raises:
        ShapeError: it has something else.
        OSError: it cannot be read.
    """
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"{path}: expected the records of a report: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ShapeError(f"{path}: expected the records of a report in format {FORMAT}, as SYMSHAPE_REPORT writes them")
    try:
        found = decoded(tuple[Report, ...], data.get("functions"), "functions")
    except (TypeError, RecursionError) as error:
        raise ShapeError(f"{path}: {error}") from None
    assert isinstance(found, tuple)
    return list(found)


def decoded(kind: object, value: object, where: str) -> object:
    """A value of JSON as a value of this type: a record, a tuple, a literal, a union, or itself.

    Raises:
        TypeError: it is none; the message says where.
    """
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        if not isinstance(value, dict) or value.keys() != types.keys():
            raise TypeError(f"{where}: expected an object with {', '.join(types)}")
        made: object = kind(**{name: decoded(types[name], value[name], f"{where}.{name}") for name in types})
        return made
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{where}: expected a list")
        return tuple([decoded(arguments[0], each, f"{where}[{place}]") for place, each in enumerate(value)])
    if isinstance(kind, UnionType):
        if value is None:
            return None
        return decoded(arguments[0], value, where)
    is_right = value in arguments if arguments else type(value) is kind or (kind is float and type(value) is int)
    if not is_right:
        raise TypeError(f"{where}: expected {'one of ' + ', '.join(arguments) if arguments else kind}")
    return value


@cache
def _types(kind: type) -> dict[str, object]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


__all__ = ["read_folder", "read_records", "write_records"]
