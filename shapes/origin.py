"""Origins: the places in a program that asked, assumed or specialized.

    >>> from shapes.origin import Origin
    >>> place = Origin("/home/me/model.py", 41, "forward")
    >>> print(place)
    model.py:41 in forward
    >>> Origin.parse("model.py:41 forward") == Origin("model.py", 41, "forward")
    True

The provider walks up the stack to the first frame that belongs to the user: frames of this project and of registered
frameworks are skipped. It keeps the code object and the instruction, and works out line, column and text only when
it is read, so it costs about a microsecond.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from types import CodeType
from typing import Final

OriginProvider = Callable[[], "Origin | None"]

ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FRAMEWORK: Final = tuple([os.path.join(ROOT, name) + os.sep for name in ("shapes", "solver", "backends", "frontends")])
STANDARD: Final = (os.path.dirname(os.path.abspath(os.__file__)) + os.sep, "<frozen ")
INSTALLED: Final = f"{os.sep}site-packages{os.sep}"
SEGMENT_LENGTH: Final = 80


class Origin:
    """A place in a program. `segment` is the piece of source text that ran there, where the file can be read."""

    __slots__ = ("_code", "_file", "_function", "_instruction", "_line", "_segment")

    def __init__(self, file: str, line: int, function: str = "", segment: str = "") -> None:
        self._code: CodeType | None = None
        self._instruction = 0
        self._file = file
        self._function = function
        self._line: int | None = line
        self._segment = segment

    @staticmethod
    def of_instruction(code: CodeType, instruction: int) -> Origin:
        """The place of an instruction (`frame.f_lasti`), looked up when it is read."""
        place = Origin.__new__(Origin)
        place._code = code
        place._instruction = instruction
        place._line = None
        return place

    @staticmethod
    def parse(text: str | None) -> Origin | None:
        """The inverse of `recorded`: `file:line function`."""
        match = re.fullmatch(r"(.*?):(\d{1,9})(?: (?:in )?(.*))?", text or "", re.DOTALL)
        return None if match is None else Origin(match[1], int(match[2]), match[3] or "")

    @property
    def file(self) -> str:
        return self._file if self._code is None else self._code.co_filename

    @property
    def function(self) -> str:
        name = self._function if self._code is None else self._code.co_name
        return "" if name == "<module>" else name

    @property
    def line(self) -> int:
        if self._line is None:
            self._locate()
        assert self._line is not None
        return self._line

    @property
    def segment(self) -> str:
        """The expression that ran, or the line of it; empty where there is no source to read."""
        if self._line is None:
            self._locate()
        return self._segment

    @property
    def source_line(self) -> str:
        """The whole line of source, without the colon of a branch; empty where there is no source to read."""
        text = " ".join(_line(self.file, self.line).split()).removesuffix(":")
        return text if len(text) <= SEGMENT_LENGTH else text[: SEGMENT_LENGTH - 3] + "..."

    @property
    def name(self) -> str:
        """The file for people: its last part, and the folder where that part says nothing. Of a notebook, the cell."""
        cell = cell_of(self.file)
        if cell:
            return cell
        parts = self.file.replace("\\", "/").split("/")
        return "/".join(parts[-2:]) if parts[-1] == "__init__.py" else parts[-1]

    @property
    def place(self) -> str:
        """The file and the line for people."""
        name = self.name
        return f"{name}, line {self.line}" if name.startswith("In [") else f"{name}:{self.line}"

    @property
    def recorded(self) -> str:
        """`file:line function`, as recorded sessions write it."""
        return f"{self.name}:{self.line} {self.function}".rstrip()

    def _locate(self) -> None:
        code = self._code
        assert code is not None
        position = next(islice(code.co_positions(), self._instruction // 2, None), (None, None, None, None))
        first, last, begin, end = position
        self._line = first if first is not None else code.co_firstlineno
        self._segment = _segment(code.co_filename, self._line, last, begin, end)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Origin):
            return NotImplemented
        return (self.file, self.line, self.function) == (other.file, other.line, other.function)

    def __hash__(self) -> int:
        return hash((self.file, self.line, self.function))

    def __reduce__(self) -> tuple[type[Origin], tuple[str, int, str, str]]:
        """As text: code objects stay in their process."""
        return Origin, (self.file, self.line, self.function, self.segment)

    def __str__(self) -> str:
        return self.place + (f" in {self.function}" if self.function else "")

    def __repr__(self) -> str:
        return f"Origin({self.file!r}, {self.line}, {self.function!r})"


def cell_of(file: str) -> str:
    """The cell of a notebook or of IPython by the number beside it, such as `In [3]`; empty for other files."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    found = None if shell is None else shell.compile.format_code_name(file)
    number = None if found is None else re.search(r"\d+", found[1])
    return "" if number is None else f"In [{number[0]}]"


