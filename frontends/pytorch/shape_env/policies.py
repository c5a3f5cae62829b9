"""Policies: choices that knowledge alone does not make, for the environments of one installation.

    >>> import torch
    >>> from frontends.pytorch.shape_env import Policies, installed
    >>> with installed(Policies(duck_shape=False)):
    ...     f = torch.compile(lambda x, y: x + 1 if x.shape[0] == y.shape[0] else x, backend="eager", dynamic=True)
    ...     out = f(torch.ones(3), torch.ones(3))

By default all of them are torch's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frontends.pytorch.recording.inputs import Choice
    from frontends.pytorch.shape_env.ranks import Ranks

Marks = Callable[[str, object, int], "Choice | None"]
"""Decides the treatment of a number of the arguments, from torch's name of the tensor or integer (`L['x']`), its value
if it is at hand, and the axis; an integer has the axis -1."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The choices of one installation.

    Attributes:
        specialize_zero_one: sizes of 0 and 1 are constants; None for torch's own setting.
        duck_shape: equal sizes of inputs are one symbol; None for torch's own setting.
        oblivious: optional questions take the general side without a guard, where nothing is proven and these sizes
            allow it.
        marks: consulted for every number of the arguments.
        relations: propositions over the words of the environment, guards from the moment their sizes are known.
        arguments: names of the arguments that the relations are about; Dynamo reads them together.
        ranks: merges what is dynamic over the process group; None decides on each rank alone.
    """

    specialize_zero_one: bool | None = None
    duck_shape: bool | None = None
    oblivious: bool = False
    marks: Marks | None = None
    relations: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    ranks: Ranks | None = None


TORCHS = Policies()
