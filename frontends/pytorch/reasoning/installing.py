"""Install and remove the cache: see `reasoner`.

Inductor's functions are replaced once Inductor compiles: importing it takes seconds, which other backends do not need.
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
"""The releases of torch for which cached answers were compared; others are left unchanged."""
OURS: Final = tuple([str(path) for path in Path(__file__).parent.glob("*.py")])

logger = logging.getLogger("symshape")


class Installation:
    """The replaced attributes of torch's classes and modules, and the number of active blocks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before: dict[tuple[Any, str], Any] = {}

    def enter(self, comparison: Comparison | None = None) -> None:
        """Enter a block; the first one determines whether answers are compared.

        Raises:
            RuntimeError: a comparison is requested inside of a block without one.
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

            # torch's origins of guards and nodes must stay the same lines
            uninteresting_files().update(OURS)
            environments = Environments()
            self.change(SymNode, operations(environments), comparison)
            self.change(ShapeEnv, evaluations(environments), comparison)
            self.change(ShapeEnv, withdrawals(environments))
            self.change(FakeTensorMode, methods(None if comparison is None else comparison.add))
            inductor = torch._TorchCompileInductorWrapper
            self.change(inductor, {"__call__": self.with_inductor(inductor.__call__, comparison)})

    def change(self, owner: Any, changed: dict[str, Any], comparison: Comparison | None = None) -> None:
        """Replace attributes of a class or module, with comparison if requested."""
        if comparison is not None:
            changed = comparison.attributes(changed, vars(owner))
        for name, attribute in changed.items():
            self.before[owner, name] = vars(owner)[name]
            setattr(owner, name, attribute)

    def with_inductor(self, original: Callable[..., Any], comparison: Comparison | None) -> Callable[..., Any]:
        """Inductor's compiler, with its functions replaced first."""

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
        """Leave a block; the last one restores the original attributes."""
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
    """Whether this version of torch is tested; warns if it is not."""
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
