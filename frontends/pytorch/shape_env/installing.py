"""Install and remove the class where torch makes its environments.

    >>> import torch
    >>> from torch.fx.experimental import symbolic_shapes
    >>> from frontends.pytorch.shape_env.installing import installed
    >>> before = symbolic_shapes.ShapeEnv
    >>> with installed():
    ...     type(symbolic_shapes.ShapeEnv()).__name__
    'EngineShapeEnv'
    >>> symbolic_shapes.ShapeEnv is before
    True

Installed are some shape rules, and a class that chooses when it is called: an environment of ours inside of the
block, torch's own in every other thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import uninteresting_files

from frontends.pytorch.shape_env import torch_rules
from frontends.pytorch.shape_env.adapter import EngineShapeEnv, Torchs
from frontends.pytorch.shape_env.comparing import Comparison
from frontends.pytorch.shape_env.nodes import EngineSymNode
from frontends.pytorch.shape_env.policies import TORCHS, Policies

TESTED: Final = ("2.13.0",)
"""The releases of torch for which answers were compared; others are left unchanged."""
OWN: Final = tuple([str(path) for path in Path(__file__).parent.glob("*.py")])
logger = logging.getLogger("symshape")

Settings = tuple[Policies, Comparison | None]
ACTIVE: Final[contextvars.ContextVar[Settings | None]] = contextvars.ContextVar("symshape_shape_env", default=None)


class Choosing(type):
    """Calls and instance checks of the class that is installed."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if cls is not Chosen:
            return super().__call__(*args, **named)
        settings = ACTIVE.get() or INSTALLATION.everywhere
        if settings is None:
            return Torchs(*args, **named)
        return EngineShapeEnv(*args, policies=settings[0], comparison=settings[1], **named)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Torchs) if cls is Chosen else super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, Torchs) if cls is Chosen else super().__subclasscheck__(other)


class Chosen(Torchs, metaclass=Choosing):
    """Torch's class, but calling it makes the environment that this thread is to have."""


class ChoosingNode(type):
    """Calls and instance checks of the class of nodes that is installed."""

    def __call__(cls, expr: Any, shape_env: Any, *args: Any, **named: Any) -> Any:
        if cls is not ChosenNode:
            return super().__call__(expr, shape_env, *args, **named)
        kind = EngineSymNode if type(shape_env) is EngineShapeEnv else SymNode
        return kind(expr, shape_env, *args, **named)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, SymNode) if cls is ChosenNode else super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, SymNode) if cls is ChosenNode else super().__subclasscheck__(other)


class ChosenNode(SymNode, metaclass=ChoosingNode):
    """Torch's class, but calling it makes a node of ours for an environment of ours."""


CLASSES: Final = {"ShapeEnv": (Torchs, Chosen), "SymNode": (SymNode, ChosenNode)}
"""By name, torch's and what is installed."""


class Installation:
    """The number of active blocks, and what the whole process has."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.everywhere: Settings | None = None
        self.warned = False

    def enter(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == 1:
                bind(0, 1)
                # torch's origins of guards and nodes stay the user's lines
                uninteresting_files().update(OWN)
                torch_rules.replace()

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                bind(1, 0)
                uninteresting_files().difference_update(OWN)
                torch_rules.restore()

    def is_tested(self) -> bool:
        """Whether this version of torch is tested; warns once if it is not."""
        release = str(torch.__version__).partition("+")[0]
        if release not in TESTED and not self.warned:
            self.warned = True
            tested = ", ".join(TESTED)
            logger.warning("reasoner: torch %s is not among those tested (%s): nothing is changed", release, tested)
        return release in TESTED


INSTALLATION: Final = Installation()


def bind(before: int, after: int) -> None:
    """Bind the names of the classes in torch's modules anew."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("torch.") and isinstance(module, ModuleType):
            for name, classes in CLASSES.items():
                if vars(module).get(name) is classes[before]:
                    setattr(module, name, classes[after])


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


__all__ = ["INSTALLATION", "TESTED", "install_everywhere", "installed"]
