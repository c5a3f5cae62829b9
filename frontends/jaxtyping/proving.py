"""Prove or refute what a function's annotations say of its result, before any call.

    >>> from frontends.jaxtyping.proving import prove
    >>> def scores(q: "Float[Array, 'b s d']", k: "Float[Array, 'b t d']") -> "Float[Array, 'b t s']":
    ...     return q @ k.transpose(0, 2, 1)
    >>> print(prove(scores))
    scores: refuted
      dimension t: return.shape[1] is s, k.shape[1] is t
        fails at s=1, t=2
      dimension s: return.shape[2] is t, q.shape[1] is s
        fails at s=1, t=2

A name that the annotations bind is a size of an environment, which knows what they say of the arguments. The body runs
once on arrays of such sizes. What its operators require beyond the annotations fails in some call that these accept.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from types import FunctionType
from typing import Final

from frontends.jaxtyping.arrays import LIBRARIES, SizedArray, on_sizes
from frontends.jaxtyping.cases import MOST_COMBINATIONS, Case, cases_of
from frontends.jaxtyping.dimensions import Dimension, Fixed, Named, Several
from frontends.jaxtyping.matching import Condition, Matching
from frontends.jaxtyping.signature import (
    Annotation,
    Argument,
    Mismatch,
    Repeated,
    Signature,
    Tree,
    conditions_of,
    paired,
    signature_of,
)
from frontends.jaxtyping.trees import leaves, mapped, structure
from shapes.accepted import shown
from shapes.env import ShapeEnv
from shapes.environment.reader import Question
from shapes.environment.symbols import free_name
from shapes.errors import Contradiction, NotExpressible, ParseError, ShapeError, UndecidedGuard, Undefined
from shapes.rules import Refused
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymInt
from solver.decide.verdict import Always, Depends, Never

RANKS: Final = (0, 1, 2)
"""The numbers of dimensions that `*name` and `...` are tried with."""
MOST_BRANCHES: Final = 4
"""Branches on sizes that are taken both ways."""

Answer = str
"""proven, refuted or unknown."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that the annotations say: proven, refuted with sizes at which it fails, or unknown with the reason."""

    text: str
    answer: Answer
    why: str = ""

    def __str__(self) -> str:
        return f"{self.text}\n    {self.why}" if self.why else self.text


@dataclass(frozen=True, slots=True)
class Proof:
    """The claims about one function, for each number of dimensions that was tried. `limits` say for which arguments
    without dimensions, `cases` for which alternatives, trees and numbers of arguments."""

    name: str
    claims: tuple[Claim, ...]
    ranks: tuple[Mapping[str, int], ...]
    limits: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """`refuted` if some claim is, `proven` if all are."""
        answers = {claim.answer for claim in self.claims}
        return next((each for each in ("refuted", "unknown") if each in answers), "proven")

    def __str__(self) -> str:
        tried = "; ".join([", ".join([f"{key} of {rank}" for key, rank in ranks.items()]) for ranks in self.ranks])
        dimensions = [f"with dimensions {tried}"] if tried else []
        cases = [f"for {'; '.join(self.cases)}"] if self.cases else []
        head = ", ".join([f"{self.name}: {self.answer}", *self.limits, *cases, *dimensions])
        open_claims = dict.fromkeys([str(claim) for claim in self.claims if claim.answer != "proven"])
        return "\n".join([head, *[f"  {claim}" for claim in open_claims]])


