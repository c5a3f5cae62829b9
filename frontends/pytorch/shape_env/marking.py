"""Policies, the choices that knowledge alone does not make, for the environments of one installation; among them marks
and relations, applied as a symbol is created, on every route: Dynamo, export and make_fx.

    >>> import torch
    >>> from shapes.choices import Choice
    >>> from frontends.pytorch.shape_env import Policies, installed
    >>> marks = lambda name, value, axis: Choice("dynamic", lo=1, hi=64) if axis == 0 else Choice("static")
    >>> seen = []
    >>> def look(graph, inputs):
    ...     x = [node.meta["example_value"] for node in graph.graph.nodes if node.op == "placeholder"][-1]
    ...     seen.append(x.shape)
    ...     return graph.forward
    >>> with installed(Policies(marks=marks)):
    ...     out = torch.compile(lambda x: x * 2, backend=look)(torch.ones(1, 8))
    >>> type(seen[0][0]).__name__, seen[0][1]
    ('SymInt', 8)

`StatedSizes` are the statements about one function: marks of tensors, relations, and a function given as `dynamic`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import sympy
import torch
from torch._dynamo.source import TensorProperty, TensorPropertySource
from torch._dynamo.symbolic_convert import tls
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
)
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges
from torch.utils.weak import WeakTensorKeyDictionary

from frontends.pytorch.errors import ConstraintViolation, refusal
from frontends.pytorch.shape_env.errors import Refused
from frontends.pytorch.shape_env.translation import Symbols, shown, word
from frontends.pytorch.source_location import origin
from frontends.pytorch.variants.marks import marks_of
from frontends.pytorch.variants.policy import Setting
from shapes.accepted import is_truth
from shapes.accepted import shown as in_short
from shapes.choices import DYNAMIC, STATIC, Choice
from shapes.relations import Dim, Relations, violated
from shapes.size_names import names_in, places_of, with_places
from solver.syntax.parser import parse

if TYPE_CHECKING:
    from frontends.pytorch.shape_env.ranks import Ranks

INTEGER: Final = -1
"""The axis of an integer argument."""
KINDS: Final = {"static": DimDynamic.STATIC, "dynamic": DimDynamic.DYNAMIC, "unbacked": DimDynamic.UNBACKED}
SURVIVING: Final = WeakTensorKeyDictionary()
"""Axes of tensors whose sizes were symbols before a graph break; the next graph is captured for these tensors."""
PARAMETERS: Final = ("dynamic_dim", "constraint_dim", "positive", "do_not_specialize_zero_one", "symbolic_context")


Marks = Callable[[str, object, int], Choice | None]
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


class ViolatedConstraint(ConstraintViolation, Refused):
    """The sizes of a call violate a stated relation, or a mark's bounds."""


