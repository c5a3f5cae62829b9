"""Differential testing of one call: do a rule and the operator agree?

    >>> from shapes.rules import rules
    >>> from shapes.testing.agreement import disagreement
    >>> from shapes.testing.calls import Call, Input
    >>> call = Call((Input((2, 3, 8, 8)), Input((4, 3, 3, 3))))
    >>> disagreement(rules["conv2d"], call, expected=((2, 4, 6, 6),)) is None
    True
    >>> print(disagreement(rules["conv2d"], call, expected=None))
    conv2d(Input((2, 3, 8, 8)), Input((4, 3, 3, 3))): the operator refuses, the rule on these sizes ((2, 4, 6, 6),)

The rule runs on the sizes themselves, on a symbol for each size, and once more with numbers for some of them and
symbols of which something is known; what it gave and required is then evaluated. Each time it has to refuse what the
operator refuses and give the sizes that it gives. Where the number of axes or of outputs depends on a size, the symbols
have the sizes as hints. A size known only at run time (of `nonzero`, say) is taken from the operator, or looked for
where it stands in no output by itself, and all that the rule says of it has to hold there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.events import Assumed, Declared, Deferred, Guarded, Specialized
from shapes.errors import ShapeError, UndecidedGuard
from shapes.rules.registry import Output, Rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymInt
from shapes.testing.calls import Call, Input
from solver.proofs.fact import Fact
from solver.terms.expr import Atom

Sizes = tuple[tuple[int, ...] | None, ...]

INTEGERS: Final = re.compile(r"\b(Int|Ints|Sizes)\b")
"""The annotations of arguments that may be an integer, or several."""
TRIED: Final = (1, 65, 13, 5)
"""The number of values tried for each symbol that no output shows, by the number of such symbols."""


@dataclass(frozen=True)
class Disagreement:
    """A call on which a rule and an operator differ. None stands for a refusal."""

    rule: Rule
    call: Call
    expected: Sizes | None
    found: Sizes | None
    mode: str
    detail: str = ""
    crash: Exception | None = None

    def __str__(self) -> str:
        def text_of(sizes: Sizes | None) -> str:
            return "refuses" if sizes is None else f"gives {sizes}"

        found = "refuses" if self.found is None else str(self.found)
        if self.crash is not None:
            found = f"fails with {type(self.crash).__name__}: {self.crash}"
        detail = f" ({self.detail})" if self.detail else ""
        expected = text_of(self.expected)
        return f"{self.rule.name}{self.call}: the operator {expected}, the rule {self.mode} {found}{detail}"


def disagreement(
    rule: Rule,
    call: Call,
    expected: Sizes | None,
    *,
    refusals: tuple[type[Exception], ...] = (),
    numbers: bool = False,
) -> Disagreement | None:
    """The difference between a rule and the operator; `expected` are the sizes of its outputs, None for a refusal.

    An exception that is no `ShapeError` is a failure of the rule, but for `refusals` where the operator refuses too.
    With `numbers`, arguments that are annotated as `Int` are made symbols once, too.
    """
    for mode, range_of, of_numbers in (*MODES, NUMBERS) if numbers else MODES:
        try:
            found, detail = _symbolically(rule, call, expected, range_of, numbers=of_numbers)
        except Exception as crash:
            if expected is None and isinstance(crash, refusals):
                continue
            return Disagreement(rule, call, expected, None, mode, crash=crash)
        if found != expected:
            return Disagreement(rule, call, expected, found, mode, detail)
    return None


def on_symbols(rule: Rule, call: Call) -> Sizes | None:
    """The sizes that a rule gives when every size of a call is a symbol."""
    return _symbolically(rule, call, None, anything)[0]


def itself(place: int, size: int, start: int) -> tuple[int, int | None]:
    return size, size


def anything(place: int, size: int, start: int) -> tuple[int, int | None]:
    return 0, None


def something(place: int, size: int, start: int) -> tuple[int, int | None]:
    """The range of each size in turn: its value, a lower bound, both bounds, or any."""
    return ((size, size), (min(size, 2), None), (min(size, 1), max(size, 1)), (0, None))[(start + place) % 4]


MODES: Final = (
    ("on these sizes", itself, False),
    ("on symbols", anything, False),
    ("on symbols of which something is known", something, False),
)
"""The modes in which a rule is run: the range of the symbol for each size, and whether numbers that it takes as `Int`
are symbols as well. A size whose range is itself stays a number.
"""
NUMBERS: Final = ("on symbols for numbers, too,", anything, True)


def _symbolically(
    rule: Rule,
    call: Call,
    expected: Sizes | None,
    range_of: Callable[[int, int, int], tuple[int, int | None]],
    *,
    hinted: bool = False,
    numbers: bool = False,
) -> tuple[Sizes | None, str]:
    """The result of the rule for symbols with these ranges, evaluated at the sizes; of `numbers`, if there are any."""
    taken = {name for name, each in rule.signature.parameters.items() if INTEGERS.search(str(each.annotation))}
    given = (*zip(rule.names, call.args), *call.kwargs.items())
    if numbers and not any(_has_number(value) and name in taken for name, value in given):
        return expected, ""
    env = ShapeEnv(origin=lambda: None)
    values: dict[Atom, int] = {}
    places = itertools.count()
    start = sum([int(size) + 1 for tensor in call.inputs() for size in tensor])

    def symbolic(tensor: Input) -> Input:
        sizes: list[Int] = []
        for size in tensor:
            assert isinstance(size, int)
            place = next(places)
            lo, hi = range_of(place, size, start)
            if lo == hi:
                sizes.append(size)
                continue
            symbol = env.symbol(f"s{place}", lo=lo, hi=hi, hint=size if hinted else None)
            values[symbol.expr.atom] = size
            sizes.append(symbol)
        return Input(
            sizes, dtype=tensor.dtype, strides=tensor.strides, storage_offset=tensor.storage_offset,
            low=tensor.low, high=tensor.high, values=tensor.values,
        )  # fmt: skip

    def number(name: str, value: object) -> object:
        if type(value) in (list, tuple) and name in taken:
            assert isinstance(value, list | tuple)
            # a size of -1 stands for another one, which is known where the call is written
            return type(value)([one if one == -1 else number(name, one) for one in value])
        if type(value) is not int or name not in taken:
            return value
        symbol = env.symbol(f"n{len(values)}", lo=None, hint=value if hinted else None)
        values[symbol.expr.atom] = value
        return symbol

    args, kwargs = call.replaced(symbolic)
    if numbers:
        # what is more than there are names belongs to the last one
        names = (*rule.names, *rule.names[-1:] * len(args))
        args = tuple([number(name, value) for name, value in zip(names, args)])
        kwargs = {name: number(name, value) for name, value in kwargs.items()}
    try:
        outputs = rule(env, *args, **kwargs)
    except UndecidedGuard as undecided:
        if hinted:
            return None, str(undecided)
        return _symbolically(rule, call, expected, range_of, hinted=True, numbers=numbers)
    except ShapeError as refusal:
        return None, str(refusal.__cause__ or refusal)
    return evaluated(env, outputs, values, expected)


def evaluated(
    env: ShapeEnv, outputs: Output, values: dict[Atom, int], expected: Sizes | None
) -> tuple[Sizes | None, str]:
    """The outputs at concrete sizes; None where a fact that the rule added is false there."""
    found = tuple(flattened(outputs))
    _bind_unbacked(found, values, expected)
    first: tuple[Sizes | None, str] | None = None
    for complete in _assignments(env, values):
        broken = next(
            (f for f in recorded_facts(env) if not f.domain.evaluate(complete) or not f.prop.evaluate(complete)), None
        )
        if broken is None:
            sizes = tuple([None if one is None else tuple([_at(size, complete) for size in one]) for one in found])
            if sizes == expected:
                return sizes, ""
            if first is None or first[0] is None:
                first = sizes, ""
        elif first is None:
            first = None, f"it requires {broken.text}"
    assert first is not None
    return first


def _has_number(value: object) -> bool:
    return type(value) is int or isinstance(value, list | tuple) and any(type(one) is int for one in value)


def _assignments(env: ShapeEnv, values: dict[Atom, int]) -> Iterator[dict[Atom, int]]:
    """The values with all small ones for the unbacked symbols that no output shows."""
    free = [atom for atom, declared in env.symbols.items() if declared.kind == "unbacked" and atom not in values]
    for guess in itertools.product(range(TRIED[min(len(free), len(TRIED) - 1)]), repeat=len(free)):
        yield {**values, **dict(zip(free, guess))}


def recorded_facts(env: ShapeEnv) -> Iterator[Fact]:
    """Every fact of an environment, in order."""
    for commitment in env.events:
        if isinstance(commitment, Declared | Assumed | Guarded | Deferred | Specialized):
            yield commitment.fact


def _bind_unbacked(found: tuple[Shape | None, ...], values: dict[Atom, int], expected: Sizes | None) -> None:
    """Values of the unbacked symbols, from the operator's results."""
    for one, sizes in zip(found, expected or ()):
        for size, actual in zip(one or (), sizes or ()):
            if isinstance(size, SymInt) and _is_symbol(size):
                values.setdefault(size.expr.atom, actual)


def _is_symbol(size: Int) -> bool:
    if not isinstance(size, SymInt):
        return False
    try:
        return size.expr.atom.kind == "symbol"
    except ValueError:
        return False


def _at(size: Int, values: dict[Atom, int]) -> int:
    return size if isinstance(size, int) else size.expr.evaluate(values)


def flattened(outputs: Output) -> Iterator[Shape | None]:
    """The single shapes of an output, in order."""
    if outputs is None or isinstance(outputs, Shape):
        yield outputs
    else:
        for one in outputs:
            yield from flattened(one)
