"""Aliasing of outputs for autograd: views of inputs, of each other, or fresh.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: (x[0], x[0].detach(), x * 2))
    >>> x = torch.ones(3, 2, requires_grad=True)
    >>> first, detached, made = f(x)
    >>> first._base is x, detached._base, made._base
    (True, None, None)
    >>> detached.requires_grad
    False

A graph returns memory. The trace has recorded which outputs are views, of which base and with which gradient, and here
these relations are restored. So a caller's write to an output is a write to its base for autograd too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.symbolic.tensor import Result, Traced

if TYPE_CHECKING:
    from frontends.pytorch.recording.operations import Operation

Run = Callable[[Sequence[Any]], Sequence[Any]]
Of: TypeAlias = Literal["input", "output", "base", "hidden"]
PLAIN_VIEW: Final = torch._C._autograd.CreationMeta.DEFAULT
WITHOUT_GRADIENT: Final = torch._C._autograd.CreationMeta.NO_GRAD_MODE
CUSTOM: Final = torch._C._autograd.CreationMeta.IN_CUSTOM_FUNCTION
SEVERAL: Final = torch._C._autograd.CreationMeta.MULTI_OUTPUT_NODE
_creation: Final = torch._C._autograd._get_creation_meta
_set_creation: Final = torch._C._autograd._set_creation_meta
_is_alias: Final = torch._C._is_alias_of


@dataclass(frozen=True, slots=True)
class View:
    """An output that is a view.

    Attributes:
        of: its base: the input, the output or the base at this index, or a tensor that nobody else has.
        creation: autograd's creation metadata, if it forbids writes.
        is_detached: True if it was created without gradients.
    """

    of: Of
    place: int
    creation: object = None
    is_detached: bool = False

    def made(self, value: Any, tensors: Sequence[Any], values: Sequence[Any], count: int) -> Any:
        """The view, from the graph's tensor in its memory."""
        if self.of == "hidden":
            view = value if value._is_view() else value.view_as(value)
        else:
            base = self._base(tensors, values, count)
            if not _is_alias(value, base):
                # a copy of eager torch's lazy view
                return value
            with torch.no_grad() if self.is_detached else nullcontext():
                view = base.as_strided(value.size(), value.stride(), value.storage_offset())
        if self.creation is not None and not view.is_inference():
            _set_creation(view, self.creation)
        return view

    def _base(self, tensors: Sequence[Any], values: Sequence[Any], count: int) -> Any:
        return tensors[self.place] if self.of == "input" else values[self.place + count * (self.of == "base")]


@dataclass(frozen=True, slots=True)
class Outputs:
    """The aliasing of a trace's outputs.

    Attributes:
        how: for each output `None` (the graph's tensor); the index of an earlier output that is the same object;
            "apart", a separate tensor in shared memory; or a view.
    """

    how: tuple[View | int | Literal["apart"] | None, ...]

    def with_gradient(self, values: Sequence[object]) -> list[object]:
        """The values whose tangents the backward takes; the others are arguments, or pass theirs on."""
        return [
            value
            for value, how in zip(values, self.how)
            if not (isinstance(value, Traced) and value.is_given)
            and not (isinstance(how, View) and how.of != "hidden")
        ]

    def around(self, run: Run) -> Run:
        """Wrap a call of the graph, whose last results are the bases, to restore the outputs' relations."""
        steps = [(place, how) for place, how in enumerate(self.how) if how is not None]
        if all(isinstance(how, int) for _, how in steps):
            return run
        count = len(self.how)

        def call(tensors: Sequence[Any]) -> Sequence[Any]:
            values = list(run(tensors))
            for place, how in steps:
                if type(how) is int:
                    values[place] = values[how]
                elif type(how) is View:
                    values[place] = how.made(values[place], tensors, values, count)
                else:
                    values[place] = values[place].detach()
            return values[:count]

        return call


