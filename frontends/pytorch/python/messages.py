"""Output as a side effect: what a call prints and logs is replayed after its graph, with the values of the run.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> def f(x):
    ...     print("rows", x.shape[0], x)
    ...     return x.add_(1)
    >>> compiled = compile(f, dynamic=True)
    >>> for rows in (2, 3):
    ...     y = compiled(torch.zeros(rows))
    rows 2 tensor([0., 0.])
    rows 3 tensor([0., 0., 0.])
    >>> len(compiled.variants)
    1

A message is recorded if all of its values are available before or after the graph: constants, sizes, numbers that the
graph returns, tensors without a gradient (copied at that point), and lists, tuples and dictionaries of these. Other
values, such as objects of the program, compute their text when they are printed, which a graph cannot replay.
"""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final

import torch
from torch.utils._pytree import tree_leaves

from frontends.pytorch.errors import eager_only
from frontends.pytorch.python.python_calls import ours
from frontends.pytorch.python.ran import remembered
from frontends.pytorch.python.side_effects import MOST, PLAIN, Said, SideEffect, Unsayable
from frontends.pytorch.python.snapshots import ATTRIBUTES
from frontends.pytorch.source_location import origin
from frontends.pytorch.symbolic.tensor import Traced

DEEPEST: Final = 8
OPTIONS: Final = frozenset(("sep", "end", "flush"))
"""The supported keyword arguments of `print`; a `file` is an object of the program."""
RECORD: Final = frozenset(vars(logging.makeLogRecord({})))
print_: Final = builtins.print


class Messages:
    """The messages of a trace, which are not written during it."""

    def __init__(self, recorded: Callable[[], object]) -> None:
        """`print`, its output stream and the `recorded` state become preconditions."""
        self._recorded: Final = recorded
        self._whole: Final = recorded()
        self._found: Final[list[tuple[SideEffect, list[object]]]] = []
        self._count = 0
        self._output: Final = sys.stdout
        self._is_open = builtins.print is print_
        """Not when the function has returned: what its backward says is said by another call."""

    def prints(self, values: Sequence[object], named: Mapping[str, object]) -> bool:
        """Record a call of `print`; returns whether that is possible.

        Raises:
            EagerOnly: a tensor with a gradient is printed.
        """
        if any(type(each) is Traced and each.requires_grad for each in tree_leaves(values)):
            eager_only("a tensor with a gradient is printed: its text names what made it", "print `x.detach()`")
        if not named.keys() <= OPTIONS or sys.stdout is not self._output:
            return False
        return self._keep("print", print_, values, named, tensors=True)

    def logs(self, logger: logging.Logger, record: logging.LogRecord) -> bool:
        """Record a message for a logger; returns whether that is possible."""
        usual = type(logger) in (logging.Logger, logging.RootLogger) and type(record) is logging.LogRecord
        if not usual or vars(record).keys() - RECORD or record.exc_info or record.stack_info:
            return False
        if logging.getLogRecordFactory() is not logging.LogRecord or not isinstance(record.args, tuple | None):
            return False
        place = record.levelno, record.pathname, record.lineno, record.funcName
        values = (record.msg, *(record.args or ()))
        return self._keep("a message that is logged", partial(log_again, logger, *place), values, {}, tensors=False)

    def effects(self) -> list[tuple[SideEffect, list[object]]]:
        """The side effects that write them, each with its values; clears the record."""
        self._is_open = False
        return self._found

    def _keep(
        self,
        text: str,
        function: Callable[..., object],
        values: Sequence[object],
        named: Mapping[str, object],
        *,
        tensors: bool,
    ) -> bool:
        # not in a branch of a condition, which may not run
        if not self._is_open or self._recorded() is not self._whole or is_kept_by_a_memo():
            return False
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return False
        try:
            stored = [as_it_is(each, tensors=tensors) for each in (*values, *named.values())]
        except Unsayable:
            return False
        self._count += len(stored)
        if self._count > MOST:
            return False
        steps = Said(len(values), tuple(named))
        self._found.append((SideEffect(function, None, ATTRIBUTES, steps, len(stored), text, origin()), stored))
        return True


def is_kept_by_a_memo() -> bool:
    """Whether a memoizing function is running: its messages are written only once."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in remembered:
            return True
        frame = frame.f_back
    return False


def as_it_is(value: Any, *, tensors: bool, depth: int = 0) -> object:
    """A value that will print later as this one prints now.

    Raises:
        Unsayable: there may be none.
    """
    kind = type(value)
    if kind in PLAIN or kind in (float, complex):
        return value
    if kind in (torch.SymInt, torch.SymFloat) and ours(value):
        return value
    if kind is torch.Size:
        return value
    if kind is Traced and tensors and is_printed_by_elements(value):
        return value.detach().clone()
    if kind in (list, tuple) and depth < DEEPEST:
        return kind([as_it_is(each, tensors=tensors, depth=depth + 1) for each in value])
    if kind is dict and depth < DEEPEST and all(type(key) in (str, int) for key in value):
        return {key: as_it_is(each, tensors=tensors, depth=depth + 1) for key, each in value.items()}
    raise Unsayable


def is_printed_by_elements(tensor: Traced) -> bool:
    """Whether a tensor's text depends only on its elements and dtype: no gradient, and no subclass."""
    if tensor.requires_grad or vars(tensor).get("_is_param", False) or tensor.layout is not torch.strided:
        return False
    return not tensor.is_complex() and not tensor.is_quantized and not tensor.is_neg()


def log_again(
    logger: logging.Logger, level: int, path: str, line: int, function: str, message: object, *values: object
) -> None:
    """Let a logger handle a message of a source location, as `Logger.log` does there."""
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(logger.name, level, path, line, message, values, None, function))
