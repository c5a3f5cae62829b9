"""Changes in place that overlap what they read: refused where eager torch refuses them, at every size."""

import pytest
import torch

from frontends.pytorch import compile


def caught(x):
    try:
        return x.add_(x[0])
    except RuntimeError:
        return x * 7


PROGRAMS = {
    "a row is added to all": lambda x: x.add_(x[0]),
    "a row is added to another": lambda x: x[1].add_(x[0]),
    "the whole": lambda x: x.mul_(x),
    "the whole as another view": lambda x: x.mul_(x.view(-1).view(x.shape)),
    "its transpose": lambda x: x.add_(x.t()),
    "rows by the rows before": lambda x: x[1:].add_(x[:-1]),
    "elements by those before": lambda x: x.view(-1)[1:].sub_(x.view(-1)[:-1]),
    "first rows from the last": lambda x: x[:2].copy_(x[-2:]),
    "one column by another": lambda x: x[:, 0].add_(x[:, 1]),
    "a result of the program": lambda x: (lambda y: y.add_(y[0]))(x * 2),
    "a copy": lambda x: x.add_(x[0].clone()),
    "an error that is caught": caught,
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_overlap(name: str, backend: str) -> None:
    """If it fails, a trace goes on where eager raises, or refuses what eager does."""
    program = PROGRAMS[name]
    compiled = compile(program, backend=backend, dynamic=True)
    for rows, columns in ((3, 4), (5, 2), (4, 4), (2, 3)):
        found, expected = (torch.arange(1.0, rows * columns + 1).view(rows, columns) for _ in range(2))
        try:
            result = program(expected)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                compiled(found)
            continue
        torch.testing.assert_close(compiled(found), result)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "program", [lambda x: x - True, lambda x: 1 - (x > 0), lambda x: (x > 0) - 2.5, lambda x: x.sub_(True)]
)
@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_booleans_are_not_subtracted(program, backend: str) -> None:
    """If it fails, a kernel computes what eager refuses: torch's meta functions take a boolean for a number."""
    with pytest.raises(RuntimeError, match="bool tensor"):
        compile(program, backend=backend, dynamic=True)(torch.ones(3))
