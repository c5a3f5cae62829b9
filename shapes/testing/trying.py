"""One check of a rule: directed calls first, then Hypothesis', each compared with the operator and counted.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.references.functions import reference_of
    >>> from shapes.testing.trying import Trial
    >>> def halve(env, x):
    ...     env.require(len(x) == 1, "expected one axis")
    ...     return (x[0] // 2,) if x[0] < 4097 else (x[0] // 2 + 1,)
    >>> trial = Trial(Rule("halve", halve), reference_of(lambda call: (call.args[0][0] // 2,)
    ...                                                  if len(call.args[0]) == 1 else None), examples=300)
    >>> print(trial.run())
    halve(Input((4097,))): the operator gives ((2048,),), the rule on these sizes ((2049,),)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from shapes.env import ShapeEnv
from shapes.rules.registry import Rule, rules
from shapes.testing.agreement import Disagreement, Sizes, disagreement, on_symbols
from shapes.testing.arguments import arguments_for, operators_with_arguments
from shapes.testing.calls import Call
from shapes.testing.coverage import RuleReport
from shapes.testing.directed.constants import constants_of, does_constant_work, names_in
from shapes.testing.directed.growth import Growth, Symbolic
from shapes.testing.directed.integers import Path, named_places, places_of, structure_of, with_values
from shapes.testing.directed.search import Domain, directed, run_of
from shapes.testing.directed.shrinking import shrunk
from shapes.testing.references.functions import Function, OfCalls, may_omit, on_sizes
from shapes.testing.references.standins import Untested
from shapes.testing.signatures import calls_for, parameters_of
from shapes.testing.specializing import Specializations

PYTHONS_REFUSALS: Final = (IndexError, ZeroDivisionError)
"""The exceptions of `x[-1]` for a shape without axes, and of a step of zero: fine where the operator refuses as well.
"""
EXAMPLES: Final = 300
DIRECTED: Final = (3, 4)
"""The share of the examples that are directed."""
BEGUN: Final = 24
"""Calls drawn to begin with where strategies are given."""
RUNS: Final = 80
"""Accepted calls whose questions are kept for the report."""


class _Found(Exception):
    """A call on which rule and operator differ."""


class Trial:
    """A check of one rule; `report` says what it covered, `specializations` which sizes the rule took as numbers."""

    def __init__(
        self,
        rule: Rule,
        operator: Function | OfCalls,
        calls: st.SearchStrategy[Call] | None = None,
        arguments: Mapping[str, st.SearchStrategy[object]] | None = None,
        examples: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.rule, self.operator = rule, operator
        self.given = dict(arguments or {})
        self.report = RuleReport(rule.name)
        self.specializations = Specializations(rule.names)
        self.settings = settings(
            max_examples=_examples(examples),
            deadline=None,
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        self.seed = seed
        self.answers: dict[str, bool] = {}
        # on symbols a rule goes on where numbers are refused
        symbolic: list[Symbolic] = [] if does_constant_work(rule.function) else [self._in_environment]
        if not does_constant_work(operator.function):
            symbolic += on_sizes(operator)
        self.growth = Growth([operator, self._on_numbers, partial(on_symbols, rule)], symbolic)
        self.accepted: list[Call] = []
        self.short: set[str] = set()
        self.found: Disagreement | None = None
        self.pending: Disagreement | None = None
        """A call that the operator refused, unlike the rule, before it accepted any: it may refuse all."""
        self.is_directed = calls is None and not self._is_registered()
        if calls is not None:
            self.calls = calls
        elif self.is_directed:
            self.calls = calls_for(rule, self.given)
        else:
            self.calls = arguments_for(rule.name)

    def _is_registered(self) -> bool:
        """Return True if the arguments of an operator of ours are meant."""
        if self.given or self.rule.name not in operators_with_arguments():
            return False
        registered = rules.get(self.rule.name)
        return registered is None or registered.names == self.rule.names

    def run(self) -> Disagreement | None:
        """The smallest disagreement that was found."""
        left = self.settings.max_examples
        if self.is_directed:
            domain = self._domain()
            for call in directed(domain, self._accepted):
                left -= 1
                if self._tried(call):
                    return self._smallest(domain)
                if left * DIRECTED[1] <= self.settings.max_examples * (DIRECTED[1] - DIRECTED[0]):
                    break
            return self._random(left, domain)
        return self._random(left, None)

    def _on_numbers(self, call: Call) -> object:
        return self._in_environment(ShapeEnv(origin=lambda: None), call)

    def _in_environment(self, env: ShapeEnv, call: Call) -> object:
        return self.rule(env, *call.args, **call.kwargs)

    def _accepted(self, call: Call) -> bool:
        return self.answers.get(repr(call), False)

    def nothing(self) -> str:
        """The text of an error where no call was accepted."""
        why = self.operator.refusal
        last = "" if why is None else f", the last with {type(why).__name__}: {why}"
        return f"{self.rule.name}: the operator refused all {self.report.refused} calls{last}"

    # ------------------------------------------------------------------ one call

    def _tried(self, call: Call) -> bool:
        """Compare rule and operator on a call; return True if they differ."""
        try:
            if self.is_directed and not self.growth.allows(call):
                raise Untested("the work of the rule or the reference grows with an integer")
            expected = self._expected(call)
        except Untested as left_out:
            self.report.leave_out(call, left_out.reason)
            return False
        found = self._compared(call, expected)
        self.answers[repr(call)] = expected is not None
        if expected is not None:
            self.accepted.append(call)
        if found is not None and (expected is not None or self.accepted):
            self.found = found
            return True
        if self.pending is not None and expected is not None:
            # refusals mean something now
            self.found = self.pending
            return True
        if found is not None:
            self.pending = found
            self.report.refused += 1
            return False
        self.report.count(call, expected)
        if len(self.answers) <= RUNS or (self.is_directed and expected is not None):
            self._questions(call, expected)
        return False

    def _expected(self, call: Call) -> Sizes | None:
        """The operator's sizes; a reference of calls may not know that arguments can be left out."""
        if not isinstance(self.operator, OfCalls) or not self._is_short(call):
            return self.operator(call)
        try:
            expected = self.operator(call)
        except Exception as error:
            raise Untested("the reference may need all arguments", str(error)) from None
        kind = " ".join([str(len(call.args)), *call.kwargs])
        if expected is None and kind not in self.short:
            raise Untested("the reference may need all arguments")
        self.short.add(kind)
        return expected

    def _is_short(self, call: Call) -> bool:
        """Return True if an argument is left out."""
        return len(call.args) + len(call.kwargs) < len(parameters_of(self.rule))

    def _compared(self, call: Call, expected: Sizes | None) -> Disagreement | None:
        found = disagreement(self.rule, call, expected, refusals=PYTHONS_REFUSALS)
        if found is not None and expected is None and self._is_too_large(found.found):
            return None
        return found

    def _is_too_large(self, sizes: Sizes | None) -> bool:
        """Return True for results that no array holds, which an operator on arrays refuses for that reason."""
        if not isinstance(self.operator, Function) or self.operator.tensors == "sizes":
            return False
        for one in sizes or ():
            count = 1
            for size in one or ():
                count *= size
            if count >= 2**60:
                return True
        return False

    def _questions(self, call: Call, expected: Sizes | None) -> None:
        """Keep what the rule asked, for the report and for specializations."""
        run = run_of(Domain(self.rule, frozenset(self.given)), call)
        names = {run.symbols[place.path]: name for name, place in named_places(call, self.rule.names)
                 if place.path in run.symbols}  # fmt: skip
        for prop in run.path:
            text, holds = str(prop), True
            opposite = str(prop.negation)
            if (len(opposite), opposite) < (len(text), text):
                text, holds = opposite, False
            for atom, name in sorted(names.items(), key=lambda each: -len(each[0].name)):
                text = text.replace(atom.name, name)
            self.report.condition(text, holds)
        if expected is not None and self.is_directed:
            self.specializations.keep(call, expected, run)

    # ------------------------------------------------------------------ many calls

    def _domain(self) -> Domain:
        own = [name for name in parameters_of(self.rule) if name not in self.given]
        defaults = {name for name in own if parameters_of(self.rule)[name].default is not inspect.Parameter.empty}
        omitted = frozenset([name for name in defaults if may_omit(self.operator, name)])
        functions = (self.rule.function, self.operator.function)
        return Domain(
            self.rule,
            fixed=frozenset(self.given),
            omitted=omitted,
            constants=constants_of(*functions),
            dtypes=any("dtype" in names_in(function) for function in functions),
            model=self.operator.function if isinstance(self.operator, OfCalls) else None,
            begin=self._drawn() if self.given else None,
            allows=self.growth.allows,
        )

    def _drawn(self) -> list[Call]:
        """A few calls of the given strategies."""
        found: list[Call] = []
        few = settings(self.settings, max_examples=BEGUN, database=None, phases=(Phase.generate,), derandomize=True)
        few(given(self.calls)(lambda call: found.append(call)))()
        return found

    def _random(self, examples: int, domain: Domain | None) -> Disagreement | None:
        """Compare calls that Hypothesis draws."""
        if examples <= 0:
            return None

        def agrees(call: Call) -> None:
            if self._tried(call):
                raise _Found

        # the database knows a test by its name and text, and this one is that of any rule
        agrees.__name__ = agrees.__qualname__ = re.sub(r"\W", "_", f"agrees_{self.rule.name}")
        test = given(self._like_accepted() if domain is not None and not self.given else self.calls)(agrees)
        test = settings(self.settings, max_examples=examples)(test)
        if self.seed is not None:
            test = seeded(self.seed)(test)
        try:
            test()
        except (_Found, HypothesisException):
            if self.found is None:
                raise
        if self.found is None or domain is None or self.given:
            return self.found
        return self._smallest(domain)

    def _like_accepted(self) -> st.SearchStrategy[Call]:
        """Any calls, or those of a structure that the operator accepted, with other integers."""
        accepted: dict[str, Call] = {}
        for call in self.accepted:
            accepted.setdefault(structure_of(call), call)
        if not accepted:
            return self.calls
        domain = self._domain()
        return st.one_of(self.calls, st.sampled_from(list(accepted.values())).flatmap(partial(_renumbered, domain)))

    def _smallest(self, domain: Domain) -> Disagreement:
        """The smallest call on which rule and operator differ."""
        first = self.found
        assert first is not None
        latest = first

        def fails(call: Call) -> bool:
            nonlocal latest
            if not domain.contains(call):
                return False
            try:
                if not self.growth.allows(call):
                    return False
                found = self._compared(call, self._expected(call))
            except Untested:
                return False
            if found is not None:
                latest = found
            return found is not None

        smallest = shrunk(first.call, fails, self._plainer, domain.range_of)
        if repr(latest.call) != repr(smallest):
            fails(smallest)
        self.found = latest
        return latest

    def _plainer(self, call: Call) -> Iterator[Call]:
        """The call with all arguments written, and with defaults for those that are no integers."""
        parameters = parameters_of(self.rule)
        if self._is_short(call):
            yield self._spelled(call)
        for place, (name, parameter) in enumerate(parameters.items()):
            default: object = parameter.default
            if name in self.given or default is inspect.Parameter.empty:
                continue
            if place < len(call.args) and call.args[place] != default:
                yield Call((*call.args[:place], default, *call.args[place + 1 :]), call.kwargs)
            elif name in call.kwargs and call.kwargs[name] != default:
                yield Call(call.args, {**call.kwargs, name: default})

    def _spelled(self, call: Call) -> Call:
        args, kwargs = list(call.args), dict(call.kwargs)
        for place, (name, parameter) in enumerate(parameters_of(self.rule).items()):
            if place < len(args) or name in kwargs:
                continue
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = parameter.default
            else:
                args.append(parameter.default)
        return Call(tuple(args), kwargs)


def _renumbered(domain: Domain, call: Call) -> st.SearchStrategy[Call]:
    """A call with any other integers, some of them equal."""
    strategies: list[st.SearchStrategy[tuple[bool, int]]] = []
    places = [place for place in places_of(call) if domain.parameter(place) not in domain.fixed]
    for place in places:
        least = domain.range_of(place)[1]
        drawn = st.integers(-8 if least is None else least, 12)
        strategies.append(st.tuples(st.booleans(), drawn))

    def made(drawn: tuple[tuple[bool, int], ...]) -> Call:
        values: dict[Path, int] = {}
        last: int | None = None
        for place, (again, value) in zip(places, drawn):
            least = domain.range_of(place)[1]
            value = last if again and last is not None and (least is None or last >= least) else value
            values[place.path] = last = value
        return with_values(call, values)

    return st.tuples(*strategies).map(made)


def _examples(wanted: int | None) -> int:
    """The number of calls: as wanted, as the profile says, or ours."""
    if wanted is not None:
        return wanted
    # not `settings.default`, which within a test by Hypothesis is that test's
    chosen = settings.get_profile(settings.get_current_profile_name())
    plain = settings.get_profile("default")
    return EXAMPLES if chosen.max_examples == plain.max_examples else chosen.max_examples


