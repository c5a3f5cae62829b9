"""Settings of the suite that do not depend on the machine: the number of examples, of threads, and the folder of
kernels.

Random numbers of each test and of each fixture begin by its name, so that they are the same whichever tests ran before.
A run tries the same examples each time, so that a red one is red twice; HYPOTHESIS_PROFILE=random looks for others.
Tests run side by side, one process for each core, so that each computes with one thread; those that are about threads
say how many.
"""

import os
import random
import sys
import zlib

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.interpreter import evaluates_frames

QUIET = [HealthCheck.too_slow]
settings.register_profile("test", derandomize=True, deadline=None, suppress_health_check=QUIET)
settings.register_profile("quick", settings.get_profile("test"), max_examples=10)
settings.register_profile("thorough", settings.get_profile("test"), max_examples=500)
settings.register_profile("random", deadline=None, suppress_health_check=QUIET, print_blob=True)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))

if settings().derandomize:
    # Hypothesis also draws constants that stand in the sources of imported modules, and which are imported differs with
    # what else a process runs: a test would look at other examples beside other tests. There is no setting for it.
    providers._get_local_constants = lambda: providers._local_constants

pytest_plugins = ["tests.durations"]

PROCESSES = 16
"""At most, however many cores there are: each takes about a gigabyte."""

# before torch is imported; a thread that waits does not take the core from another process
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """As many as this process may use: `taskset` counts."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, PROCESSES)


def pytest_configure(config: pytest.Config) -> None:
    """Kernels are built once for all processes and runs; they lie in the clone, whatever HOME is."""
    if not hasattr(config, "workerinput") and "SYMSHAPE_CACHE" not in os.environ:
        cache = getattr(config, "cache", None)
        if cache is not None:
            folder = cache.mkdir("kernels")
            folder.chmod(0o700)
            os.environ["SYMSHAPE_CACHE"] = str(folder)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    seed(f"{fixturedef.baseid} {fixturedef.argname} {request.node.nodeid}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    seed(item.nodeid)


def seed(name: str) -> None:
    """Begin the random numbers of Python and of what is imported."""
    number = zlib.crc32(name.encode())
    random.seed(number)
    arrays, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if arrays is not None:
        arrays.seed(number)
    if torch is not None:
        torch.manual_seed(number)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A test after which torch forgets to conjugate is named, since others would compare with wrong values; and one
    after which Dynamo evaluates every frame in C, where deep recursion ends the process."""
    assert evaluates_frames(), f"{item.nodeid}: torch left its evaluation of frames behind"
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "_C"):
        conjugate = torch.tensor(1j, device="cpu").conj()
        excluded = torch._C._dispatch_tls_local_exclude_set()
        assert conjugate.resolve_conj().imag.item() == (conjugate + 0).imag.item() == -1, f"{item.nodeid}: {excluded}"
