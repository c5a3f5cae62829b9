"""Errors and generators: raised, caught, named, thrown into, closed."""

import functools
import sys
from enum import Enum

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("raised and caught")
program = FAMILY.program


@program("n")
def except_cause(x):
    try:
        try:
            raise ValueError("a")
        except ValueError as e:
            raise KeyError("b") from e
    except KeyError as k:
        return (
            type(k.__cause__).__name__,
            type(k.__context__).__name__,
            k.__suppress_context__,
            k.__traceback__ is not None,
        )


@program("n")
def exc_info(x):
    try:
        raise ValueError("a")
    except ValueError:
        return (sys.exc_info()[0].__name__, x)


@program("n")
def generator_with_finally(x):
    log = []

    def g():
        try:
            yield x
            yield (x + 1)
        finally:
            log.append("closed")

    it = g()
    a = next(it)
    it.close()
    return (a, log)


@program("n")
def generator_return(x):
    def g():
        r = yield x
        return r * 2

    def h():
        v = yield from g()
        yield (v + 1)

    it = h()
    next(it)
    return it.send(x + 3)


@program("n")
def map_is_returned(x):
    return (
        list(map(lambda a: a + 1, [x])),
        [type(v).__name__ for v in (map(abs, []), zip(), filter(None, []), enumerate([]), reversed([]), iter([]))],
    )


class Kind(Enum):
    FIRST = "first"
    SECOND = "second"


@program("n m")
def keys_of_an_enumeration(x):
    kind = Kind.FIRST if x.shape[0] > 3 else Kind.SECOND
    return {Kind.FIRST: x * 2, Kind.SECOND: x * 3}[kind]


@program("n m")
def caught_and_printed(x):
    try:
        if x.shape[0] == 5:
            raise KeyError("five")
        return x
    except KeyError as error:
        return x * 2, error.args
    finally:
        print("done", x.shape[0])


@program("n m")
def name_that_was_deleted(x):
    y = x + 1
    del y
    return y  # noqa: F821


@program("n m")
def wrapped_function(x):
    @functools.wraps(torch.sin)
    def inner(y):
        return y.cos()

    return inner(x), inner.__name__
