"""What a graph relies on of parameters and buffers: what is remembered of it, and what must be seen."""

from __future__ import annotations

from collections import OrderedDict

import pytest
import torch

from backends.cpu.launcher import Unavailable, launcher, learning
from frontends.pytorch import compile
from frontends.pytorch.calls import reads
from frontends.pytorch.calls.identity_guards import Held, Layouts
from frontends.pytorch.calls.reads import layout


@pytest.fixture(params=["remembered", "read anew"])
def layouts(request, monkeypatch):
    """Makes what tests tensors, with what C remembers, and as it is where there is no compiler."""
    if request.param == "read anew":
        monkeypatch.setattr("frontends.pytorch.calls.identity_guards.launcher", lambda: Unavailable("not here"))

    def made(*tensors):
        found = Layouts(tensors, [layout(tensor) for tensor in tensors], layout)
        assert found.unchanged() and found.unchanged()
        return found

    return made


def resized(x):
    x.data = torch.zeros(x.numel() + 1)


def other_dtype(x):
    x.data = x.data.double()


def turned(x):
    x.data = x.data.t()


def frozen(x):
    x.requires_grad_(not x.requires_grad)


def made_of_one_that_learns(x):
    x.mul_(torch.ones_like(x).requires_grad_())


def resized_in_place(x):
    with torch.no_grad():
        x.set_(torch.zeros(2))


def moved_in_storage(x):
    x.data = torch.zeros(60).as_strided(x.shape, x.stride(), 7)


def same_again(x):
    x.data = x.data.clone(memory_format=torch.preserve_format)


def learned_from(x):
    (x.clone().requires_grad_() if not x.requires_grad else x).sum().backward()


def changed_in_place(x):
    with torch.no_grad():
        x.add_(1)


SEEN = [resized, other_dtype, turned, frozen, resized_in_place]
NOT_SEEN = [moved_in_storage, same_again, learned_from, changed_in_place]
TENSORS = {
    "buffer": lambda: torch.ones(3, 4),
    "parameter": lambda: torch.nn.Parameter(torch.ones(3, 4)),
    "frozen": lambda: torch.nn.Parameter(torch.ones(3, 4), requires_grad=False),
    "many axes": lambda: torch.ones(3, 2, 1, 1, 2, 1).transpose(0, 1),
}


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
@pytest.mark.parametrize("change", [*SEEN, *NOT_SEEN, made_of_one_that_learns])
def test_changes_of_a_tensor(layouts, change, tensor):
    """A graph is called for parameters of other sizes, another dtype, or with another need of a gradient."""
    x = tensor()
    if (change is turned and x.dim() > 2) or (change is made_of_one_that_learns and x.requires_grad):
        return
    test = layouts(torch.ones(2), x, torch.ones(5))
    change(x)
    assert test.unchanged() is (change in NOT_SEEN)
    assert test.unchanged() is (change in NOT_SEEN)


def test_it_is_again_what_it_was(layouts):
    """A model that goes back to what it was is traced again."""
    x = torch.nn.Parameter(torch.ones(3))
    test, before = layouts(x), x.data
    for _ in range(2):
        x.data = torch.ones(4)
        assert not test.unchanged()
        x.data = before
        assert test.unchanged()
        x.requires_grad_(False)
        assert not test.unchanged()
        x.requires_grad_(True)
        assert test.unchanged()


def test_views_and_what_they_are_of(layouts):
    """A buffer that is part of another tensor comes to require a gradient with that one."""
    base = torch.ones(6)
    part = base[2:4]
    test = layouts(part)
    base.mul_(torch.ones(6).requires_grad_())
    assert part.requires_grad and not test.unchanged()


def test_swapped_tensors(layouts):
    """A parameter whose content was swapped with another's is taken for what it was."""
    x, y = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(4))
    test = layouts(x)
    torch.utils.swap_tensors(x, y)
    assert not test.unchanged()


def test_tensors_that_no_kernel_reads(layouts):
    """A buffer that is sparse ends the test, or hides what changes beside it."""
    x = torch.ones(3)
    test = layouts(torch.eye(3).to_sparse(), x)
    x.data = torch.ones(4)
    assert not test.unchanged()


