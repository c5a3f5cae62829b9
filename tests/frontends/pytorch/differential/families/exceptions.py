"""Exceptions: chained, grouped, swallowed, raised by generators and contexts."""

import contextlib

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("exceptions")
program = FAMILY.program


class Coded(Exception):
    def __init__(self, message, *, code=3):
        super().__init__(message)
        self.code = code


@program("n m", thorough=True)
def raise_from_none(x):
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            raise ValueError("b") from None
    except ValueError as e:
        return (e.__suppress_context__, e.__context__ is not None, x)


@program("n m", thorough=True)
def uncaught_cause(x):
    try:
        x.view(1000)
    except RuntimeError as e:
        raise Coded("c") from e


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


@program("n m", thorough=True)
def tuple_of_types(x):
    for Kind in (KeyError, IndexError, ValueError):
        try:
            raise Kind("z")
        except (KeyError, IndexError):
            x = x + 1
        except Exception:
            x = x * 2
    return x


@program("n m", thorough=True)
def dynamic_type(x):
    errs = (ValueError,)
    try:
        int("z")
    except errs:
        return x + 2


@program("n m", thorough=True)
def group_nested(x):
    n = 0
    try:
        raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError(2), TypeError(3)])])
    except* (ValueError, KeyError) as e:
        n += len(e.exceptions)
    except* TypeError:
        n += 10
    return x * n


@program("n m")
def assert_message(x):
    try:
        assert x.shape[0] == 99, f"got {x.shape[0]}"
    except AssertionError as e:
        return (str(e), x)


@program("n m", thorough=True)
def generatorexit(x):
    log = []

    def g():
        try:
            yield x
        except GeneratorExit:
            log.append("exit")
            raise

    it = g()
    next(it)
    it.close()
    return (x, log)


@program("n m")
def gen_runtime(x):
    def g():
        yield 1
        raise StopIteration

    try:
        list(g())
    except RuntimeError as e:
        return (x, str(e), type(e.__cause__).__name__)


@program("n m", thorough=True)
def with_suppress_in_gen(x):
    @contextlib.contextmanager
    def cm():
        try:
            yield 5
        except ValueError:
            pass

    with cm() as v:
        x = x * v
        raise ValueError
    return x


@program("n m", thorough=True)
def traceback_has_frames(x):
    def inner():
        raise ValueError("q")

    try:
        inner()
    except ValueError as e:
        tb = e.__traceback__
        n = 0
        while tb:
            n += 1
            tb = tb.tb_next
        return (n, x)


@program("n m")
def bare_raise_nothing(x):
    try:
        raise  # noqa: PLE0704
    except RuntimeError as e:
        return (str(e), x)


@program("n m", thorough=True)
def isinstance(x):
    e = ValueError("a", 1)
    return (isinstance(e, Exception), e.args, issubclass(type(e), ValueError), x)


@program("n m", thorough=True)
def note(x):
    try:
        try:
            raise ValueError("a")
        except ValueError as e:
            e.add_note("hello")
            raise
    except ValueError as e:
        return (e.__notes__, x)
