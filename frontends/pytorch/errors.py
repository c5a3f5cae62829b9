"""Errors of tracing: each names the user's line and a fix.

    >>> from frontends.pytorch.errors import TraceError
    >>> from shapes.errors import ShapeError
    >>> issubclass(TraceError, ShapeError)
    True
    >>> print(refusal("a size is printed", "print it outside", None))
    a size is printed
      fix:    print it outside
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable
from typing import Final, NoReturn

from frontends.pytorch.source_location import origin, place_of, returned_at
from shapes.errors import ShapeError
from shapes.origin import ROOT, Origin

OWN: Final = tuple([os.path.join(ROOT, name) + os.sep for name in ("frontends", "backends", "shapes", "solver")])
OF_TRACES: Final = re.compile(
    r"symbolic (size|shape|int)|SymInt|SymFloat|SymBool|Meta tensors|meta tensor|FakeTensor|fake impl|customized tensor"
    r"|Unable to cast Python instance of type|__torch_dispatch__|data pointer|wrapper subclass|data is not allocated"
)
"""Messages of torch's C++ about a tensor without storage, or a symbolic size where an integer is needed."""
STAND_INS: Final = os.path.join(ROOT, "frontends", "pytorch", "python") + os.sep
"""The module that replaces Python's own functions, and raises the errors that they raise."""


class TraceError(ShapeError):
    """The program cannot be traced."""


class EscapedTensor(TraceError):
    """A tensor of a trace was used after the trace."""


class GraphBreak(TraceError):
    """Something that cannot be part of a graph: a branch on data, a value that leaves torch."""


class OpensObjects(TraceError):
    """Objects among the arguments are mutated: the function must be traced again with them as pytree nodes."""


class Written(GraphBreak):
    """The program prints, which a graph would not repeat."""


class Uninitialized(TraceError):
    """A parameter of a lazy module, which the module's first call initializes."""


class Settles(GraphBreak):
    """The call initializes state that was None or missing with constants: the next call may mutate nothing."""


class EagerOnly(GraphBreak):
    """Neither a graph nor graph breaks would reproduce eager torch: the call falls back to eager."""


class Unsupported(TraceError):
    """An input or an operator that the frontend does not take."""


class InternalError(TraceError):
    """Tracing failed where the program is not at fault."""


class ConstraintViolation(TraceError):
    """Marks or stated relations that contradict each other or the actual sizes."""


class WrongArtifact(TraceError):
    """A file that was saved for another program, was altered, or is no artifact."""


def refusal(what: str, fix: str, place: Origin | None) -> str:
    """The text of an error: what, where, and what to do."""
    lines = [what]
    if place is not None:
        lines.append(f"  at:     `{place.source_line}`  ({place})")
    return "\n".join([*lines, f"  fix:    {fix}"])


def as_it_stands(reason: str) -> str:
    """Why a call runs with graph breaks, without the advice to allow them: they are allowed already."""
    lines = [re.sub(r"[;,]? *fullgraph=False .*", "", line) for line in reason.split("\n")]
    return "\n".join([line for line in lines if line.strip() != "fix:"])


def eager_only(what: str, fix: str, *lines: Origin | None) -> NoReturn:
    """Raise for something that only eager torch does, with the program's line and a fix; `lines` has the line where it
    is found after the program has ended.

    Raises:
        EagerOnly: always.
    """
    raise EagerOnly(refusal(what, f"{fix}; fullgraph=False runs the call eagerly", *(lines or [origin()])))


def rejected(what: str, fix: str) -> NoReturn:
    """Raise for an argument that is not accepted, with the program's line and a fix.

    Raises:
        ConstraintViolation: always.
    """
    raise ConstraintViolation(refusal(what, fix, origin()))


def unsupported(what: str, fix: str) -> NoReturn:
    """Raise for something unsupported, with the program's line and a fix.

    Raises:
        Unsupported: always.
    """
    raise Unsupported(refusal(what, fix, origin()))


def reason_of(error: Exception) -> str:
    """The reason of an eager fallback, from the error that ended the trace."""
    if isinstance(error, ShapeError):
        return str(error)
    place = place_of(error)
    where = "" if place is None else f"\n  at:     `{place.source_line}`  ({place})"
    return f"{type(error).__name__}: {error}{where}"


def located(error: TraceError, fn: Callable[..., object]) -> None:
    """Add to an error, if they are missing, the program's line (the one that raised, or where `fn` returned) and a
    fix."""
    text = str(error)
    if type(error) is ConstraintViolation or not error.args or text != error.args[0]:
        return
    what, *rest = text.split("\n")
    if not any(line.startswith(("  at: ", "  needed: ")) for line in rest):
        found = place_of(error) or returned_at(fn)
        if found is not None:
            rest.insert(0, f"  at:     `{found.source_line}`  ({found})")
    if not any(line.startswith("  fix: ") for line in rest):
        rest.append("  fix:    do it outside of the function; fullgraph=False runs the call eagerly")
    error.args = ("\n".join([what, *rest]), *error.args[1:])


def as_ours(error: Exception) -> Exception:
    """Translate an error for a call with `fullgraph=True`: failures of the frontend become internal errors, and torch's
    complaints about traced tensors or sizes are explained."""
    if isinstance(error, ShapeError):
        return error
    said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    if OF_TRACES.search(str(error)):
        what = f"this takes tensors with elements and plain numbers, which a trace has not: {said}"
        fix = "do it outside of the function; fullgraph=False runs the call eagerly"
        return Unsupported(refusal(what, fix, place_of(error)))
    if not is_internal(error):
        return error
    return InternalError(
        refusal(f"tracing failed: {said}", "fullgraph=False runs such calls without a graph", place_of(error))
    )


def is_internal(error: BaseException) -> bool:
    """Whether an error was raised by our code, and not by the program or by torch as the program calls it."""
    if isinstance(error, RecursionError) and place_of(error) is not None:
        # asynchronous: raised at an arbitrary line of the program
        return False
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    file = files[-1] if files else ""
    return file.startswith(OWN) and not file.startswith(STAND_INS)