def _line(file: str, number: int) -> str:
    """A line of source, empty where there is none to read."""
    try:
        return linecache.getline(file, number)
    except Exception:  # doctest puts a reader of its own into `linecache`, which fails on sources of an earlier test
        return ""


def _segment(file: str, line: int, last: int | None, begin: int | None, end: int | None) -> str:
    """The source text of an instruction, whitespace folded. Columns are in bytes, as the compiler counts them."""
    lines = [_line(file, number) for number in range(line, (last or line) + 1)][:8]
    if begin is not None and end is not None and lines and lines[-1]:
        raw = [text.encode() for text in lines]
        raw[-1] = raw[-1][:end]
        raw[0] = raw[0][begin:]
        lines = [text.decode(errors="replace") for text in raw]
    text = " ".join("".join(lines).split())
    return text if len(text) <= SEGMENT_LENGTH else text[: SEGMENT_LENGTH - 3] + "..."


class StackWalk:
    """An origin provider: the innermost frame that is neither ours nor of a framework.

        >>> from shapes.origin import StackWalk
        >>> StackWalk(skip=["/opt/framework/"])() is not None
        True

    Every file is classified once; the walk itself is a few dictionary look-ups.
    """

    __slots__ = ("_skipped", "skip")

    def __init__(self, skip: Iterable[str] = ()) -> None:
        self.skip = (*FRAMEWORK, *skip)
        self._skipped: dict[str, bool] = {}

    def __reduce__(self) -> str | tuple[type[StackWalk], tuple[tuple[str, ...]]]:
        """The default provider by its name: it skips what is ours, wherever it is installed."""
        return "here" if self is here else (StackWalk, (self.skip[len(FRAMEWORK) :],))

    def skips(self, file: str) -> bool:
        """Ours, a framework's or Python's own: `random.randrange(s)` concretizes in the caller's line."""
        return file.startswith(self.skip) or (file.startswith(STANDARD) and INSTALLED not in file)

    def __call__(self, known: int = 0) -> Origin | None:
        """The place, `known` callers at least above the one that asks: those are skipped unseen."""
        frame = sys._getframe(1 + known)
        skipped = self._skipped
        while True:
            code = frame.f_code
            skip = skipped.get(code.co_filename)
            if skip is None:
                skip = skipped[code.co_filename] = self.skips(code.co_filename)
            if not skip:
                return Origin.of_instruction(code, frame.f_lasti)
            above = frame.f_back
            if above is None:
                return None
            frame = above


here: Final = StackWalk()
"""The default provider."""


def pickled_provider(provider: OriginProvider) -> OriginProvider:
    """The provider for a pickle: the default one in place of one that pickle cannot take along, such as a lambda."""
    import pickle  # loaded on demand

    try:
        pickle.dumps(provider)
    except (pickle.PicklingError, AttributeError, TypeError):
        return here
    return provider


def tested_truth(question: str, origin: Origin | None) -> str:
    """The text of a boolean that a line branches on, where the question is if a symbol is 1.

    Empty elsewhere.
    """
    if origin is None or not re.fullmatch(r"\w+ == 1", question):
        return ""
    import ast  # loaded on demand

    # the segment of an instruction may be a part of what is tested
    line = linecache.getline(origin.file, origin.line).strip() or origin.segment
    for text in (line, f"{line} pass"):
        try:
            (tree,) = ast.parse(text).body
        except (SyntaxError, ValueError):
            continue
        test = tree.value if isinstance(tree, ast.Expr) else getattr(tree, "test", None)
        test = test.test if isinstance(test, ast.IfExp) else test
        return ast.unparse(test) if isinstance(test, ast.Name | ast.Call | ast.Attribute | ast.Subscript) else ""
    return ""
