"""With-statements: contexts of torch, of classes and of generators."""

import contextlib

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("contexts")
program, stateful = FAMILY.program, FAMILY.stateful


class Without:
    """Without gradients, by torch's own switch."""

    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        return self

    def __exit__(self, *error):
        torch._C._set_grad_enabled(self.before)


class Forgiving:
    def __enter__(self):
        return 3

    def __exit__(self, kind, error, trace):
        return kind is ValueError


@contextlib.contextmanager
def generated():
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


@program("n m")
def context_of_a_generator(x):
    with generated():
        y = x * 2
    return y + x


@program("n m")
def context_of_a_class(x):
    with Without() as found:
        y = x * 2
    return y, found.before, x * 3


@program("n m")
def context_that_forgives(x):
    y = x
    with Forgiving() as count:
        y = x * count
        raise ValueError
    return y + 1


@program("n m")
def narrow_numbers(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = torch.mm(x, x.t())
        with torch.autocast("cpu", enabled=False):
            second = torch.mm(first.float(), first.float())
    return first.float() * 0 + 1, second.dtype == torch.float32, torch.is_autocast_enabled("cpu")


@program("n m")
def error_inside_a_context(x):
    try:
        with torch.no_grad():
            y = x * 2
            raise RuntimeError("stop")
    except RuntimeError as error:
        return y, x * 3, torch.is_grad_enabled(), str(error)