def related(
    values: Sequence[object], given: Sequence[Traced], detached: Collection[Result], operations: Sequence[Operation]
) -> tuple[Outputs, list[Traced]]:
    """The relations of a trace's results to each other and to the arguments, and the common bases that are no results;
    `detached` are graph values that some tensor represents without gradient.

    Raises:
        Unsupported: one is a leaf of autograd's graph, which a graph cannot return.
    """
    with torch._C.DisableTorchFunction():
        for value in values:
            if isinstance(value, Traced) and not value.is_given:
                check(value, operations)
        return _Relations(values, given, detached).outputs()


class _Relations:
    """Finds the bases of views among inputs and outputs."""

    def __init__(self, values: Sequence[Any], given: Sequence[Traced], detached: Collection[Result]) -> None:
        self._values = values
        self._detached = detached
        self._inputs = {id(each): place for place, each in enumerate(given)}
        self._first: dict[int, int] = {}
        for place, value in enumerate(values):
            if isinstance(value, Traced):
                self._first.setdefault(id(value), place)
        self._bases: list[Traced] = []
        self._at: dict[int, int] = {}

    def outputs(self) -> tuple[Outputs, list[Traced]]:
        views: dict[int, list[Traced]] = {}
        for place, value in enumerate(self._values):
            if isinstance(value, Traced) and id(value) not in self._inputs and self._first[id(value)] == place:
                base = value._base
                if isinstance(base, Traced) and id(base) not in self._inputs and id(base) not in self._first:
                    views.setdefault(id(base), []).append(value)
        for group in views.values():
            if len(group) > 1 and any(_creation(view) == PLAIN_VIEW and view.requires_grad for view in group):
                base = group[0]._base
                self._at[id(base)] = len(self._bases)
                self._bases.append(base)
        return Outputs(tuple([self._how(place, value) for place, value in enumerate(self._values)])), self._bases

    def _how(self, place: int, value: object) -> View | int | Literal["apart"] | None:
        if isinstance(value, torch.Tensor) and not isinstance(value, Traced):
            unsupported("the function returns a tensor that is neither an argument nor made by it", COPY, None)
        if not isinstance(value, Traced) or id(value) in self._inputs:
            return None
        if self._first[id(value)] != place:
            return self._first[id(value)]
        base = value._base
        if base is None:
            return "apart" if value.result in self._detached and not value.requires_grad else None
        if base.dtype is not value.dtype:
            if value.requires_grad and (not isinstance(base, Traced) or id(base) in self._inputs):
                what = "a view of another dtype is returned, of a tensor that has a gradient"
                unsupported(what, COPY, None)
            return None
        creation = _creation(value)
        if creation == CUSTOM:
            # its gradient belongs to the program
            return View("hidden", 0, creation)
        detached = creation == WITHOUT_GRADIENT
        creation = creation if creation == SEVERAL else None
        if not isinstance(base, Traced):
            unsupported("the function returns a view of a tensor that is not an argument", COPY, None)
        known: dict[Of, dict[int, int]] = {"input": self._inputs, "base": self._at, "output": self._first}
        for of, places in known.items():
            found = places.get(id(base))
            if found is not None:
                return View(of, found, creation, detached)
        if value.requires_grad and value.is_leaf:
            what = "a view is returned that was made without gradients, of a tensor that has one"
            unsupported(what, "return that as well", None)
        return View("hidden", 0, creation)


def check(value: Traced, operations: Sequence[Operation]) -> None:
    """Refuse to return a tensor with autograd state of its own.

    Raises:
        Unsupported: it is a leaf that requires a gradient, a parameter, or retains its gradient.
    """
    base = value._base
    # a view created without gradients requires one if its base does
    is_own = value.requires_grad and value.is_leaf and (base is None or not base.requires_grad)
    refused = (
        (is_own, "a tensor is returned that requires a gradient and was made so by the call", MADE),
        (value.retains_grad, "a tensor is returned whose gradient is kept (retain_grad)", RETAIN),
    )
    for holds, what, fix in refused:
        if holds:
            unsupported(what, fix, next((each.origin for each in operations if value.result in each.outputs), None))


MADE: Final = "make it outside of the function"
COPY: Final = "return a copy of it, by `.clone()`"
RETAIN: Final = "call retain_grad() on what is returned"
