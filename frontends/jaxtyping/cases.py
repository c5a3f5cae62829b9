"""The calls that a proof looks at: one alternative of each union, one tree of each `PyTree`, a number of arguments.

    >>> from frontends.jaxtyping.cases import cases_of
    >>> from frontends.jaxtyping.signature import signature_of
    >>> def masked(x: "Float[Array, 'n']", mask: "Optional[Bool[Array, 'n']]" = None) -> "Float[Array, 'n']": ...
    >>> [label for label, _ in cases_of(signature_of(masked), {}, {})]
    ["mask of 'n'", 'mask=None']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from typing import Final

from frontends.jaxtyping.signature import Annotation, Repeated, Signature, Tree, Union
from frontends.jaxtyping.trees import mapped
from shapes.accepted import shown
from shapes.errors import ShapeError

COUNTS: Final = (0, 1, 2)
"""The numbers of arguments that `*args` is tried with."""
MOST_COMBINATIONS: Final = 27

Case = Mapping[str, object]
"""The annotation of each argument; None; or a list or a tree of annotations."""


def cases_of(
    signature: Signature, trees: Mapping[str, object], counts: Mapping[str, int]
) -> Iterator[tuple[str, Case]]:
    """The combinations of alternatives, trees and numbers of arguments, each with its label.

    Raises:
        ShapeError: a tree is missing, there are too many combinations, or an argument is none of the function.
    """
    choices: dict[str, list[tuple[str, object]]] = {}
    for name, annotation in signature.arguments.items():
        match annotation:
            case Annotation():
                choices[name] = [("", annotation)]
            case Union(options, optional):
                choices[name] = [(f"{name} of '{each.text}'", each) for each in options]
                choices[name] += [(f"{name}=None", None)] * optional
            case Repeated(repeated):
                tried = (counts[name],) if name in counts else COUNTS
                choices[name] = [(f"{count} of *{name}", [repeated] * count) for count in tried]
            case Tree(leaf):
                if name not in trees:
                    raise ShapeError(
                        f"{name} is a tree; give its containers as `trees={{{name!r}: ...}}`, with `...` for each array"
                    )
                containers = repr(trees[name]).replace("Ellipsis", "...")
                choices[name] = [(f"{name}={containers}", mapped(trees[name], partial(_constant, leaf)))]
    for label, kind, given in (("trees", Tree, trees), ("counts", Repeated, counts)):
        for name in given:
            if not isinstance(signature.arguments.get(name), kind):
                raise ShapeError(f"{label}={shown(dict(given))}: {signature.name} has no such argument {name}")
    combinations = list(product(*choices.values()))
    if len(combinations) > MOST_COMBINATIONS:
        raise ShapeError(f"{len(combinations)} combinations of alternatives: give numbers of arguments as `counts=`")
    for combination in combinations:
        label = ", ".join([label for label, _ in combination if label])
        yield label, dict(zip(choices, [chosen for _, chosen in combination]))


def _constant(value: object, leaf: object) -> object:
    return value


__all__ = ["MOST_COMBINATIONS", "Case", "cases_of"]
