"""Rules by name: how one is written down, found and run.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules.registry import Rules
    >>> mine = Rules()
    >>> @mine.rule("halve")
    ... def halve(env, x, dim=0):
    ...     env.require(x[dim] % 2 == 0, "the axis is odd")
    ...     return Shape([size // 2 if axis == dim else size for axis, size in enumerate(x)])
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> mine["halve"].apply(env, (b, s), dim=1)
    Outcome(outputs=Shape(b, s//2), requirements=(Requirement(s % 2 == 0, 'the axis is odd'),))
    >>> mine["halve"](env, (b, 3), dim=1)
    Traceback (most recent call last):
    shapes.rules.registry.Refused: halve(x=Shape(b, 3), dim=1): the axis is odd

A parameter whose annotation is `Shape`, or `Sequence[Shape]`, or that has none, takes shapes: any sequence of sizes
given there is made one.

A schema has the operator's arguments where sizes depend on few of them. The function takes those, and their defaults
are in the schema:

    >>> @mine.rule("largest", schema="x, dim=-1, sorted=True")
    ... def largest(env, x, dim):
    ...     return x[:dim]
    >>> mine["largest"], mine["largest"](env, (b, s), sorted=False)
    (<rule largest(env, x, dim=-1, sorted=True)>, Shape(b))
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shapes.accepted import did_you_mean
from shapes.env import ShapeEnv
from shapes.environment.events import Commitment
from shapes.errors import ShapeError, UndecidedGuard
from shapes.rules.shape import Shape, as_shape
from shapes.symbolic.numbers import SymInt
from solver.proofs.fact import Fact

Output = Shape | tuple["Output", ...] | None
"""The result of a rule: one shape, a tuple of outputs for an operator with several, None where there is none."""

FAMILIES: Final = (
    "activations", "attention", "collectives", "convolution", "creation", "diagonals",
    "embedding", "folding", "indexing", "joining", "linalg", "losses", "matmul", "norms", "padding", "pointwise",
    "pooling", "reductions", "resampling", "scans", "selecting", "sharding", "slicing", "solving",
    "splitting", "transforms", "views",
)  # fmt: skip
"""The modules of this folder that hold rules, loaded when a rule is looked for."""


class Outputs(tuple[object, ...]):
    """Outputs of an operator that may have any number of them: also none at all, or a single one in a tuple."""


class Refused(ShapeError):
    """The operator does not accept these shapes."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """The condition that a rule requires of the sizes, and the message if it fails."""

    fact: Fact
    message: str

    def __repr__(self) -> str:
        return f"Requirement({self.fact.text}, {self.message!r})"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a rule, and the requirements that were not known before."""

    outputs: Output
    requirements: tuple[Requirement, ...]


