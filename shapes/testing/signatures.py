"""Fuzzing of an operator from the signature of its rule.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.signatures import kinds_of
    >>> def window(env, x, size, step=1):
    ...     env.require(size <= x[-1], "window is longer than the axis")
    ...     return (*x[:-1], (x[-1] - size) // step + 1, size)
    >>> kinds_of(Rule("window", window))
    {'x': 'shape', 'size': 'int', 'step': 'int'}

Annotations say what a parameter is, then its default, then its name; what none of them says is tried out on the rule.
Whoever wants other arguments gives a strategy for that parameter.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args, get_origin

from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.registry import Rule
from shapes.testing.calls import Call, Input
from shapes.testing.strategies import LARGEST, shapes

Kind = Literal["shape", "shapes", "int", "ints", "bool", "float", "dim", "default"]

DIM: Final = re.compile(r"(^|_)(dim|axis)\d?$|^(dim|axis)\d?_")
INTEGER: Final = re.compile(
    r"(^|_)(size|sizes|step|steps|stride|n|k|count|num|number|length|start|stop|end|offset|factor|groups|padding|pad"
    r"|dilation|kernel|width|height|repeats|times|diagonal|blocks|heads|bins|window|hop|shift|shifts)(_|$)|^num|^n_"
)
SEVERAL: Final = re.compile(r"^(tensors|arrays|shapes|xs|inputs|operands)$")
PROBES: Final = ((), (4,), (4, 5), (4, 4, 4))
EXTENT: Final = re.compile(
    r"(^|_)(size|sizes|step|steps|stride|strides|length|dilation|kernel|width|height|window|hop|factor|groups|blocks"
    r"|heads|bins|repeats|times)(_|$)"
)
"""Names of what is never negative, unless an annotation says that any integer will do."""
CRASHES: Final = (TypeError, AttributeError)


def kinds_of(rule: Rule) -> dict[str, Kind]:
    """The kind of each parameter of a rule."""
    parameters = parameters_of(rule)
    known: dict[str, Kind] = {}
    open_names = []
    for name, parameter in parameters.items():
        kind = _by_annotation(parameter) or _by_default(parameter)
        if kind is None:
            open_names.append(name)
        known[name] = kind or _by_name(name)
    if not open_names:
        return known
    expected = tuple([known[name] for name in open_names])
    choices: tuple[Kind, ...] = ("shape", "int")
    others = itertools.product(choices, repeat=len(open_names))
    guesses = [expected, *sorted(others, key=lambda guess: sum([a != b for a, b in zip(expected, guess)]))]
    for guess in guesses:
        trial = {**known, **dict(zip(open_names, guess))}
        if _runs(rule, trial):
            return trial
    return known


def calls_for(rule: Rule, given: Mapping[str, st.SearchStrategy[object]]) -> st.SearchStrategy[Call]:
    """Calls of a rule; `given` are the strategies of some parameters, the others are drawn by what they take."""
    kinds = kinds_of(rule)
    unknown = [name for name in given if name not in kinds]
    if unknown:
        raise ShapeError(f"{unknown[0]}: {rule.name} takes {', '.join(kinds)}")

    @st.composite
    def drawn(draw: st.DrawFn) -> Call:
        first: Input | None = None
        args: list[object] = []
        kwargs: dict[str, object] = {}
        for name, parameter in parameters_of(rule).items():
            strategy = given.get(name)
            if strategy is None:
                strategy = _drawn_by(kinds[name], parameter, first)
            value = draw(strategy)
            if isinstance(value, tuple) and name in given and kinds[name] == "shape" and not isinstance(value, Input):
                value = Input(value)
            if first is None:
                first = next(Call((value,)).inputs(), None)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return Call(tuple(args), kwargs)

    return drawn()


def parameters_of(rule: Rule) -> dict[str, inspect.Parameter]:
    """The rule's parameters, without the environment and without `*args` and `**kwargs`."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in list(rule.signature.parameters.items())[1:] if p.kind not in variadic}


def allows_negative(parameter: inspect.Parameter) -> bool:
    """Return True if a parameter may be negative as far as its signature tells.

    One with a positive default is a step or a count; so is one named for an extent, unless it is annotated as an `int`.
    """
    default: object = parameter.default
    if isinstance(default, tuple | list):
        return not EXTENT.search(parameter.name) and all(isinstance(one, int) and one <= 0 for one in default)
    if isinstance(default, int) and default > 0:
        return False
    annotated = re.search(r"\bint\b", str(parameter.annotation)) is not None
    return annotated or not EXTENT.search(parameter.name)


def choices_of(parameter: inspect.Parameter) -> tuple[object, ...]:
    """The values that an annotation `Literal[...]` names."""
    annotation: object = parameter.annotation
    if isinstance(annotation, str):
        found = re.search(r"Literal\[(.*?)\]", annotation)
        try:
            return tuple(ast.literal_eval(f"[{found[1]}]")) if found else ()
        except (ValueError, SyntaxError):
            return ()
    return tuple(get_args(annotation)) if get_origin(annotation) is Literal else ()


