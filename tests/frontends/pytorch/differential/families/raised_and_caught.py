"""Errors and generators: raised, caught, named, thrown into, closed."""

import functools
import sys
from enum import Enum

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("raised and caught")
program = FAMILY.program


@program("n")
def exc_info(x):
    try:
        raise ValueError("a")
    except ValueError:
        return (sys.exc_info()[0].__name__, x)


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


@program("n m")
def assert_message(x):
    try:
        assert x.shape[0] == 99, f"got {x.shape[0]}"
    except AssertionError as e:
        return (str(e), x)


@program("n m")
def bare_raise_nothing(x):
    try:
        raise  # noqa: PLE0704
    except RuntimeError as e:
        return (str(e), x)


@program("n", thorough=True)
def try_except_else(x):
    try:
        x.view(7, 7)
    except RuntimeError as e:
        return (x + 1, type(e).__name__)
    else:
        return x
    finally:
        pass
