"""The first calls of a rule: every rank, sizes equal and different, each argument left out, at its ends and negative.

    >>> from itertools import islice
    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.directed.beginnings import beginnings
    >>> def window(env, x, size, step=1):
    ...     env.require(size <= x[-1], "window is longer than the axis")
    ...     return (*x[:-1], (x[-1] - size) // step + 1, size)
    >>> for call in islice(beginnings(Rule("window", window), omitted=frozenset({"step"})), 6):
    ...     print(call)
    (Input((5, 4)), 2, 1)
    (Input((5, 4)), 2)
    (Input((5, 4)), 3, 1)
    (Input((5, 4)), 0, 1)
    (Input((5, 4)), 1, 1)
    (Input((5, 4)), 4, 1)
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shapes.rules.registry import Rule
from shapes.testing.calls import Call, Input
from shapes.testing.signatures import Kind, allows_negative, choices_of, kinds_of, parameters_of

SIZES: Final = (7, 6, 3, 5, 4)
"""Sizes by axis, counted from the left of the highest rank; no two are equal."""
RANKS: Final = (2, 1, 3, 0, 4, 5)
DTYPES: Final = ("float64", "float16", "int64", "int32", "bool", "complex64", "uint8")
OMITTED: Final = object()


def beginnings(rule: Rule, *, omitted: frozenset[str] = frozenset(), dtypes: bool = False) -> Iterator[Call]:
    """The first calls; `omitted` are the parameters that may be left out, `dtypes` varies the types of elements."""
    kinds = kinds_of(rule)
    parameters = parameters_of(rule)
    tensors = [name for name, kind in kinds.items() if kind in ("shape", "shapes")]
    for place, shapes in enumerate(_related(len(tensors))):
        given: dict[str, object] = {}
        for name, shape in zip(tensors, shapes):
            given[name] = [shape, shape] if kinds[name] == "shapes" else shape
        for name, parameter in parameters.items():
            if name not in given:
                given[name] = next(iter(_values(kinds[name], parameter, shapes)))
        yield _call(parameters, given)
        full = place < len(RANKS) or not tensors
        for name in parameters:
            if name in omitted and full:
                yield _call(parameters, _without(parameters, given, name))
        dims = [name for name, kind in kinds.items() if kind == "dim"]
        if len(dims) > 1 and place < 3 and shapes and len(shapes[0]) > 1:
            for pair in itertools.product(range(-2, 2), repeat=2):
                yield _call(parameters, {**given, **dict(zip(dims, pair))})
        for name, parameter in parameters.items():
            if kinds[name] == "shapes" and full:
                yield from [_call(parameters, {**given, name: each}) for each in _lists(shapes[0])]
            elif name not in tensors and full:
                values = list(_values(kinds[name], parameter, shapes))[1:]
                for value in values if place < 2 or kinds[name] == "dim" else values[:2]:
                    yield _call(parameters, {**given, name: value})
            elif full and place < 2 and (parameter.default is None):
                yield _call(parameters, {**given, name: None})
        if dtypes and place < 2:
            for dtype in DTYPES:
                yield _call(parameters, {**given, **{name: _typed(given[name], dtype) for name in tensors}})


def _related(count: int) -> Iterator[tuple[Input, ...]]:
    """Shapes of `count` tensors: of one rank, then what broadcasts, multiplies or differs, then of all ranks."""
    if not count:
        yield ()
        return
    for rank in RANKS:
        yield (_shape(rank),) * count
    if count > 1:
        for rank in (1, 2, 3, 4):
            whole = _shape(rank)
            yield (Input([0] * rank), *[Input([1] * rank)] * (count - 1))
            turned = Input([*whole[:-2], *reversed(whole[-2:])])
            yield (whole, *[turned] * (count - 1))
            yield (whole, *[Input([1, *whole[1:]])] * (count - 1))
            yield (whole, *[Input(whole[1:])] * (count - 1))
            yield (Input([*whole[:-1], 1]), *[whole] * (count - 1))
            yield (whole, *[Input(whole[-1:])] * (count - 1))
        for first, second in itertools.product(sorted(RANKS), repeat=2):
            if first != second:
                yield (_shape(first), *[_shape(second)] * (count - 1))
                if count > 2:
                    yield (*[_shape(first)] * (count - 1), _shape(second))
    for rank in RANKS[:-1]:
        yield (Input([4] * rank),) * count
        yield (Input([1] * rank),) * count


def _shape(rank: int) -> Input:
    return Input(SIZES[len(SIZES) - rank :])


def _lists(shape: Input) -> Iterator[list[Input]]:
    yield [shape]
    yield [shape, shape, shape]
    yield [shape, Input([*shape[:-1], *[9] * bool(shape)])]
    yield [shape, Input([*[9] * bool(shape), *shape[1:]])]
    yield [shape, Input((*shape, 2))]


def _values(kind: Kind, parameter: inspect.Parameter, shapes: Sequence[Input]) -> Iterator[object]:
    """Values of one parameter that is no tensor, the plainest first."""
    default: object = parameter.default
    has_default = default is not inspect.Parameter.empty
    if has_default:
        yield default
    rank = len(shapes[0]) if shapes else 2
    match kind:
        case "dim":
            yield from [dim for dim in (-1, 0, rank - 1, -rank, 1, rank, -rank - 1, -2) if dim != default]
        case "int":
            least = 1 if isinstance(default, int) and default > 0 else 0
            around = (2, 3, least, 1, 4, 5, 6, 7, 8, 16)
            yield from [n for n in dict.fromkeys(around) if n >= least and n != default]
            if allows_negative(parameter):
                yield from (-1, -2, -7)
        case "ints":
            count = len(default) if isinstance(default, tuple | list) else rank or 1
            for n in (1, 2, 0, 3):
                yield (n,) * count
            yield tuple(range(count))
            yield tuple(reversed(range(count)))
            yield tuple(range(1, count + 1))
            yield (1,) * (count + 1)
            if allows_negative(parameter):
                yield (-1,) * count
                yield (*[1] * (count - 1), -1)
        case "bool":
            yield from [flag for flag in (False, True) if flag is not default]
        case "float":
            yield from [value for value in (1.0, 0.0, 0.5, 2.0) if value != default]
        case _:
            choices = choices_of(parameter)
            yield from [choice for choice in choices if choice != default]
            if not has_default and not choices:
                yield None


def _typed(value: object, dtype: str) -> object:
    if isinstance(value, Input):
        return Input(value, dtype=dtype)
    return [_typed(one, dtype) for one in value] if isinstance(value, list) else value


def _without(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, object], name: str) -> dict[str, object]:
    """The arguments without one, and without those that come after it by place."""
    names = list(parameters)
    last = names.index(name)
    by_place = [each for each in names[last:] if parameters[each].kind is not inspect.Parameter.KEYWORD_ONLY]
    left_out = {name} if parameters[name].kind is inspect.Parameter.KEYWORD_ONLY else set(by_place)
    return {**given, **dict.fromkeys(left_out, OMITTED)}


def _call(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, object]) -> Call:
    args: list[object] = []
    kwargs: dict[str, object] = {}
    for name, parameter in parameters.items():
        if given[name] is OMITTED:
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            kwargs[name] = given[name]
        else:
            args.append(given[name])
    return Call(tuple(args), kwargs)
