"""Make the environments of torch ours inside of a block.

    >>> from torch.fx.experimental.symbolic_shapes import ShapeEnv
    >>> from frontends.pytorch.shape_env.installing import installed
    >>> with installed():
    ...     type(ShapeEnv()).__name__
    'EngineShapeEnv'
    >>> type(ShapeEnv()).__name__
    'ShapeEnv'

Replaced meanwhile are some of torch's shape rules, some of Dynamo's rules of Python, and the constructors of torch's
environments and nodes: they make ours in the thread of the block.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch._dynamo import convert_frame
from torch._dynamo.variables import BuiltinVariable
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv as Torchs
from torch.fx.experimental.symbolic_shapes import uninteresting_files

from frontends.pytorch.shape_env import data_sizes, numpy_rules, python_breaks, python_rules, ranks, torch_rules
from frontends.pytorch.shape_env.adapter import EngineShapeEnv
from frontends.pytorch.shape_env.comparing import Comparison
from frontends.pytorch.shape_env.marking import TORCHS, Policies
from frontends.pytorch.shape_env.nodes import EngineSymNode

TESTED: Final = ("2.13.0",)
"""The releases of torch for which answers were compared; others are left unchanged."""
OWN: Final = tuple([str(path) for path in Path(__file__).parent.glob("*.py")])
logger = logging.getLogger("symshape")

Settings = tuple[Policies, Comparison | None]
ACTIVE: Final[contextvars.ContextVar[Settings | None]] = contextvars.ContextVar("symshape_shape_env", default=None)


BEGIN, BEGIN_NODE = Torchs.__init__, SymNode.__init__
"""Torch's constructors."""


def begin(self: Any, *args: Any, **named: Any) -> None:
    """Make one of torch's environments; it becomes one of ours inside of a block."""
    settings = ACTIVE.get() or INSTALLATION.everywhere
    if settings is None or type(self) is not Torchs:
        BEGIN(self, *args, **named)
    else:
        self.__class__ = EngineShapeEnv
        EngineShapeEnv.__init__(self, *args, policies=settings[0], comparison=settings[1], **named)


def begin_node(self: Any, expr: Any, shape_env: Any, *args: Any, **named: Any) -> None:
    """Make a node of torch's; that of one of our environments becomes ours."""
    if type(shape_env) is EngineShapeEnv and type(self) is SymNode:
        self.__class__ = EngineSymNode
    BEGIN_NODE(self, expr, shape_env, *args, **named)


TORCHS_GROUP = convert_frame.get_compile_pg


def exchanging_group() -> Any:
    """The group that a compilation asks what is dynamic: the exchange of the program in this thread, or torch's."""
    settings = ACTIVE.get()
    found = None if settings is None else settings[0].ranks
    return TORCHS_GROUP() if found is None or found.is_apart else found


REPLACED: Final = (
    (convert_frame, "get_compile_pg", exchanging_group),
    (Torchs, "__init__", begin),
    (SymNode, "__init__", begin_node),
    # handlers that Dynamo keeps may be of its own rules
    (BuiltinVariable, "call_function_handler_cache", {}),
    *[(owner, method.__name__, method) for owner, method in python_rules.REPLACED],
    *python_breaks.REPLACED,
    *numpy_rules.REPLACED,
    *ranks.REPLACED,
    *data_sizes.REPLACED,
    *torch_rules.REPLACED,
)


class Installation:
    """The number of active blocks, and what the whole process has."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.replaced = contextlib.ExitStack()
        self.everywhere: Settings | None = None
        self.warned = False

    def enter(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == 1:
                for owner, name, function in REPLACED:
                    known = getattr(owner, name, None)
                    restored = (delattr, owner, name) if known is None else (setattr, owner, name, known)
                    self.replaced.callback(*restored)
                    setattr(owner, name, function)
                # torch's origins of guards and nodes stay the user's lines
                uninteresting_files().update(OWN)
                torch_rules.replace(self.replaced)

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                self.replaced.close()
                uninteresting_files().difference_update(OWN)

    def is_tested(self) -> bool:
        """Return True if this version of torch is tested; warn once if it is not."""
        release = str(torch.__version__).partition("+")[0]
        if release not in TESTED and not self.warned:
            self.warned = True
            tested = ", ".join(TESTED)
            logger.warning("reasoner: torch %s is not among those tested (%s): nothing is changed", release, tested)
        return release in TESTED


INSTALLATION: Final = Installation()


@contextlib.contextmanager
def installed(policies: Policies | None = None, *, compare: bool = False) -> Iterator[Comparison | None]:
    """Let torch ask the engine inside of the block, in this thread.

    Args:
        policies: choices; torch's own by default.
        compare: torch answers, and the block receives the comparison of our answers with its.
    """
    if not INSTALLATION.is_tested():
        yield None
        return
    comparison = Comparison() if compare else None
    INSTALLATION.enter()
    token = ACTIVE.set((policies or TORCHS, comparison))
    try:
        yield comparison
    finally:
        ACTIVE.reset(token)
        INSTALLATION.leave()


def install_everywhere() -> None:
    """Let torch ask the engine in the whole process, from now on."""
    if INSTALLATION.is_tested() and INSTALLATION.everywhere is None:
        INSTALLATION.everywhere = (TORCHS, None)
        INSTALLATION.enter()
