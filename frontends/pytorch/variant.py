"""A variant: one graph of a function, and what it relies on.

What `frontends.pytorch.tracing.trace` gives, and what `frontends.pytorch.calls` finds by its guards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from typing import TYPE_CHECKING

import torch
from torch.utils._pytree import TreeSpec, tree_unflatten

from frontends.pytorch.graphs.captured import Captured, Joint, in_graph
from frontends.pytorch.graphs.outputs import Outputs
from frontends.pytorch.python.ran import Use
from frontends.pytorch.recording.given_back import GivenBack
from frontends.pytorch.recording.inputs import Input, Number
from frontends.pytorch.recording.operations import Recording
from frontends.pytorch.running import Running, running
from shapes.env import ShapeEnv

if TYPE_CHECKING:
    from backends.backend import AnyBackend
    from backends.decisions.costs import Expected
    from frontends.pytorch.python.side_effects import SideEffect
    from shapes.guards.guards import Guard


class Variant(Captured):
    """One graph of a function, with what it relies on.

    Attributes:
        structure: how what the function returns is put together.
        places: where inputs and numbers are among the leaves of the arguments.
        marks_matter: whether it is for arguments only that are not marked as negatives.
        cause: why it was traced.
        running: how it runs, once a backend has been chosen.
        memoized: what it used of the results that functions remember.
        taken, reads: what of the call that it was traced for, and of what it has read, is kept for other processes.
        provenance: how it came to be, where it is of a file: restored, or traced and why.
        effects: what it does to what outlives the call, after its graph. Where there are any, `structure` is that of
            what the function returns and of the list of all that is stored.
        program, watched: the function itself, which runs where such an effect can not be done; and by identity what is
            read without being given, which no container among the arguments may be.
        needs_distinct: whether it is for calls only in which no container is given twice, or read otherwise as well.
    """

    provenance: str = ""

    def __init__(
        self,
        env: ShapeEnv,
        recording: Recording,
        inputs: Sequence[Input],
        outputs: Sequence[object],
        structure: TreeSpec,
        with_gradient: Sequence[bool] = (),
        joint: Joint | None = None,
        integers: Sequence[Number] = (),
        places: Sequence[int] = (),
        cause: str = "first call",
        *,
        relations: Outputs | None = None,
        bases: Sequence[object] = (),
        written: Sequence[tuple[int | torch.Tensor, int]] = (),
        marks_matter: bool = False,
    ) -> None:
        super().__init__(
            env,
            recording,
            inputs,
            outputs,
            with_gradient,
            joint,
            integers,
            relations=relations,
            bases=bases,
            written=written,
        )
        self.structure = structure
        self.marks_matter = marks_matter
        self.places = tuple(places)
        self.cause = cause
        self.running: Running | None = None
        self.memoized: tuple[Use, ...] = ()
        self.taken: object = None
        self.reads: object = None
        self.effects: tuple[SideEffect, ...] = ()
        self.program: Callable[..., object] | None = None
        self.watched: Container[int] = frozenset()
        self.needs_distinct = False

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.env.guards()

    @property
    def inferred_rules(self) -> dict[str, str]:
        """The custom operators without a shape rule, each with the rule that was found by running it."""
        return self.recording.inferred

    def run_by(
        self,
        backend: AnyBackend,
        withheld: Collection[str] = (),
        guards: Expected | None = None,
        varying: Collection[str] = (),
    ) -> Callable[[Sequence[object]], Sequence[object]]:
        """The variant by a backend, as a call: the tensors and then the numbers in, the flat outputs out. Kernels are
        made without asking `withheld` kinds of questions; with `guards`, those that pay are added (`running`)."""
        self.running = running(self, backend, withheld, guards, varying)
        return self.running.call

    @property
    def given_back(self) -> tuple[int, ...]:
        """The containers among the arguments that the function returns."""
        return tuple([output.number for output in self.outputs if type(output) is GivenBack])

    def assembled(self, values: Sequence[object], containers: Sequence[object] = ()) -> object:
        """What the function returns, from what the graph does and the containers that are `given_back`."""
        outputs = [value if in_graph(output) else output for value, output in zip(values, self.outputs)]
        if containers:
            back = iter(containers)
            outputs = [next(back) if type(output) is GivenBack else output for output in outputs]
        return tree_unflatten(outputs, self.structure)
