"""Turned on and off: see `reasoner`.

What takes the place of Inductor's functions does so once Inductor compiles: importing it takes seconds, which a block
around another backend would pay for nothing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from frontends.pytorch.reasoning.comparing import Comparison

TESTED: Final = ("2.13.0",)
"""The releases of torch whose answers were compared with what is remembered; on others nothing is changed."""
OURS: Final = tuple([str(path) for path in Path(__file__).parent.glob("*.py")])

logger = logging.getLogger("symshape")


class Installation:
    """The attributes of torch's classes and modules that others stand in for, and how many blocks want it so."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before: dict[tuple[Any, str], Any] = {}

    def enter(self, comparison: Comparison | None = None) -> None:
        """The first block that is entered says whether answers are compared.

        Raises:
            RuntimeError: answers shall be compared, and are being given already.
        """
        with self.lock:
            if self.count and comparison is not None:
                raise RuntimeError("reasoner(compare=True) inside of another: leave that first")
            self.count += 1
            if self.count > 1 or not is_tested():
                return
            from torch._subclasses.fake_tensor import FakeTensorMode
            from torch.fx.experimental.sym_node import SymNode
            from torch.fx.experimental.symbolic_shapes import ShapeEnv, uninteresting_files

            from frontends.pytorch.reasoning.arithmetic import Environments, evaluations, operations, withdrawals
            from frontends.pytorch.reasoning.outputs import methods

            # so that what torch says a guard or a node comes from is the line that it would be without
            uninteresting_files().update(OURS)
            environments = Environments()
            self.change(SymNode, operations(environments), comparison)
            self.change(ShapeEnv, evaluations(environments), comparison)
            self.change(ShapeEnv, withdrawals(environments))
            self.change(FakeTensorMode, methods(None if comparison is None else comparison.add))
            inductor = torch._TorchCompileInductorWrapper
            self.change(inductor, {"__call__": self.with_inductor(inductor.__call__, comparison)})

    def change(self, owner: Any, changed: dict[str, Any], comparison: Comparison | None = None) -> None:
        """Put attributes in the place of those of a class or module, compared with them if so asked."""
        if comparison is not None:
            changed = comparison.attributes(changed, vars(owner))
        for name, attribute in changed.items():
            self.before[owner, name] = vars(owner)[name]
            setattr(owner, name, attribute)

    def with_inductor(self, original: Callable[..., Any], comparison: Comparison | None) -> Callable[..., Any]:
        """The compiler that `torch.compile` asks unless told otherwise, with its own functions changed before."""

        def compiler(compiler: Any, *graph: Any, **options: Any) -> Any:
            import torch._inductor.sizevars as sizes
            from torch._inductor.codegen import cpp

            with self.lock:
                if self.before and (sizes, "stride_at") not in self.before:
                    from frontends.pytorch.reasoning.strides import functions

                    changed = functions(sizes)
                    self.change(cpp, {name: changed[name] for name in changed if name in vars(cpp)}, comparison)
                    self.change(sizes, changed, comparison)
            return original(compiler, *graph, **options)

        return compiler

    def leave(self) -> None:
        """The last block that is left puts back what was there."""
        with self.lock:
            self.count -= 1
            if self.count or not self.before:
                return
            from torch.fx.experimental.symbolic_shapes import uninteresting_files

            uninteresting_files().difference_update(OURS)
            for (owner, name), attribute in self.before.items():
                setattr(owner, name, attribute)
            self.before = {}


INSTALLATION: Final = Installation()


def is_tested() -> bool:
    """Whether this torch is one of those tested; says so if it is not."""
    release = str(torch.__version__).partition("+")[0]
    if release in TESTED:
        return True
    logger.warning("reasoner: torch %s is not among those tested (%s): nothing is changed", release, ", ".join(TESTED))
    return False


@contextlib.contextmanager
def reasoner(*, compare: bool = False) -> Iterator[Comparison | None]:
    """See `frontends.pytorch.reasoner`."""
    comparison = None
    if compare:
        from frontends.pytorch.reasoning.comparing import Comparison

        comparison = Comparison()
    INSTALLATION.enter(comparison)
    try:
        yield comparison
    finally:
        INSTALLATION.leave()


__all__ = ["INSTALLATION", "TESTED", "reasoner"]