def test_calls_do_not_read_what_has_not_changed(monkeypatch):
    """Each call reads the sizes of all parameters in Python."""
    if isinstance(launcher(), Unavailable):
        pytest.skip("no compiler")
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)).eval()
    compiled = compile(model, backend="cpu")
    read = []
    monkeypatch.setattr(reads, "layout", lambda tensor: read.append(tensor) or layout(tensor))
    x = torch.ones(3, 4)
    for _ in range(2):
        compiled(x)
    assert read
    read.clear()
    for _ in range(5):
        compiled(x)
    assert not read
    model[0].weight.data = torch.ones(4, 4).double().float()
    torch.testing.assert_close(compiled(x), model(x))


def test_where_torch_keeps_what_is_seen():
    """What was learned of this torch is not used, and every call asks it about every tensor. (Another torch may keep it
    elsewhere: then this is where to look.)"""
    found = learning.learned()
    assert found.implementation and found.kinds and found.elements and found.words and len(found.learned) == 2
    with torch.inference_mode():
        assert learning.learned() == found
    with torch.no_grad():
        assert learning.learned() == found


def test_dictionaries_that_were_not_changed_are_not_looked_at():
    """A place in a dictionary is forgotten because another one in it was right, or looked at again though nothing was
    changed, or not looked at though something was."""
    container, other = {"a": [1], "b": [2]}, {"a": [3]}
    held = Held()
    held.item(container, "a", container["a"])
    held.item(other, "a", other["a"])
    held.count(other, 1)
    held.item(container, "b", container["b"])
    unchanged = held.test()
    assert unchanged() and unchanged()
    for change, back in (
        (lambda: container.update(b=[2]), container["b"]),
        (lambda: container.pop("b"), container["b"]),
        (lambda: container.clear(), None),
    ):
        kept = dict(container)
        change()
        assert not unchanged() and not unchanged()
        container.update(kept)
        assert unchanged() and unchanged(), back
    other["c"] = 1
    assert not unchanged() and not unchanged()
    del other["c"]
    assert unchanged()
    other["a"] = [3]
    assert not unchanged()


def test_attributes_of_classes():
    """An attribute of a class is set, or comes from another class, and the old graph runs."""

    class Settings:
        scale = 2.5

    first = Settings.scale
    held = Held()
    held.item(vars(Settings), "scale", first)
    unchanged = held.test()
    assert unchanged() and unchanged()
    for _ in range(3):
        Settings.scale = 3.5
        assert not unchanged()
        setattr(Settings, "scale", first)  # noqa: B010
        assert unchanged() and unchanged()
        del Settings.scale
        assert not unchanged()
        type.__setattr__(Settings, "scale", first)
        assert unchanged()


def test_ordered_dictionaries():
    """A hook that is added, taken away or replaced is not noticed."""
    hooks = OrderedDict()
    held = Held()
    held.count(hooks, 0)
    unchanged = held.test()
    assert unchanged() and unchanged()
    hooks[1] = print
    assert not unchanged()
    hooks.popitem()
    assert unchanged() and unchanged()
    hooks.update({2: print})
    assert not unchanged()
    del hooks[2]
    assert unchanged()
    hooks.setdefault(3, print)
    assert not unchanged()
    hooks.clear()
    assert unchanged()
    filled = OrderedDict(a=1)
    held = Held()
    held.item(filled, "a", filled["a"])
    unchanged = held.test()
    assert unchanged() and unchanged()
    for change in (lambda: filled.__setitem__("a", "b"), lambda: filled.pop("a"), lambda: filled.update(a="c")):
        change()
        assert not unchanged()
        filled["a"] = 1
        assert unchanged() and unchanged()


def test_attributes_of_objects_are_changed_in_all_ways():
    """The attributes of an object are changed in a way that its dictionary does not count."""

    class Settings:
        pass

    settings = Settings()
    settings.scale, settings.other = 2.5, 1
    first = settings.scale
    held = Held()
    held.item(vars(settings), "scale", first)

    def by_statement(value):
        settings.scale = value

    ways = [
        by_statement,
        lambda value: setattr(settings, "scale", value),
        lambda value: object.__setattr__(settings, "scale", value),
        lambda value: vars(settings).update(scale=value),
        lambda value: settings.__dict__.__setitem__("scale", value),
    ]
    unchanged = held.test()
    for way in ways:
        for _ in range(40):  # often enough for Python to have its own short way for it
            way(first)
            assert unchanged()
            way(3.5)
            assert not unchanged()
        way(first)
    settings.__dict__ = {"scale": 1}
    assert unchanged()  # where the dictionary itself comes from is another place
