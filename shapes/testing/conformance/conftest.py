"""The environment and the rules that the suite is about: ours unless the options of the plugin name others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapes import ShapeEnv
from shapes.testing.conformance.adapter import Environment, named

EXAMPLES = 20


def option(config: pytest.Config, name: str) -> object:
    """The value of an option of the plugin; None where that is not loaded."""
    return config.getoption(name, default=None)


@pytest.fixture(scope="session")
def new_environment(pytestconfig: pytest.Config) -> Callable[[], Environment]:
    """The function that makes an environment."""
    place = option(pytestconfig, "shape_env")
    if place is None:
        return lambda: ShapeEnv(origin=lambda: None)
    factory = named(str(place))
    assert callable(factory), f"--shape-env={place}: expected a callable"
    return factory


@pytest.fixture(scope="session")
def examples(pytestconfig: pytest.Config) -> int:
    """The number of examples that each test generates."""
    return int(str(option(pytestconfig, "shape_examples") or EXAMPLES))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each rule."""
    if "rule" in metafunc.fixturenames:
        from shapes.testing.conformance.rule_sets import rules_under_test

        rules = rules_under_test(option(metafunc.config, "shape_rules"))
        metafunc.parametrize("rule", [pytest.param(rule, id=name) for name, rule in rules.items()])