# ---------------------------------------------------------------------- kinds


def _by_annotation(parameter: inspect.Parameter) -> Kind | None:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return None
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    text = text if isinstance(annotation, str) or not get_args(annotation) else str(annotation)
    several = re.search(r"(Sequence|list|tuple|Iterable)\[", text) is not None
    if "Shape" in text:
        return "shapes" if several else "shape"
    if "str" in text or "Literal" in text:
        return "default"
    if several:
        return "ints"
    if "bool" in text:
        return "bool"
    if re.search(r"\b(int|Int|SymInt)\b", text):
        return "dim" if DIM.search(parameter.name) else "int"
    return "float" if "float" in text else None


def _by_default(parameter: inspect.Parameter) -> Kind | None:
    match parameter.default:
        case inspect.Parameter.empty:
            return None
        case bool():
            return "bool"
        case int():
            return "dim" if DIM.search(parameter.name) else "int"
        case float():
            return "float"
        case tuple() | list():
            return "ints"
        case None if DIM.search(parameter.name):
            return "dim"
        case _:
            return "default"


def _by_name(name: str) -> Kind:
    if DIM.search(name):
        return "dim"
    if SEVERAL.search(name):
        return "shapes"
    return "int" if INTEGER.search(name) else "shape"


def _runs(rule: Rule, kinds: Mapping[str, Kind]) -> bool:
    """Return True if a rule takes arguments of these kinds without failing, for one of a few shapes at least."""
    ran = False
    for probe in PROBES:
        try:
            rule(ShapeEnv(origin=lambda: None), **dict(_probing(rule, kinds, Input(probe))))
            ran = True
        except ShapeError:
            ran = True
        except CRASHES:
            return False
        except Exception:
            continue
    return ran


def _probing(rule: Rule, kinds: Mapping[str, Kind], shape: Input) -> Iterator[tuple[str, object]]:
    for name, parameter in parameters_of(rule).items():
        if parameter.default is not inspect.Parameter.empty:
            continue
        given = {"shape": shape, "shapes": [shape, shape], "ints": (1, 1), "dim": -1, "bool": True}
        yield name, given.get(kinds[name], 2)


# ---------------------------------------------------------------------- strategies


def _drawn_by(kind: Kind, parameter: inspect.Parameter, first: Input | None) -> st.SearchStrategy[object]:
    """Arguments of one parameter. Shapes after the first are often like that one."""
    optional = parameter.default is None or "None" in str(parameter.annotation)
    default: object = parameter.default
    match kind:
        case "shape":
            drawn: st.SearchStrategy[object] = _related(first)
        case "shapes":
            drawn = _several(first)
        case "dim":
            rank = 2 if first is None else len(first)
            drawn = st.integers(-rank - 1, rank)
        case "int":
            drawn = _integers(parameter)
        case "ints":
            count = len(default) if isinstance(default, tuple | list) else None
            least = 0 if not isinstance(default, tuple | list) else min([0 if n == 0 else 1 for n in default] or [0])
            drawn = st.lists(
                st.integers(least, 4), min_size=1 if count is None else count, max_size=3 if count is None else count
            ).map(tuple)
        case "bool":
            drawn = st.booleans()
        case "float":
            drawn = st.floats(0, 4, width=32)
        case "default":
            choices = choices_of(parameter)
            if choices:
                return st.sampled_from(choices)
            return st.just(None if default is inspect.Parameter.empty else default)
    return st.one_of(st.none(), drawn) if optional else drawn


def _integers(parameter: inspect.Parameter) -> st.SearchStrategy[int]:
    """Small ones: from 1 where the default is positive (strides, steps), from 0 else, negative where allowed."""
    default: object = parameter.default
    most = LARGEST + 1
    drawn = st.integers(0, most)
    if isinstance(default, int):
        drawn = st.integers(min(default, 1), max(4, default + 1))
    return st.one_of(drawn, st.integers(-4, -1)) if allows_negative(parameter) else drawn


def _related(first: Input | None) -> st.SearchStrategy[Input]:
    """A shape: the same as the first one, one that broadcasts with it, one that differs in a size, or any."""
    if first is None:
        return shapes(rank=(0, 3))

    @st.composite
    def drawn(draw: st.DrawFn) -> Input:
        match draw(st.integers(0, 4)):
            case 0:
                return first
            case 1:
                return draw(shapes(rank=(0, 3)))
            case 2:
                return Input(list(reversed(first)))
            case 3:
                start = draw(st.integers(0, len(first)))
                return Input([1 if draw(st.booleans()) else size for size in first[start:]])
            case _:
                changed = draw(st.integers(0, max(len(first) - 1, 0)))
                size = draw(st.integers(0, LARGEST))
                return Input([size if axis == changed else old for axis, old in enumerate(first)])

    return drawn()


@st.composite
def _several(draw: st.DrawFn, first: Input | None) -> list[Input]:
    found = [draw(_related(first))]
    for _ in range(draw(st.integers(0, 2))):
        found.append(draw(_related(found[0])))
    return found
