"""Backends with one fault each, which the conformance suite has to find."""

from __future__ import annotations

import torch

from backends import interpreter
from docs.examples.pytorch.kernel_backend import WholeGrid


class LaunchesNothing(WholeGrid):
    def kernels(self, scheduled, decisions, /):
        return [lambda *arguments: None for _ in scheduled]


class KnowsItsFirstSizes(WholeGrid):
    """Kernels that are compiled for the sizes of the first launch."""

    def kernels(self, scheduled, decisions, /):
        return [self._first(kernel) for kernel in scheduled]

    def _first(self, kernel):
        launch, seen = interpreter.launch(kernel), []

        def run(*arguments):
            count = len(kernel.buffers)
            seen[:] = seen or arguments[count:]
            launch(*arguments[:count], *seen)

        return run


class IgnoresStrides(WholeGrid):
    def allocate(self, sizes, strides, dtype, /):
        return torch.empty(sizes, dtype=dtype)


class SharesResults(WholeGrid):
    """Memory of the last call of the same sizes is given again."""

    def __init__(self):
        super().__init__()
        self.made = {}

    def allocate(self, sizes, strides, dtype, /):
        key = (tuple(sizes), tuple(strides), dtype)
        return self.made.setdefault(key, super().allocate(sizes, strides, dtype))


class WritesItsArguments(WholeGrid):
    def kernels(self, scheduled, decisions, /):
        return [self._clearing(kernel) for kernel in scheduled]

    def _clearing(self, kernel):
        launch = interpreter.launch(kernel)

        def run(*arguments):
            launch(*arguments)
            arguments[len(kernel.buffers) - 1].zero_()

        return run


class OneLaunchTooFew(WholeGrid):
    def kernels(self, scheduled, decisions, /):
        return super().kernels(scheduled, decisions)[1:]


class NoThreads(WholeGrid):
    def threads(self):
        return 0


class HasNothing:
    runner = None
