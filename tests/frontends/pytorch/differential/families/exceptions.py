"""Exceptions: chained, grouped, swallowed, raised by generators and contexts."""

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("exceptions")
program = FAMILY.program


@program("n m")
def deleted_name(x):
    try:
        raise ValueError("a")
    except ValueError:
        pass
    try:
        e
    except NameError:
        return x + 1
    return x


@program("n m")
def assert_message(x):
    try:
        assert x.shape[0] == 99, f"got {x.shape[0]}"
    except AssertionError as e:
        return (str(e), x)


@program("n m")
def gen_runtime(x):
    def g():
        yield 1
        raise StopIteration

    try:
        list(g())
    except RuntimeError as e:
        return (x, str(e), type(e.__cause__).__name__)


@program("n m")
def bare_raise_nothing(x):
    try:
        raise  # noqa: PLE0704
    except RuntimeError as e:
        return (str(e), x)
