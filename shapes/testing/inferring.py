"""Synthesis of a rule from an operator, refined by counterexamples (CEGIS).

    >>> from shapes.testing import Call, infer_rule
    >>> def pairs(call: Call):
    ...     (x,) = call.args
    ...     return ((x[0] // 2, 2),) if len(x) == 1 and x[0] % 2 == 0 else None
    >>> guessed = infer_rule(pairs)
    >>> print(guessed.__doc__)
    def pairs(env, x):
        if len(x) == 1:
            env.require(x[0] % 2 == 0, "expected x[0] % 2 == 0")
            return (x[0] // 2, 2)
        raise ShapeError("pairs takes no such arguments")
    <BLANKLINE>
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> guessed(env, env.sizes("s"))
    Shape(s//2, 2)

The operator is called with many arguments. Those with the same ranks and the same axes and modes are one case; in each
the sizes of the outputs are fitted (`formulas`), and the refusals explained by comparisons that every accepted call
satisfies. `check_rule` then looks for a call where the guess is wrong; it becomes a sample, and the next guess follows.
"""

from __future__ import annotations

import inspect
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.registry import Rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import sym_ite, sym_max, sym_min, sym_or
from shapes.testing.agreement import Disagreement, Sizes
from shapes.testing.calls import Call, Input
from shapes.testing.checking import RuleDisagrees, check_rule
from shapes.testing.formulas import evaluated, fitted
from shapes.testing.references.functions import Function, Tensors, reference_of, takes_calls
from shapes.testing.signatures import DIM, calls_for

SAMPLES: Final = 1500
ROUNDS: Final = 40
MORE: Final = 60
MOST: Final = 7
INDENT: Final = "    "

Key = tuple[tuple[str, str], ...]


class NotInferred(ShapeError):
    """No rule was found; `disagreement` is the call at which the last guess fails, if there was a guess."""

    def __init__(self, message: str, disagreement: Disagreement | None = None) -> None:
        self.disagreement = disagreement
        super().__init__(message)


@dataclass
class Samples:
    """The calls of one case: numbers by name, and the sizes that came out."""

    condition: str
    accepted: list[tuple[dict[str, int], Sizes]] = field(default_factory=list)
    refused: list[dict[str, int]] = field(default_factory=list)


def infer_rule(  # type: ignore[explicit-any]
    operator: Callable[..., object],
    samples: int | Iterable[Call] = SAMPLES,
    /,
    *,
    name: str | None = None,
    tensors: Tensors | None = None,
    examples: int = 300,
    **arguments: st.SearchStrategy[object],
) -> Rule:
    """A rule for an operator; its docstring is its text.

    Args:
        operator: a function of arrays, or from a `Call` to sizes, as for `check_rule`.
        samples: calls to learn from, or how many to generate.
        name: the rule's name, by default the operator's.
        examples: how many calls the rule is attacked with.
        arguments: strategies for single parameters.

    Raises:
        NotInferred: with the case, or the smallest call, for which no rule was found.
    """
    reference = reference_of(operator, tensors)
    title = name or str(getattr(operator, "__name__", "operator"))
    stub = _stub(title, operator, reference, arguments)
    calls = calls_for(stub, arguments)
    known: list[tuple[Call, Sizes | None]] = []
    for call in _drawn(calls, samples) if isinstance(samples, int) else samples:
        known.append((call, reference(call)))
    if not any(sizes is not None for _, sizes in known):
        why = reference.refusal if isinstance(reference, Function) else None
        raise NotInferred(f"{title} refused all {len(known)} samples" + (f": {why}" if why is not None else ""))
    for attempt in itertools.count():
        guess = _guessed(title, stub, known)
        try:
            check_rule(guess, reference, calls=calls, examples=examples, seed=0)
        except RuleDisagrees as wrong:
            found = wrong.disagreement
            if attempt == ROUNDS or (found.call, found.expected) in known:
                raise NotInferred(f"no rule was found; the last guess fails: {found}", found) from None
            known.append((found.call, found.expected))
            known += [(call, reference(call)) for call in _like(found.call, attempt)]
        else:
            return guess
    raise AssertionError


# ---------------------------------------------------------------------- samples