class Marking:
    """The marks and relations of one environment."""

    def __init__(self, policies: Policies, torchs: Callable[[], Any], symbols: Symbols) -> None:
        self.marks = policies.marks
        self.torchs = torchs
        self.symbols = symbols
        self.pending = list(policies.relations)
        self.arguments = policies.arguments
        self.numbers: dict[str, sympy.Expr] = {}
        """The sizes and integers that are known so far, by their words in relations."""
        self.reading_others = False

    def adopt(self, other: Marking) -> None:
        """Begin with the relations that wait in another environment."""
        self.pending, self.numbers = list(other.pending), dict(other.numbers)

    def choice(self, source: Any, value: object) -> Choice | None:
        """The treatment of the number at a source, if that is stated."""
        if self.marks is None:
            return None
        found = self.symbols.choices.get(source.name)
        if found is None:
            if isinstance(source, TensorPropertySource):
                if source.prop is not TensorProperty.SIZE or source.idx is None:
                    return None
                found = self.marks(source.base.name, value_at(source.base), source.idx)
            elif isinstance(value, int):
                found = self.marks(source.name, value, INTEGER)
            if found is not None:
                self.symbols.choices[source.name] = found
        return found

    def altered(self, value: Any, source: Any, named: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `create_symbol` as the mark has it.

        Raises:
            ViolatedConstraint: a size is out of its mark's bounds.
        """
        choice = self.choice(source, value)
        if choice is None:
            return named
        lo = 1 if choice.lo is None and isinstance(source, TensorPropertySource) else choice.lo
        if choice.kind != "dynamic":
            named.update(dynamic_dim=KINDS[choice.kind], constraint_dim=None)
        elif value != 0 or choice.lo == lo:
            if (lo is not None and value < lo) or (choice.hi is not None and value > choice.hi):
                stated = f"at least {lo}" + ("" if choice.hi is None else f" and at most {choice.hi}")
                raise ViolatedConstraint(f"{shown(source.name)} is {value}, but is marked to be {stated}")
            bounds = ValueRanges(-int_oo if lo is None else lo, int_oo if choice.hi is None else choice.hi)
            named["constraint_dim"] = StrictMinMaxConstraint(warn_only=False, vr=bounds)
            named.update(dynamic_dim=DimDynamic.DYNAMIC, do_not_specialize_zero_one=True)
        return named

    def context(self, sizes: Sequence[Any], source: Any, context: Any) -> Any:
        """A tensor's symbolic context as the marks have it."""
        if self.marks is None or not isinstance(context, StatelessSymbolicContext):
            return context
        dynamic, bounds = list(context.dynamic_sizes), dict(context.unbacked_bounds or {})
        constraints = list(context.constraint_sizes)
        for axis, size in enumerate(sizes):
            choice = self.choice(TensorPropertySource(source, TensorProperty.SIZE, axis), size)
            if choice is not None:
                dynamic[axis], constraints[axis] = KINDS[choice.kind], None
                if choice.kind == "unbacked":
                    bounds[axis] = choice.lo, choice.hi
        return replace(context, dynamic_sizes=dynamic, constraint_sizes=constraints, unbacked_bounds=bounds or None)

    # ------------------------------------------------------------------ relations

    def relate(self, source: Any, found: sympy.Expr) -> None:
        """Test and assume the relations whose sizes are all known now.

        Raises:
            ViolatedConstraint: one is false for the sizes of this call.
        """
        if not self.pending:
            return
        self.numbers[word(source.name)] = found
        choice = self.symbols.choices.get(source.name)
        if choice is not None and choice.word is not None:
            self.numbers[choice.word] = found
        waiting, self.pending = self.pending, []
        for text in waiting:
            if all(name in self.numbers for name in names_in(text)):
                self._assume(text)
            else:
                self.pending.append(text)
        self._read_others(source)

    def _assume(self, text: str) -> None:
        """Record a guard of torch's, or a run-time assert if a size is known only when the program runs."""
        reading, torchs = self.symbols.reading, self.torchs()
        names: dict[str, Any] = {name: reading.read(self.numbers[name])[0] for name in names_in(text)}
        question = parse(text, names, reading.interner)
        both = reading.interner.conjunction((question.domain, question.prop))
        if both is reading.interner.true:
            return
        holds = torchs.guard_or_defer_runtime_assert(self.symbols.in_torchs(both), f"`{text}` is stated")
        if not holds:
            said = violated(text, {name: self.numbers[name].xreplace(torchs.backed_var_to_val) for name in names})
            raise ViolatedConstraint(with_places(said, places_of(self.symbols.engine.symbols.values())))

    def _read_others(self, source: Any) -> None:
        """Let Dynamo read the other arguments of the relations now: it does so when they are first used, which may be
        after a question that the relation answers."""
        if self.reading_others or not self.pending:
            return
        reader = getattr(tls, "current_tx", None)
        if reader is None:
            return
        self.reading_others = True
        base = source.base if isinstance(source, TensorPropertySource) else source
        try:
            for name, variable in dict(reader.output.root_tx.symbolic_locals).items():
                if name in self.arguments and base.name != f"L[{name!r}]" and hasattr(variable, "realize"):
                    variable.realize()
        finally:
            self.reading_others = False


def value_at(source: Any) -> object:
    """The value that a source of Dynamo's has in this call; None if it is not at hand."""
    try:
        return tls.current_tx.output.resolve_source_value(source)
    except Exception:  # other routes, and sources that Dynamo makes up
        return None


class StatedSizes:
    """The statements about the sizes of one function.

    Attributes:
        relations: the stated relations; None if there are none.
        policies: equal sizes are distinct symbols, from 0; what operators ask to save work adds no guard.
    """

    def __init__(self, dynamic: Setting, ranks: Ranks | None = None) -> None:
        self.relations = Relations(dynamic, origin) if isinstance(dynamic, Mapping) else None
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
        related = None if self.relations is None else self.relations.named(name, axis)
        stated = STATIC if isinstance(related, int) else None if related is None else of_dim(related)
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
            self.relations.check({name: tuple(tensor.shape) for name, tensor in tensors.items()})


def of_dim(dim: Dim) -> Choice:
    """The treatment of a size that a relation names."""
    return Choice("dynamic", dim.lo, dim.hi, word=dim.text)
