"""Users' statements about sizes, as policies of torch's ShapeEnv: marks, relations, and functions given as `dynamic`.

    >>> import torch
    >>> from frontends.pytorch import mark_static
    >>> from frontends.pytorch.dynamo.stated_sizes import StatedSizes
    >>> x = torch.randn(3, 8)
    >>> mark_static(x, 1)
    >>> stated = StatedSizes({"x": ("b", None)})
    >>> [stated.choice("L['x']", x, axis).kind for axis in (0, 1)], stated.policies.arguments
    (['dynamic', 'static'], ('x',))
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from frontends.pytorch.errors import refusal
from frontends.pytorch.recording.inputs import DYNAMIC, STATIC, Choice
from frontends.pytorch.shape_env import Policies
from frontends.pytorch.shape_env.marking import ViolatedConstraint
from frontends.pytorch.shape_env.ranks import Ranks
from frontends.pytorch.shape_env.symbols import shown
from frontends.pytorch.source_location import origin
from frontends.pytorch.variants.marks import marks_of
from frontends.pytorch.variants.policy import Setting
from frontends.pytorch.variants.relations import Relations
from shapes.accepted import is_truth
from shapes.accepted import shown as in_short

SETTINGS: Final = {
    **dict.fromkeys(
        (
            # Dynamo's assumptions: modules get no hooks, parameters are not shared, a tensor's metadata is constant
            # while it stays in its dictionary, functions' defaults are constant
            *("skip_nnmodule_hook_guards", "skip_no_tensor_aliasing_guards_on_parameters"),
            *("skip_tensor_guards_with_matching_dict_tags", "use_recursive_dict_tags_for_guards"),
            *("assume_dunder_attributes_remain_unchanged", "skip_guards_on_constant_func_defaults"),
            # an assertion raises another class of error
            "rewrite_assert_with_torch_assert",
            # calls of profilers beside every graph
            "record_runtime_overhead",
            # NumPy traced as torch returns arrays where NumPy returns scalars
            "trace_numpy",
        ),
        False,
    ),
    **dict.fromkeys(
        (
            # numbers and sizes that data decide are symbols without hints
            *("capture_scalar_outputs", "capture_dynamic_output_shape_ops"),
            # gradients that the program computes
            "trace_autograd_ops",
            # an integer attribute that changes is a symbol
            "allow_unspec_int_on_nn_module",
            "allow_rnn",
        ),
        True,
    ),
}
"""The settings with which Dynamo captures."""

SURVIVING: Final = WeakTensorKeyDictionary()
"""Axes of tensors whose sizes were symbols before a graph break; the next graph is captured for these tensors."""


@contextmanager
def varying(sources: Collection[str]) -> Iterator[None]:
    """Make integers symbols of Dynamo inside of the block; `sources` are their names in its guards."""
    known = torch.compiler.config.dynamic_sources
    named = [f"{re.escape(each)}$" for each in sorted(sources)]
    with torch.compiler.config.patch(dynamic_sources=",".join([known, *named] if known else named)):
        yield


class StatedSizes:
    """The statements about the sizes of one function.

    Attributes:
        relations: the stated relations; None if there are none.
        policies: equal sizes are distinct symbols, from 0; what operators ask to save work adds no guard.
    """

    def __init__(self, dynamic: Setting, ranks: Ranks | None = None) -> None:
        self.relations = Relations(dynamic) if isinstance(dynamic, Mapping) else None
        self._function = dynamic if callable(dynamic) else None
        self.policies = Policies(
            specialize_zero_one=False,
            duck_shape=False,
            oblivious=True,
            marks=self.choice,
            relations=() if self.relations is None else self.relations.propositions,
            arguments=() if self.relations is None else tuple(self.relations.statements),
            ranks=ranks,
        )

    def choice(self, source: str, value: object, axis: int) -> Choice | None:
        """The treatment of a number of the arguments, if that is stated."""
        name = shown(source)
        stated = None if self.relations is None else self.relations.choice(name, axis)
        mark = marks_of(value).get(axis) if isinstance(value, torch.Tensor) else None
        if mark is not None and stated is not None and mark.choice.kind != stated.kind:
            what = f"{name}: {mark.text}, but a relation is stated for size({axis})"
            raise ViolatedConstraint(refusal(what, "the mark or the relation", mark.place))
        if stated is not None:
            return stated
        if mark is not None:
            return mark.choice
        if isinstance(value, torch.Tensor) and axis in SURVIVING.get(value, ()):
            return DYNAMIC
        size = value.shape[axis] if isinstance(value, torch.Tensor) else value
        if self._function is None or not isinstance(size, int):
            return None
        choice: object = self._function(name, axis, size)
        if not (choice is None or isinstance(choice, Choice | int) or is_truth(choice)):
            what = f"dynamic= gave {in_short(choice)} for {name}: expected True, False or a Choice"
            raise ViolatedConstraint(refusal(what, "a function of name, axis and size that gives one of these", None))
        return choice if isinstance(choice, Choice) else DYNAMIC if choice else STATIC

    def check(self, given: Mapping[str, object]) -> None:
        """Check the sizes of a call, whose arguments are given by name, against the relations.

        Raises:
            ConstraintViolation: a size violates one.
        """
        if self.relations is not None:
            tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
            self.relations.check({name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin())