class Rule:
    """The shape rule of one operator."""

    def __init__(  # type: ignore[explicit-any]
        self, name: str, function: Callable[..., object], schema: str | None = None, **fixed: object
    ) -> None:
        self.name = name
        self.function = function
        self.__doc__ = function.__doc__
        self.signature = inspect.signature(function)
        self._run = function
        if schema is not None:
            self._run, self.signature = _with_schema(name, self.signature, schema, function, fixed)
        parameters = list(self.signature.parameters.values())[1:]
        self.names = tuple([parameter.name for parameter in parameters])
        self._readings = [_reading(parameter) for parameter in parameters]
        self._by_name = dict(zip(self.names, self._readings, strict=True))
        self.tensors = tuple([name for name, read in self._by_name.items() if read in (_shape, _like_shape)])

    @property
    def family(self) -> str:
        """The module that holds it."""
        return self.function.__module__.rpartition(".")[2]

    def __call__(self, env: ShapeEnv, /, *args: object, **kwargs: object) -> Output:
        """The shapes that come out. What the rule needs is required of the environment.

        Raises:
            Refused: the facts contradict what it needs, or an argument is none that the operator takes.
            UndecidedGuard: how many axes or outputs there are depends on a size that neither facts nor a hint tell.
        """
        given = [a if read is None else read(a) for a, read in zip(args, self._readings)]
        if len(args) > len(given):
            given += args[len(given) :]
        for name, value in kwargs.items():
            read = self._by_name.get(name)
            if read is not None:
                kwargs[name] = read(value)
        try:
            return _output(self._run(env, *given, **kwargs))
        except Refused:
            raise
        except UndecidedGuard as error:
            error.add_note(f"  in:     {self.call_text(given, kwargs)}")
            raise
        except ShapeError as error:
            raise Refused(f"{self.call_text(given, kwargs)}: {error}") from error

    def apply(self, env: ShapeEnv, /, *args: object, **kwargs: object) -> Outcome:
        """The shapes that come out together with what was required for them."""
        before = len(env.events)
        outputs = self(env, *args, **kwargs)
        return Outcome(outputs, tuple(_requirements(env.events[before:])))

    def call_text(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
        """The call as an error shows it."""
        shown = [f"{name}={value!r}" for name, value in (*zip(self.names, args), *kwargs.items())]
        return f"{self.name}({', '.join(shown)})"

    def __repr__(self) -> str:
        return f"<rule {self.name}{self.signature}>"


class UnknownRule(ShapeError, KeyError):
    """There is no rule of this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class Rules(Mapping[str, Rule]):
    """Rules by name. A missing one is looked for in the families of this project."""

    def __init__(self, families: Sequence[str] = ()) -> None:
        self._rules: dict[str, Rule] = {}
        self._families = list(families)

    def rule(  # type: ignore[explicit-any]
        self, *names: str, schema: str | None = None, **fixed: object
    ) -> Callable[[Callable[..., object]], Rule]:
        """Register a function as the rule of the operators of these names; the function becomes the first one's rule.

        Args:
            schema: the operator's arguments, where the function does not take all of them.
            fixed: what else the function takes, for these operators.

        Raises:
            ValueError: one of the names has a rule already.
        """

        def register(function: Callable[..., object]) -> Rule:  # type: ignore[explicit-any]
            function = function.function if isinstance(function, Rule) else function
            made = [Rule(name, function, schema, **fixed) for name in names]
            for one in made:
                if one.name in self._rules:
                    raise ValueError(f"{one.name} has a rule already, in {self._rules[one.name].function.__module__}")
                self._rules[one.name] = one
            return made[0]

        return register

    def __getitem__(self, name: str) -> Rule:
        found = self._rules.get(name)
        if found is None:
            self._load()
            found = self._rules.get(name)
            if found is None:
                raise UnknownRule(f"there is no rule {name!r}{did_you_mean(name, self._rules)}")
        return found

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._rules))

    def __len__(self) -> int:
        self._load()
        return len(self._rules)

    def _load(self) -> None:
        import importlib

        families, self._families = self._families, []
        for family in families:
            importlib.import_module(f"shapes.rules.{family}")


rules: Final = Rules(FAMILIES)
rule: Final = rules.rule


def _with_schema(  # type: ignore[explicit-any]
    name: str, own: inspect.Signature, schema: str, function: Callable[..., object], fixed: Mapping[str, object]
) -> tuple[Callable[..., object], inspect.Signature]:
    """A function of the operator's arguments that passes on those that the rule's function takes, and its signature,
    with their annotations."""
    environment, *parameters = own.parameters.values()
    annotations = {each.name: each.annotation for each in parameters}
    written = inspect.signature(eval(f"lambda {schema}: None")).parameters.values()
    passed = {each.name: each for each in written if each.name in annotations}
    options = [f"**{option}" for option, each in passed.items() if each.kind is each.VAR_KEYWORD]
    named = [f"{each}={each}" for each in (*passed, *fixed) if f"**{each}" not in options]
    text = f"lambda env, {schema}: function({', '.join(['env', *named, *options])})"
    # a file name of ours, so that origins name the caller's line
    code = compile(text, f"{os.path.dirname(__file__)}{os.sep}<{function.__name__}>", "eval")
    arguments = [each.replace(annotation=annotations.get(each.name, each.empty)) for each in written]
    signature = own.replace(parameters=[environment, *arguments])
    run = eval(code, {"function": function, **fixed})
    run.__qualname__ = name  # what Python's errors about arguments call it
    return run, signature


def _reading(parameter: inspect.Parameter) -> Callable[[object], object] | None:
    """The way an argument is read: as a shape, as several, or as it is."""
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if annotation is inspect.Parameter.empty:
        return _like_shape
    if "Sequence[Shape" in text:
        return _shapes
    return _shape if "Shape" in text else None


def _shape(value: object) -> object:
    if type(value) is Shape or value is None or isinstance(value, int | float | SymInt):
        return value
    return as_shape(value)


def _shapes(value: object) -> object:
    if isinstance(value, list | tuple) and not isinstance(value, Shape):
        return [_shape(item) for item in value]
    return value


def _like_shape(value: object) -> object:
    if isinstance(value, list | tuple) and all(isinstance(size, int | SymInt) for size in value):
        return as_shape(value)
    return value


def _output(value: object) -> Output:
    """The result of a rule's function, sizes in a tuple as a shape."""
    if value is None or isinstance(value, Shape):
        return value
    if isinstance(value, Outputs):
        return tuple([_output(item) for item in value])
    if isinstance(value, list | tuple):
        if any(one is None or isinstance(one, tuple | list) for one in value):
            return tuple([_output(item) for item in value])
        return Shape(value)
    raise TypeError(f"a rule returns shapes, not {value!r}")


def _requirements(commitments: Sequence[Commitment]) -> Iterator[Requirement]:
    from shapes.environment.events import Deferred, Guarded

    for commitment in commitments:
        if isinstance(commitment, Guarded | Deferred):
            message = commitment.message if isinstance(commitment, Deferred) else commitment.why
            yield Requirement(commitment.fact, message)
