"""The backends that the suite is about: ours, unless the option of the plugin names another."""

from __future__ import annotations

import pytest

from backends import BACKENDS, named
from backends.backend import AnyBackend, emits_kernels


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        name = metafunc.config.getoption("shape_backend", default=None)
        metafunc.parametrize("backend", BACKENDS if name is None else [name], indirect=True)


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> AnyBackend:
    """One that runs here. Of ours the others are skipped; of a backend that was asked for, that is a failure."""
    found = named(request.param)
    if emits_kernels(found):
        reason = _unavailable(found)
        if reason and request.config.getoption("shape_backend", default=None) is not None:
            pytest.fail(f"{request.param}: {reason}")
        if reason:
            pytest.skip(reason)
    return found


def _unavailable(backend: AnyBackend) -> str:
    from backends.testing.conformance.compiling import NotHere, compiled
    from backends.testing.conformance.programs import PROGRAMS

    try:
        compiled(PROGRAMS["transposed"], backend)
    except NotHere as reason:
        return str(reason)
    return ""