def prove(  # type: ignore[explicit-any]  # any function
    function: Callable[..., object],
    body: Callable[..., object] | None = None,
    *,
    ranks: Mapping[str, int] | None = None,
    values: Mapping[str, object] | None = None,
    trees: Mapping[str, object] | None = None,
    counts: Mapping[str, int] | None = None,
) -> Proof:
    """Decide the annotation of a result, at all sizes that the arguments' annotations accept.

    Args:
        function: the annotated function. Its body runs on arrays without elements.
        body: runs in its place: takes the environment, then one shape for each annotated argument, and the others;
            gives the shapes of the result.
        ranks: the number of dimensions of a `*name`, or of the `...` of an argument by the argument's name; each that
            is not given is tried with 0, 1 and 2.
        values: arguments without dimensions. An integer that is not given is any that is not negative.
        trees: for each argument that is a `PyTree`, its containers with `...` for each array: `{"w": ..., "b": ...}`.
        counts: the number of arguments that `*args` has; otherwise 0, 1 and 2 are tried.

    Raises:
        ShapeError: the annotations cannot be read, or an argument is missing.
    """
    signature = signature_of(function)
    cases = dict(cases_of(signature, trees or {}, counts or {}))
    tried: list[Mapping[str, int]] = []
    claims: list[Claim] = []
    limits: dict[str, None] = {}
    for label, case in cases.items():
        for each in _ranks(case, _ranks_of(signature, ranks or {}, cases.values())):
            path = _Path(signature, function, body, each, values or {}, case)
            where = f" ({label})" if len(cases) > 1 else ""
            claims += [replace(claim, text=claim.text + where) for claim in path.claims(())]
            limits.update(dict.fromkeys(path.limits))
            tried += [each] if each and each not in tried else []
    return Proof(signature.name, tuple(claims), tuple(tried), tuple(limits), tuple(filter(None, cases)))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An array of a tree: its annotation and its sizes."""

    annotation: Annotation
    sizes: tuple[Int, ...]


@dataclass(frozen=True, slots=True)
class _Path:  # type: ignore[explicit-any]  # any function
    """The ways through a body at given ranks."""

    signature: Signature
    function: Callable[..., object]  # type: ignore[explicit-any]
    body: Callable[..., object] | None  # type: ignore[explicit-any]
    ranks: Mapping[str, int]
    values: Mapping[str, object]
    case: Case

    @property
    def limits(self) -> list[str]:
        """The arguments without dimensions for which the claims stand."""
        found = _others(ShapeEnv(), self.signature, self.function, self.values)
        return [f"for {name} >= 0" if isinstance(value, SymInt) else f"for {name}={shown(value)}"
                for name, value in found.items() if name not in self.values]  # fmt: skip

    def claims(self, taken: tuple[str, ...]) -> list[Claim]:
        """The claims where branches on sizes went these ways; both ways of each further branch are taken."""
        env = ShapeEnv()
        others = _others(env, self.signature, self.function, self.values)
        try:
            arguments = _Arguments(env, self.signature, self.ranks, others, self.case)
        except Contradiction as error:
            return [Claim("the annotations accept no call", "refuted", str(error))]
        try:
            for branch in taken:
                env.assume(branch)
        except Contradiction:
            return []
        except ParseError as error:
            return [Claim("the body could not be traced", "unknown", f"{error.message}: `{error.text}`")]
        try:
            return arguments.claims(self.function, self.body)
        except Contradiction:
            return []
        except UndecidedGuard as error:
            if len(taken) == MOST_BRANCHES:
                return [Claim("the body could not be traced", "unknown", str(error))]
            return [*self.claims((*taken, error.question)), *self.claims((*taken, f"not ({error.question})"))]


def _several(case: Case) -> Iterator[str]:
    """The names of several dimensions, and the arguments where there is none."""
    for argument, tree in case.items():
        for _, annotation in leaves(tree):
            assert isinstance(annotation, Annotation)
            for dimension in annotation.dimensions:
                if isinstance(dimension, Several):
                    yield _key(dimension, argument)


def _ranks_of(signature: Signature, given: Mapping[str, int], cases: Iterable[Case]) -> Mapping[str, int]:
    """The numbers of dimensions that are given, each for a name that some case has."""
    names = dict.fromkeys([name for case in cases for name in _several(case)])
    for name in given:
        if name not in names:
            known = ", ".join(names) or "none"
            raise ShapeError(f"ranks={shown(dict(given))}: no dimensions {name}; of several dimensions are {known}")
    return given


def _ranks(case: Case, given: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """The numbers of dimensions to try, by name, and by the argument where there is none."""
    choices: dict[str, Sequence[int]] = {key: (given[key],) if key in given else RANKS for key in _several(case)}
    combinations = [dict(zip(choices, each)) for each in product(*choices.values())]
    if len(combinations) > MOST_COMBINATIONS:
        raise ShapeError(f"{len(combinations)} combinations of ranks of {', '.join(choices)}: give some as `ranks=`")
    yield from combinations


def _key(dimension: Several, argument: str) -> str:
    """Broadcastable shapes of one name may have other ranks."""
    return argument if dimension.name is None or dimension.broadcastable else dimension.name


def _others(  # type: ignore[explicit-any]  # any function
    env: ShapeEnv, signature: Signature, function: Callable[..., object], given: Mapping[str, object]
) -> dict[str, object]:
    """The arguments without dimensions: given, an integer as a symbol, or their default."""
    found: dict[str, object] = {}
    parameters = inspect.signature(function).parameters
    for name in signature.others:
        parameter = parameters[name]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in given:
            found[name] = given[name]
        elif parameter.annotation in (int, "int"):
            found[name] = env.symbol(name)
        elif parameter.default is not parameter.empty:
            found[name] = parameter.default
        else:
            raise ShapeError(f"{signature.name}: {name} has no dimensions; give it as `values={{{name!r}: ...}}`")
    return found


class _Arguments:
    """Arguments of one call with symbolic sizes: all that the annotations accept, for these ranks."""

    def __init__(
        self,
        env: ShapeEnv,
        signature: Signature,
        ranks: Mapping[str, int],
        others: Mapping[str, object],
        case: Case,
    ) -> None:
        self.env, self.signature, self.ranks, self.others = env, signature, ranks, others
        self.matching = Matching(others)
        self.given: dict[str, object] = {}
        for name, tree in case.items():
            self.given[name] = mapped(tree, partial(self._leaf, name))
            annotation = signature.arguments[name]
            if isinstance(annotation, Tree) and annotation.structure is not None:
                self._assume(self.matching.structured(annotation.structure, structure(tree), name))
        env.check_consistent()

    def _leaf(self, argument: str, annotation: object) -> _Leaf:
        """A new array with an annotation."""
        assert isinstance(annotation, Annotation)
        shape = self._shape(argument, annotation.dimensions)
        for condition in self.matching.conditions(annotation.dimensions, shape, argument):
            self._assume(condition)
        return _Leaf(annotation, shape)

    def _assume(self, condition: Condition) -> None:
        if condition.holds is False:
            raise Contradiction(condition.text)
        if condition.holds is not True:
            self.env.assume(condition.holds)

    def _shape(self, argument: str, dimensions: Sequence[Dimension]) -> tuple[Int, ...]:
        """New sizes, except where the annotation tells them; named as the dimension where that is free."""
        bound = {name: each.size for name, each in self.matching.sizes.items() if each.certain is True}
        sizes: list[Int] = []
        for dimension in dimensions:
            match dimension:
                case Several(name):
                    known = self.matching.shapes.get(name or "")
                    if known is not None and not known.broadcastable and not dimension.broadcastable:
                        sizes += known.sizes
                    else:
                        rank = self.ranks[_key(dimension, argument)]
                        sizes += [self._symbol(f"{name or argument}_{axis}") for axis in range(rank)]
                case Named(name, broadcastable=False):
                    bound[name] = size = bound[name] if name in bound else self._symbol(name)
                    sizes.append(size)
                case Fixed(size, broadcastable=False):
                    sizes.append(size)
                case Named(name):
                    sizes.append(self._symbol(f"{argument}_{name}"))
                case _:
                    sizes.append(self._symbol(f"{argument}_{len(sizes)}"))
        return tuple(sizes)

    def _symbol(self, name: str) -> SymInt:
        return self.env.symbol(free_name(name, self.env.names))  # `in` is a good name of a dimension

    def claims(  # type: ignore[explicit-any]  # any function
        self, function: Callable[..., object], body: Callable[..., object] | None
    ) -> list[Claim]:
        """The requirements of the body on these sizes, and the claims about its result."""
        before = self.env.fork()
        try:
            result = self._run(function, body)
            claims = [_claim(before, f"the body requires {each.text}", each.text) for each in self.env.guards()]
            claims += [Claim(f"{each.text} at run time", "unknown") for each in self.env.runtime_asserts()]
            if self.signature.result is None:
                claims.append(Claim("the result is annotated with no dimensions", "unknown"))
            for annotation, found, place in paired(self.signature.result, result, "return"):
                if body is None:
                    self._expect_followed(annotation, found, place)
                for condition in conditions_of(self.matching, annotation, found, place):
                    claims.append(_claim(self.env, condition.text, condition.holds))
            return claims
        except Refused as error:
            if isinstance(error.__cause__, NotExpressible | UndecidedGuard):
                return [Claim("the body could not be traced", "unknown", str(error))]
            return [Claim("the body rejects all such sizes", "refuted", str(error))]
        except Mismatch as error:
            return [Claim(str(error), "refuted")]
        except (UndecidedGuard, Contradiction):
            raise
        except ShapeError as error:
            return [Claim("the body could not be traced", "unknown", str(error))]

    def _expect_followed(self, annotation: Argument, found: object, place: str) -> None:
        """Raises:
        NotExpressible: a result is no array whose sizes were followed.
        """
        for where, leaf in leaves(found) if isinstance(annotation, Tree) else [("", found)]:
            if not isinstance(leaf, SizedArray) and leaf is not None:
                raise NotExpressible(f"{place}{where} is {shown(leaf)}, which is not an array that was traced")

    def _run(self, function: Callable[..., object], body: Callable[..., object] | None) -> object:  # type: ignore[explicit-any]
        parameters = inspect.signature(function).parameters
        if body is not None:
            shapes = {name: mapped(given, lambda leaf: leaf.sizes) for name, given in self.given.items()}  # type: ignore[attr-defined]
            given = [shapes.get(name, self.others.get(name)) for name in parameters]
            return body(self.env, *given)
        function = inspect.unwrap(function)
        if not isinstance(function, FunctionType):
            raise NotExpressible(f"{self.signature.name} is not a Python function; give its shapes as `body=`")
        every = [leaf for given in self.given.values() for _, leaf in leaves(given) if isinstance(leaf, _Leaf)]
        table = LIBRARIES["torch" if any(leaf.annotation.array == "Tensor" for leaf in every) else "numpy"]

        def array(leaf: object) -> SizedArray:
            assert isinstance(leaf, _Leaf)
            integers = leaf.annotation.kind.startswith(("Int", "UInt"))
            return SizedArray(self.env, leaf.sizes, table, integers=integers)

        arrays = {name: mapped(given, array) for name, given in self.given.items()}
        for name, annotation in self.signature.arguments.items():
            if isinstance(annotation, Repeated):
                arrays[name] = tuple(arrays[name])  # type: ignore[arg-type]
        known = {**self.others, **arrays}
        call = inspect.signature(function).bind_partial()
        call.arguments.update({name: known[name] for name in parameters if name in known})
        try:
            return on_sizes(self.env, function)(*call.args, **call.kwargs)
        except ShapeError:
            raise
        except (TypeError, AttributeError, ValueError, LookupError, ZeroDivisionError, NotImplementedError) as error:
            said = f"{type(error).__name__}: {error}"
            raise NotExpressible(said.splitlines()[0]) from error


def _claim(env: ShapeEnv, text: str, condition: Question) -> Claim:
    if isinstance(condition, bool):
        return Claim(text, "proven" if condition else "refuted")
    try:
        verdict = env.ask(condition)
    except Undefined as error:
        return Claim(text, "unknown", str(error))
    match verdict:
        case Always():
            return Claim(text, "proven")
        case Never():
            return Claim(text, "refuted", "holds at no sizes")
        case Depends() if any(env.symbols[atom].kind == "unbacked" for atom in verdict.prop.symbols):
            return Claim(text, "unknown", "it depends on elements")
        case Depends(false_at=sizes):
            return Claim(text, "refuted", f"fails at {', '.join([f'{name}={size}' for name, size in sizes.items()])}")
        case _:
            return Claim(text, "unknown", "found neither a proof nor sizes at which it fails")


__all__ = ["Claim", "Proof", "prove"]
