"""How calls that change what outlives them are made: from C where nothing given changes, else taken apart once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from frontends.pytorch import compile, load
from frontends.pytorch.errors import ConstraintViolation
from tests.frontends.pytorch.python.test_state_of_programs import Counter, assigns_a_buffer, counts, keeps_a_state


def remembers(self, x):
    self.kept = x * 2
    return self.kept, x + 1


@pytest.mark.parametrize("forward", [counts, keeps_a_state, assigns_a_buffer, remembers])
def test_are_made_from_c(forward: Callable[..., object]) -> None:
    """If it fails, calls that change a module go through Python, or do not change it when they do not."""
    one, other = [type("Stateful", (Counter,), {"forward": forward})() for _ in range(2)]
    compiled = compile(other, dynamic=True, backend="cpu")
    for number, size in enumerate((3, 5, 2, 4, 7, 3)):
        x = torch.linspace(-1, 1, size * 4).reshape(size, 4)
        with torch.no_grad():
            wanted = one(x)
            found = compiled(x) if number < 4 else compiled.native.entry((x,), {})
        assert found is not NotImplemented
        torch.testing.assert_close(found, wanted)
        for key in ("calls", "mean", "state", "memory", "kept"):
            torch.testing.assert_close(getattr(other, key), getattr(one, key))
    if forward is remembers:
        assert found[0] is other.kept


class Pair:
    def __init__(self, x, n):
        self.x, self.n = x, n


class Sub(Pair):
    pass


class Slotted:
    __slots__ = ("n", "x")

    def __init__(self, x, n):
        self.x, self.n = x, n


class Watched(Pair):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value if name != "n" else value + 1)


class Property(Pair):
    @property
    def n(self):
        return self._n

    @n.setter
    def n(self, value):
        self._n = value * 2


def reversed_attributes(x, n):
    made = Pair.__new__(Pair)
    made.n, made.x = n, x
    return made


def with_more(x, n):
    made = Pair(x, n)
    made.more = x
    return made


def moves(x, pair):
    pair.x = torch.cat([pair.x, x])
    pair.n += x.shape[0]
    return pair.x.sum(0) * pair.n


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_objects_of_other_kinds(backend: str) -> None:
    """If it fails, an object is taken for one of another class, or with other attributes, or set past its setters."""
    compiled = compile(moves, dynamic=True, backend=backend)
    kinds = (Pair, Sub, reversed_attributes, with_more, Slotted, Watched, Property)
    for number, kind in enumerate([*kinds, *reversed(kinds), *kinds]):
        x = torch.linspace(0, 1, 4 * (number % 5 + 1)).reshape(-1, 4)
        one, other = [kind(torch.ones(2, 4), 3) for _ in range(2)]
        for _ in range(2):
            torch.testing.assert_close(compiled(x, other), moves(x, one))
            torch.testing.assert_close(other.x, one.x)
            assert other.n == one.n
            if hasattr(one, "__dict__"):
                assert list(vars(other)) == list(vars(one))
    assert len(compiled.variants) > 2


def test_an_attribute_that_is_gone() -> None:
    """If it fails, an object without one of its attributes is taken for one that has it."""
    compiled = compile(moves, dynamic=True)
    for _ in range(3):
        compiled(torch.ones(1, 4), Pair(torch.ones(2, 4), 3))
    without = Pair(torch.ones(2, 4), 3)
    del without.n
    with pytest.raises(AttributeError, match="n"):
        compiled(torch.ones(1, 4), without)
    assert without.x.shape == (3, 4)


def keeps(x, seen):
    seen.append(x * 2)
    return x + 1


def test_a_list_that_another_thread_changes() -> None:
    """If it fails, a list that grows between the look-up of a call and the call raises what eager torch does not."""
    compiled, x = compile(keeps, dynamic=True), torch.ones(2)
    compiled(x, [])
    seen: list[object] = []
    found = compiled._compilation.lookup((x, seen), {})
    seen.append("from elsewhere")
    assert found((x, seen), {}).tolist() == [2.0, 2.0]
    assert seen[0] == "from elsewhere" and seen[1].tolist() == [2.0, 2.0]


KEPT: list[torch.Tensor] = []


def reads_what_it_is_given(x, given):
    KEPT.append(x * 2)
    return x + len(given)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_what_is_changed_may_be_given(backend: str) -> None:
    """If it fails, a list that is given and that the call changes by another name is read as it was before."""
    compiled = compile(reads_what_it_is_given, dynamic=True, backend=backend)
    x = torch.zeros(2)
    for _ in range(4):
        KEPT[:] = [x]
        assert compiled(x, [x]).tolist() == [1.0, 1.0]
        KEPT[:] = [x]
        assert compiled(x, KEPT).tolist() == [2.0, 2.0]
        assert len(KEPT) == 2
    KEPT.clear()
    assert compiled.variants


LOGGED: list[torch.Tensor] = []


def logs(x):
    LOGGED.append(x.sum(0))
    print("rows", x.shape[0])
    return x * 2


def test_are_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, what was saved does nothing to the world when it is called, or does so when it is loaded."""
    compiled = compile(logs, dynamic=True, backend="cpu")
    compiled(torch.ones(2, 2))
    compiled.save(tmp_path / "saved")
    LOGGED.clear()
    capsys.readouterr()
    loaded = load(tmp_path / "saved", logs)
    assert not LOGGED and not capsys.readouterr().out
    for rows in (3, 5):
        assert loaded(torch.ones(rows, 2)).sum().item() == 4 * rows
    assert [each.tolist() for each in LOGGED] == [[3.0, 3.0], [5.0, 5.0]]
    assert capsys.readouterr().out == "rows 3\nrows 5\n" and len(loaded.variants) == 1
    LOGGED.clear()


def test_state_that_is_an_input_is_not_saved(tmp_path: Path) -> None:
    """If it fails, a state is saved that nothing tells of in another process."""
    compiled = compile(type("Stateful", (Counter,), {"forward": keeps_a_state})(), dynamic=True, backend="cpu")
    for rows in (2, 3, 4):
        compiled(torch.ones(rows, 4))
    with pytest.raises(ConstraintViolation, match="reads without being given"):
        compiled.save(tmp_path / "saved")
