"""A variant: one graph of a function, with its preconditions.

`frontends.pytorch.tracing.trace` makes variants; `frontends.pytorch.variants.compiled_graph` selects one by its guards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from torch.utils._pytree import TreeSpec

from backends.backend import AnyBackend
from backends.decisions.costs import Expected
from frontends.pytorch.graphs.captured import Captured
from frontends.pytorch.graphs.form import in_graph
from frontends.pytorch.recording.inputs import unflatten
from frontends.pytorch.running import Running, running
from shapes.guards.guards import Guard
from shapes.reports.records import Entry


@dataclass(eq=False, repr=False, kw_only=True)
class Variant(Captured):
    """One graph of a function, with its preconditions.

    Attributes:
        structure: the pytree structure of the function's results.
        places: the indices of inputs and numbers among the leaves of the arguments.
        marks_matter: True if it is valid only for arguments without the negative bit.
        cause: why it was traced.
        running: the compiled callable, once a backend has been chosen.
        made: when it was traced, in seconds of the epoch.
        specialized: the sizes that became constants before it was traced.
    """

    structure: TreeSpec
    places: tuple[int, ...]
    marks_matter: bool
    cause: str = "first call"
    running: Running | None = None
    made: float = field(default_factory=time.time)
    specialized: tuple[Entry, ...] = ()

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.env.guards()

    def run_by(
        self,
        backend: AnyBackend,
        withheld: Collection[str] = (),
        guards: Expected | None = None,
        varying: Collection[str] = (),
    ) -> Callable[[Sequence[object]], Sequence[object]]:
        """Compile the variant with a backend to a function from tensors and numbers to flat outputs.

        Kernels are made without asking the `withheld` kinds of questions; with `guards`, profitable guards are added
        (`running`).
        """
        self.running = running(self, backend, withheld, guards, varying)
        return self.running.call

    def assembled(self, values: Sequence[object]) -> object:
        """Assemble the function's results from the graph's outputs."""
        outputs = [value if in_graph(output) else output for value, output in zip(values, self.outputs)]
        return unflatten(outputs, self.structure)
