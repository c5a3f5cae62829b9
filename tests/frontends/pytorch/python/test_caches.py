"""What Python's own library fills for itself while it is asked is no change by the program that asks.

Each program is made anew, with the caches as they are when nothing has asked yet, whichever tests ran before.
"""

from __future__ import annotations

import enum
import functools
import ipaddress
from collections.abc import Callable

import pytest
import torch

from frontends.pytorch import compile

Program = Callable[[torch.Tensor], object]


def dispatched() -> Program:
    @functools.singledispatch
    def factor(number: object) -> float:
        return 2.0

    factor.register(int, lambda number: number * 3.0)
    return lambda x: x * factor(x.shape[0]) + factor("text")


def dispatched_method() -> Program:
    class Owner:
        @functools.singledispatchmethod
        def factor(self, number: object) -> float:
            return 2.0

    Owner.factor.register(int, lambda self, number: number * 3.0)
    return lambda x: x * Owner().factor(x.shape[0])


def flags() -> type[enum.Flag]:
    class Flags(enum.Flag):
        FIRST = 1
        SECOND = 2
        THIRD = 4

    return Flags


def combined_flags() -> Program:
    made = flags()
    return lambda x: x * (made.FIRST | made.THIRD).value


def inverted_flag() -> Program:
    made = flags()
    return lambda x: x * (~made.SECOND).value


def flags_of_a_number() -> Program:
    made = flags()
    return lambda x: x * len(list(made(x.dim() * 6)))


def property_of_an_address() -> Program:
    network = ipaddress.ip_network("10.0.0.0/8")
    return lambda x: x * (int(network.broadcast_address) % 7)


PROGRAMS = (dispatched, dispatched_method, combined_flags, inverted_flag, flags_of_a_number, property_of_an_address)


@pytest.mark.parametrize("make", PROGRAMS)
def test_one_graph(make: Callable[[], Program]) -> None:
    """If it fails, a program has no graph, or another one, before or after such a cache is filled."""
    expected, program = make(), make()
    compiled = compile(program, dynamic=True, fullgraph=True)
    for rows in (3, 4, 5):
        assert torch.equal(compiled(torch.ones(rows)), expected(torch.ones(rows)))
        # in eager torch, which fills what a trace has left empty
        assert torch.equal(program(torch.ones(rows)), expected(torch.ones(rows)))
    assert len(compiled.variants) == 1


def registers() -> tuple[Program, Callable[[], object]]:
    class Late:
        pass

    @functools.singledispatch
    def factor(number: object) -> float:
        return 2.0

    def program(x):
        before = factor(Late())
        factor.register(Late, lambda number: before + 1.0)
        return x * factor(Late())

    return program, lambda: (factor(Late()), Late in factor.registry)


def sets_an_attribute_of_a_member() -> tuple[Program, Callable[[], object]]:
    made = flags()

    def program(x):
        made.FIRST.count = getattr(made.FIRST, "count", 0) + 1
        return x * made.FIRST.count

    return program, lambda: made.FIRST.count


def adds_to_what_a_member_holds() -> tuple[Program, Callable[[], object]]:
    class Kinds(enum.Enum):
        LISTED = [1]

    def program(x):
        Kinds.LISTED.value.append(len(Kinds.LISTED.value))
        return x * len(Kinds.LISTED.value)

    return program, lambda: list(Kinds.LISTED.value)


@pytest.mark.parametrize("make", [registers, sets_an_attribute_of_a_member, adds_to_what_a_member_holds])
def test_what_the_program_changes_there(make: Callable[[], tuple[Program, Callable[[], object]]]) -> None:
    """If it fails, what a program changes behind such a cache is lost, done twice, or hidden by the cache."""
    (expected, wanted), (program, state) = make(), make()
    compiled = compile(program, dynamic=True)
    for rows in (3, 4, 3):
        assert torch.equal(compiled(torch.ones(rows)), expected(torch.ones(rows)))
        assert state() == wanted()
