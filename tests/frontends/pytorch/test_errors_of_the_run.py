"""Errors only at other sizes, or with other data, than those of the trace: as in eager torch."""

from __future__ import annotations

import math

import pytest
import torch

from frontends.pytorch import compile

PLACES = (1, 2, 0, 4, -4, -5, 7)


def written(x, place):
    y = x.clone()
    y[place.item(), 1] = 3
    return y


def of_what_is_found(x, place):
    found = x[x > 9]
    return found[place.item()]


def one_place_of_a_slice(x, place):
    number = place.item()
    return x[number : number + 2][1]


def checked(check, *message):
    def program(x, place):
        number = place.item()
        check(number < 3, *message)
        return x * number
    return program


OF_DATA = {
    "of data": lambda x, place: x[place.item()] * 2,
    "along the last axis": lambda x, place: x[..., place.item()] + 1,
    "behind a new axis": lambda x, place: x[None, 0, place.item()],
    "beside a tensor": lambda x, place: x[torch.tensor([0, 1]), place.item()],
    "written": written,
    "selected": lambda x, place: x.select(0, place.item()) + x.select_scatter(torch.ones(3), 0, place.item()),
    "narrowed": lambda x, place: x.narrow(0, place.item(), 1) * 2,
    "narrowed too far": lambda x, place: torch.narrow(x, 0, start=place.item(), length=3),
    "narrowed by a tensor": lambda x, place: torch.narrow(x, 0, place, 1),
    "of what is found": of_what_is_found,
    "of many that are found": lambda x, place: (x > 0.5).nonzero()[place.item()],
    "of a size": lambda x, place: x[place.abs().reshape(1).nonzero().shape[0] + 3],
    "one place of a slice": one_place_of_a_slice,
    "an index that is checked": checked(torch._check_index),
    "a value that is checked": checked(torch._check_value, lambda: "too large"),
    "a type that is checked": checked(torch._check_type),
    "what is not there yet": checked(torch._check_not_implemented),
    "divided": lambda x, place: x * (10 // place.item()),
    "a remainder": lambda x, place: x * (10 % place.item()),
    "divided exactly": lambda x, place: x * (10 / place.item()),
    "floats divided": lambda x, place: x * (5.5 // place.item()),
    "rows of a quotient": lambda x, place: x.new_zeros(x.shape[0] // place.item()),
    "shifted": lambda x, place: x * (1 << place.item()) + (x.shape[1] >> place.item()),
    "a root": lambda x, place: x * math.sqrt(place.item()),
    "a logarithm": lambda x, place: x * math.log(place.item()),
    "an infinite integer": lambda x, place: x * int(place.double().abs().log().item()),
}

OF_SIZES = {
    "a quotient": lambda x: x * (10 // (x.shape[0] - 3)),
    "a remainder": lambda x: x * (10 % (x.shape[0] - 3)),
    "an exact quotient": lambda x: x * (10 / (x.shape[0] - 3)),
    "a shift": lambda x: x * (1 << (x.shape[0] - 3)),
    "a root": lambda x: x * math.sqrt(x.shape[0] - 3),
    "a logarithm": lambda x: x * math.log(x.shape[0] - 3),
    "an index": lambda x: x[x.shape[0] - 3 - x.shape[1]],
}


def outcome(call, *given) -> object:
    """The result of a call, or that it raised: Dynamo raises errors of torch's where Python raises its own."""
    try:
        return call(*given)
    except Exception:
        return "raises"


def assert_alike(found: object, expected: object) -> None:
    if isinstance(expected, torch.Tensor):
        assert isinstance(found, torch.Tensor), found
        torch.testing.assert_close(found, expected, equal_nan=True)
    else:
        assert found == expected


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", OF_DATA.values(), ids=OF_DATA)
def test_of_data(program, backend: str) -> None:
    """Wrong data raises the error that it raises in eager, also with kernels, which have 0 for invalid numbers."""
    compiled = compile(program, dynamic=True, backend=backend)
    seen = set()
    for place in PLACES:
        x = torch.linspace(-2, 2, 12).reshape(4, 3).cos()
        expected = outcome(program, x, torch.tensor(place))
        assert_alike(outcome(compiled, x.clone(), torch.tensor(place)), expected)
        seen.add(type(expected))
    assert str in seen


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", OF_SIZES)
def test_of_sizes(name: str, backend: str) -> None:
    """A graph raises Python's error at the sizes at which Python raises."""
    program = OF_SIZES[name]
    compiled = compile(program, dynamic=True, backend=backend)
    seen = set()
    for rows in (6, 7, 3, 2, 5, 3):
        x = torch.linspace(-2, 2, 4 * rows).reshape(rows, 4)
        expected = outcome(program, x)
        assert_alike(outcome(compiled, x), expected)
        seen.add(type(expected))
    assert seen == {torch.Tensor, str}


def test_a_check_that_raises_an_error_of_the_programs_own() -> None:
    """A check that raises the program's own class of error raises the same when compiled."""

    class Wrong(Exception):
        pass

    def program(x):
        torch._check_with(Wrong, x.sum().item() < 9, lambda: "too large")
        return x * 2

    compiled = compile(program, dynamic=True)
    for size in (2, 5, 3, 20, 2):
        assert_alike(outcome(compiled, torch.ones(size)), outcome(program, torch.ones(size)))
