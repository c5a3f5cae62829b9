"""Facts about a function's code."""

from __future__ import annotations

from types import CodeType

import pytest

from frontends.bytecode import generators_in


def parsed(expression: str) -> CodeType:
    code = compile(f"def f(x):\n    return {expression}\n", "f.py", "exec").co_consts[0]
    assert isinstance(code, CodeType)
    return code


READERS = {
    "all(n for n in x)": True,
    "print(all(n for n in x))": True,
    "kept.append(n for n in x)": False,
    "list.append(n for n in x)": False,
    "list(x)(n for n in x)": False,
    "max[0](n for n in x)": False,
    "sum((n for n in x), 1)": False,
    "set(n for n in x)": False,
}
"""Expressions, and whether a builtin reads their generator at once, where a global is named `set`."""


@pytest.mark.parametrize("expression", READERS)
def test_readers_of_generators(expression: str) -> None:
    """A generator that is given to something with a builtin's name is taken for one that is read to its end."""
    made = generators_in(parsed(expression), {"set": id})
    assert (not list(made)) == READERS[expression]