def _stub(  # type: ignore[explicit-any]
    title: str,
    operator: Callable[..., object],
    reference: Callable[[Call], Sizes | None],
    arguments: Mapping[str, object],
) -> Rule:
    """A rule with the operator's parameters, which gives what the operator gives."""

    def runs(env: ShapeEnv, *args: object, **kwargs: object) -> Shape | tuple[Shape | None, ...]:
        given = [Input(value) if isinstance(value, Shape) else value for value in (*args, *kwargs.values())]
        sizes = reference(Call(tuple(given)))
        refusal = reference.refusal if isinstance(reference, Function) else None
        if sizes is None:
            raise refusal if isinstance(refusal, TypeError | AttributeError) else ShapeError("refused")
        return tuple([None if one is None else Shape(one) for one in sizes])

    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        parameters = list(inspect.signature(operator).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if takes_calls(operator) or not parameters:
        parameters = [inspect.Parameter(each, positional) for each in arguments or ("x",)]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [
        each.replace(kind=positional, annotation=inspect.Parameter.empty)
        for each in parameters
        if each.kind not in variadic and _is_plain(each.default)
    ]
    runs.__signature__ = inspect.Signature([inspect.Parameter("env", positional), *parameters])  # type: ignore[attr-defined]
    return Rule(title, runs)


def _like(call: Call, seed: int) -> Iterator[Call]:
    """Calls of the same case: with equal sizes still equal, with one of them changed, or with any."""
    rng = random.Random(seed)
    for attempt in range(MORE):
        renamed = [rng.randrange(MOST) for _ in range(MOST)]
        changed = rng.randrange(max(1, sum([len(tensor) for tensor in call.inputs()])))
        places = itertools.count()

        def like(tensor: Input, renamed: list[int] = renamed, changed: int = changed, attempt: int = attempt) -> Input:
            sizes = [
                rng.randrange(MOST)
                if attempt % 3 == 2 or (next(places) == changed and attempt % 3)  # noqa: B023
                else renamed[int(size) % MOST]
                for size in tensor
            ]
            return Input(sizes, dtype=tensor.dtype, low=tensor.low, high=tensor.high)

        args, kwargs = call.replaced(like)
        yield Call(args, kwargs)


def _is_plain(default: object) -> bool:
    """Return True if a default can be written down; a parameter with another one is omitted."""
    plain = default is inspect.Parameter.empty or default is None or isinstance(default, bool | int | float | str)
    return plain or (isinstance(default, tuple) and all(_is_plain(each) for each in default))


def _drawn(calls: st.SearchStrategy[Call], count: int) -> list[Call]:
    """A number of generated calls."""
    found: list[Call] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(calls)
    def keep(call: Call) -> None:
        found.append(call)

    keep()
    return found


def _numbers(stub: Rule, call: Call) -> tuple[Key, dict[str, int]]:
    """The case that a call belongs to, as conditions by parameter, and its numbers by name."""
    key: list[tuple[str, str]] = []
    numbers: dict[str, int] = {}
    for name, value in (*zip(stub.names, call.args), *call.kwargs.items()):
        match value:
            case Input():
                key.append((name, f"len({name}) == {len(value)}"))
                numbers.update({f"{name}[{i}]": size for i, size in enumerate(value) if isinstance(size, int)})
            case list() if value and all(isinstance(each, Input) for each in value):
                key.append((name, f"[len(each) for each in {name}] == {[len(each) for each in value]}"))
                for k, each in enumerate(value):
                    numbers.update({f"{name}[{k}][{i}]": size for i, size in enumerate(each)})
            case tuple() | list() if value and all(type(each) is int for each in value):
                key.append((name, f"len({name}) == {len(value)}"))
                numbers.update({f"{name}[{i}]": each for i, each in enumerate(value)})
            case int() if type(value) is int and not DIM.search(name):
                numbers[name] = value
            case None:
                key.append((name, f"{name} is None"))
            case _:
                key.append((name, f"{name} == {value!r}"))
    return tuple(key), numbers


# ---------------------------------------------------------------------- guessing


def _guessed(title: str, stub: Rule, known: Sequence[tuple[Call, Sizes | None]]) -> Rule:
    """The plainest rule that does what the operator did."""
    cases: dict[Key, Samples] = {}
    for call, sizes in known:
        key, numbers = _numbers(stub, call)
        case = cases.setdefault(key, Samples(" and ".join([text for _, text in key]) or "True"))
        if sizes is None:
            case.refused.append(numbers)
        else:
            case.accepted.append((numbers, sizes))
    name = re.sub(r"\W", "_", title)
    name = name if name.isidentifier() and not name.startswith("_") else "operator"
    lines = [f"def {name}{stub.signature}:"]
    for key in sorted(cases):
        case = cases[key]
        if case.accepted:
            lines.append(f"{INDENT}if {case.condition}:")
            lines += [2 * INDENT + line for line in _body(title, case)]
    lines.append(f'{INDENT}raise ShapeError("{title} takes no such arguments")')
    source = "\n".join(lines) + "\n"
    scope: dict[str, object] = {
        "ShapeError": ShapeError, "sym_ite": sym_ite, "sym_max": sym_max, "sym_min": sym_min, "sym_or": sym_or,
    }  # fmt: skip
    exec(compile(source, f"<inferred {title}>", "exec"), scope)
    function = scope[name]
    assert callable(function)
    function.__doc__ = source
    return Rule(title, function)


def _body(title: str, case: Samples) -> Iterator[str]:
    """The text of the rule in one case."""
    rows = [numbers for numbers, _ in case.accepted]
    formulas = list(_outputs(title, case, rows))
    needed: dict[str, list[dict[str, int]]] = {}
    kept = list(case.refused)
    for condition in _conditions(rows, formulas) if kept else ():
        rejected = [row for row in kept if not evaluated(condition, row)]
        if rejected and all(evaluated(condition, row) for row in rows):
            kept = [row for row in kept if row not in rejected]
            needed[condition] = [row for row in case.refused if not evaluated(condition, row)]
        if not kept:
            break
    if kept:
        raise NotInferred(f"{title}, where {case.condition}: no condition was found that refuses {kept[0]}")
    for condition in list(needed):
        others = [row for other, rejected in needed.items() if other != condition for row in rejected]
        if all(row in others for row in needed[condition]):
            del needed[condition]
    for condition in needed:
        yield f'env.require({condition}, "expected {condition}")'
    shapes = [f"({', '.join(one)}{',' if len(one) == 1 else ''})" if one is not None else "None" for one in formulas]
    joined = shapes[0] if len(shapes) == 1 and formulas[0] is not None else f"({', '.join(shapes)},)"
    yield f"return {joined}"


def _outputs(title: str, case: Samples, rows: Sequence[dict[str, int]]) -> Iterator[list[str] | None]:
    """A formula for every axis of every output."""
    first = case.accepted[0][1]
    where = f"{title}, where {case.condition}"
    for numbers, sizes in case.accepted:
        if [one and len(one) for one in sizes] != [one and len(one) for one in first]:
            raise NotInferred(f"{where}: the number of axes differs at {numbers}")
    for place, one in enumerate(first):
        if one is None:
            yield None
            continue
        axes = []
        for axis in range(len(one)):
            values = [sizes[place][axis] for _, sizes in case.accepted if sizes[place] is not None]  # type: ignore[index]
            formula = fitted(rows, values) if rows[0] else (str(values[0]) if len(set(values)) == 1 else None)
            if formula is None:
                shown = ", ".join([f"{values[i]} at {rows[i]}" for i in range(min(3, len(rows)))])
                raise NotInferred(f"{where}: no formula for axis {axis} of output {place}: {shown}")
            axes.append(formula)
        yield axes


def _conditions(rows: Sequence[dict[str, int]], formulas: Sequence[list[str] | None]) -> Iterator[str]:
    """Comparisons that may be what an operator needs, the plainest first."""
    names = sorted(rows[0])
    for a, b in itertools.combinations(names, 2):
        yield f"{a} == {b}"
    for name in names:
        yield from (f"{name} >= {least}" for least in (0, 1, 2))
    for a, b in itertools.permutations(names, 2):
        yield f"{a} <= {b}"
        yield f"{a} < {b}"
    for axes in formulas:
        for formula in axes or ():
            yield f"{formula} >= 0"
            yield f"{formula} >= 1"
            top = re.match(r"^\(?(.*?)\)? // ", formula)
            if top is not None:
                yield f"{top[1]} >= 0"
    for a, b in itertools.combinations(names, 2):
        yield f"sym_or({a} == {b}, {a} == 1, {b} == 1)"
    for name in names:
        yield from (f"{name} % {k} == 0" for k in (2, 3, 4, 5, 6, 7, 8))
        yield from (f"{name} == {k}" for k in range(7))
    for a, b in itertools.permutations(names, 2):
        yield f"sym_or({a} == {b}, {a} == 1)"
        yield f"{a} % {b} == 0"
        yield f"{a} <= 2*{b}"
        yield f"2*{a} <= {b}"
