"""A variant: one graph of a function, with its preconditions.

`frontends.pytorch.tracing.trace` makes variants; `frontends.pytorch.calls` selects one by its guards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass

from torch.utils._pytree import TreeSpec, tree_unflatten

from backends.backend import AnyBackend
from backends.decisions.costs import Expected
from frontends.pytorch.graphs.captured import Captured, in_graph
from frontends.pytorch.python.ran import Use
from frontends.pytorch.python.side_effects import SideEffect
from frontends.pytorch.recording.given_back import GivenBack
from frontends.pytorch.running import Running, running
from shapes.guards.guards import Guard


@dataclass(eq=False, repr=False, kw_only=True)
class Variant(Captured):
    """One graph of a function, with its preconditions.

    Attributes:
        structure: the pytree structure of the function's results.
        places: the indices of inputs and numbers among the leaves of the arguments.
        marks_matter: whether it is valid only for arguments without the negative bit.
        cause: why it was traced.
        running: the compiled callable, once a backend has been chosen.
        memoized: the cached results of functions that it used.
        example_call, reads: what is kept for other processes of the traced call and of the state that it read.
        provenance: for a variant of a file: restored, or traced and why.
        effects: its side effects, performed after its graph. If there are any, `structure` covers the results and the
            list of all stored values.
        program, watched: the function itself, which runs if such an effect cannot be performed; and by identity the
            captured state, with which no container among the arguments may be identical.
        needs_distinct: whether it is valid only if no container is passed twice, or read as captured state too.
    """

    structure: TreeSpec
    places: tuple[int, ...]
    marks_matter: bool
    cause: str = "first call"
    provenance: str = ""
    running: Running | None = None
    memoized: tuple[Use, ...] = ()
    example_call: object = None
    reads: object = None
    effects: tuple[SideEffect, ...] = ()
    program: Callable[..., object] | None = None
    watched: Container[int] = frozenset()
    needs_distinct: bool = False

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.env.guards()

    @property
    def inferred_rules(self) -> dict[str, str]:
        """The custom operators without a shape rule, each with the rule inferred by running it."""
        return self.recording.inferred

    def run_by(
        self,
        backend: AnyBackend,
        withheld: Collection[str] = (),
        guards: Expected | None = None,
        varying: Collection[str] = (),
    ) -> Callable[[Sequence[object]], Sequence[object]]:
        """Compile the variant with a backend to a function from tensors and numbers to flat outputs. Kernels are made
        without asking the `withheld` kinds of questions; with `guards`, profitable guards are added (`running`)."""
        self.running = running(self, backend, withheld, guards, varying)
        return self.running.call

    @property
    def given_back(self) -> tuple[int, ...]:
        """The containers among the arguments that the function returns."""
        return tuple([output.number for output in self.outputs if type(output) is GivenBack])

    def assembled(self, values: Sequence[object]) -> object:
        """Assemble the function's results from the graph's outputs."""
        outputs = [value if in_graph(output) else output for value, output in zip(values, self.outputs)]
        return tree_unflatten(outputs, self.structure)
