"""Exceptions: chained, grouped, swallowed, raised by generators and contexts."""

import contextlib

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("exceptions")
program = FAMILY.program


class Coded(Exception):
    def __init__(self, message, *, code=3):
        super().__init__(message)
        self.code = code


@program("n m")
def custom(x):
    try:
        raise Coded("m", code=x.shape[0])
    except Coded as e:
        return (x + e.code, str(e), e.args)


@program("n m", thorough=True)
def finally_return(x):
    def f():
        try:
            raise ValueError
        finally:
            return x + 1

    return f()


@program("n m", thorough=True)
def nested_finally(x):
    log = []
    try:
        try:
            raise ValueError("a")
        finally:
            log.append(1)
    except ValueError:
        log.append(2)
    else:
        log.append(3)
    finally:
        log.append(4)
    return (x, log)


@program("n m", thorough=True)
def loop_continue(x):
    out = []
    for i in range(4):
        try:
            if i == 2:
                continue
            if i == 3:
                break
            out.append(x * i)
        finally:
            out.append(i)
    return out


@program("n m")
def context_chain(x):
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            {}["a"]
    except KeyError as e:
        return (type(e.__context__).__name__, e.__cause__, x)


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
def uncaught_custom(x):
    raise Coded("bad", code=4)


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
def stopiteration_value(x):
    def g():
        yield 1
        return x * 7

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as s:
        return s.value


@program("n m", thorough=True)
def generator_raises(x):
    def g():
        yield x
        raise ValueError("in g")

    out = []
    try:
        for v in g():
            out.append(v + 1)
    except ValueError as e:
        out.append(str(e))
    return out


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
def with_raises_in_exit(x):
    class C:
        def __enter__(self):
            return 1

        def __exit__(self, *a):
            raise KeyError("exit")

    try:
        with C():
            raise ValueError("body")
    except KeyError as e:
        return (x, type(e.__context__).__name__)


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
def base_exception(x):
    try:
        raise KeyboardInterrupt
    except BaseException as e:
        return (type(e).__name__, x)


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


@program("n m")
def unwinds_state(x):
    d = {}
    try:
        d["a"] = x
        d["b"] = d["zz"]
        d["c"] = 1
    except KeyError:
        pass
    return d


@program("n m", thorough=True)
def attribute_error(x):
    class A:
        pass

    try:
        A().foo
    except AttributeError as e:
        return (e.name, x)


@program("n m", thorough=True)
def key_of_tensor(x):
    try:
        raise ValueError(x.sum())
    except ValueError as e:
        return e.args[0] + 1


@program("n m", thorough=True)
def in_comprehension(x):
    def f(i):
        if i == 1:
            raise ValueError
        return i

    def safe(i):
        try:
            return f(i)
        except ValueError:
            return -1

    return [x * safe(i) for i in range(3)]
