"""What symbolic integers, truth values and floats have in common: an environment, a domain, and what kind they are.

    >>> from shapes import ShapeEnv
    >>> s = ShapeEnv(origin=lambda: None).symbol("s")
    >>> s.kind, (s > 8).kind, (s * 0.5).kind
    ('int', 'bool', 'float')
    >>> import copy
    >>> copy.deepcopy(s) is s
    True
"""

from __future__ import annotations

from typing import ClassVar, Literal, NoReturn, Self

from shapes.symbolic.operations import Environment, Operations, line
from solver.terms.prop import Prop

Kind = Literal["int", "bool", "float"]


class Symbolic:
    """A number over sizes. `domain` says where Python would evaluate it without an error."""

    __slots__ = ("domain", "env", "operations")

    kind: ClassVar[Kind]
    """The type of Python that it stands for."""

    env: Environment
    domain: Prop
    operations: Operations

    def __repr__(self) -> str:
        return str(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def unpicklable(value: Symbolic) -> NoReturn:
    raise TypeError(f"cannot pickle `{value}`: it belongs to an environment; save that with `env.save`{line()}")
