"""Variants that `load` makes without a trace, and what has it trace again, or refuse: whatever a trace reads."""

from __future__ import annotations

import copy
import os
import random
import sys
import types
from pathlib import Path

import pytest
import torch

from backends.cpu.compiler import assume_gnu
from frontends.pytorch import compile, load
from frontends.pytorch.calls import artifact, loading, restoring
from frontends.pytorch.calls.orders import goes_by_order, names_in_order
from frontends.pytorch.errors import WrongArtifact
from shapes.guards import toolchain

FACTOR = 2.0
NAMES = ["relu", "tanh"]
KNOWN = {"relu", "tanh", "sigmoid"}


class Settings:
    shift = 0.5

    def __init__(self) -> None:
        self.power = 2
        self.layers = {"kept": (1, 2)}

    @property
    def more(self) -> float:
        return self.shift * 2


SETTINGS = Settings()


def scaled(x, by=3.0, *, more=1.0):
    return x * by + more


def decorated(function):
    def wrapper(*args):
        return function(*args) * 2

    return wrapper


@decorated
def doubled(x):
    return x + 1


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(self.linear(x)) * self.gain()

    def gain(self):
        return 1.5


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.other = torch.nn.Linear(4, 4)
        self.settings = Settings()
        self.scale = 2
        self.register_buffer("offsets", torch.arange(4.0))

    def forward(self, x):
        y = scaled(self.inner(x) @ self.offsets.diag()) * self.scale + FACTOR
        for name in NAMES:
            y = getattr(torch, name)(y) if name in KNOWN else y
        y = doubled(y) ** self.settings.power + SETTINGS.more + self.settings.layers["kept"][0]
        return {"y": self.other(y), "sizes": x.shape[0]}


def inputs(rows: int = 3) -> torch.Tensor:
    return torch.linspace(-1, 1, rows * 4).reshape(rows, 4)


def made() -> Model:
    torch.manual_seed(0)
    return Model().eval()


@pytest.fixture(autouse=True)
def nothing_stays():
    """No other test of the process is to be given libraries that one of these has loaded."""
    yield
    toolchain.withdraw([*toolchain._supplied])
    assume_gnu(None)


def saved_as(path: Path, fn, *args) -> Path:
    compiled = compile(fn, backend="cpu", dynamic=True)
    with torch.no_grad():
        compiled(*args)
    compiled.save(path)
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    return saved_as(tmp_path_factory.mktemp("restoring") / "model", made(), inputs())


def provenance(loaded) -> list[str]:
    return [variant.provenance for variant in loaded.variants]


def compared(loaded, fn, *calls) -> None:
    for args in calls:
        with torch.no_grad():
            torch.testing.assert_close(loaded(*args), fn(*args))


def test_what_is_the_same_is_restored_without_a_trace(saved: Path, monkeypatch) -> None:
    """If it fails, a second process traces what it could have taken from the file, or what it took is wrong."""

    def no_trace(*args, **kwargs):
        raise AssertionError("it is traced")

    monkeypatch.setattr(restoring, "trace", no_trace)
    model = made()
    torch.nn.init.normal_(model.other.weight, generator=torch.Generator().manual_seed(1))
    loaded = load(saved, model)
    assert provenance(loaded) == ["restored"]
    compared(loaded, model, *[(inputs(rows),) for rows in (3, 2, 5, 1, 64)])
    assert len(loaded.variants) == 1 and not loaded.fallbacks


def test_what_was_restored_is_guarded_as_what_was_traced(saved: Path) -> None:
    """If it fails, a change after loading goes unnoticed, or guards are not those of the trace."""
    model = made()
    loaded, compiled = load(saved, model), compile(model, backend="cpu", dynamic=True)
    with torch.no_grad():
        compiled(inputs())
    assert [*map(str, loaded.variants[0].guards)] == [*map(str, compiled.variants[0].guards)]
    places = [each._compilation.tracer.captured.places for each in (loaded, compiled)]
    assert len(places[0]) == len(places[1]) > 50
    model.scale = 5
    compared(loaded, model, (inputs(),))
    assert len(loaded.variants) == 2
    model.scale = 2
    model.train()
    compared(loaded, model, (inputs(),))
    loaded(inputs(2))["y"].sum().backward()
    assert model.other.weight.grad is not None


def test_graph_and_report_of_what_was_restored(saved: Path) -> None:
    """If it fails, people cannot see what a restored variant is, or are not told that it was restored."""
    loaded = load(saved, made())
    text = loaded.explain()
    assert "artifact: restored" in text and "torch.ops.aten" in text
    assert loaded.report().operators > 5
    assert "traced: " not in text


def test_what_was_restored_is_saved_again(saved: Path, tmp_path: Path) -> None:
    """If it fails, an artifact of an artifact has to be traced, or lacks libraries."""
    load(saved, made()).save(tmp_path / "again")
    loaded = load(tmp_path / "again", made())
    assert provenance(loaded) == ["restored"]
    compared(loaded, made(), (inputs(5),))


# ---------------------------------------------------------------------- what differs


def of_globals(name: str, value: object):
    def change(model, patch) -> None:
        patch.setitem(globals(), name, value)

    return change


def of_class(kind: type, name: str, value: object):
    def change(model, patch) -> None:
        patch.setattr(kind, name, value)

    return change


def of_torch(owner: object, name: str):
    def change(model, patch) -> None:
        original = getattr(owner, name)
        patch.setattr(owner, name, lambda *args, **kwargs: original(*args, **kwargs) * 2)

    return change


def of_model(text: str, value: object):
    def change(model, patch) -> None:
        path, _, name = text.rpartition(".")
        setattr(model.get_submodule(path), name, copy.deepcopy(value))

    return change


def another_forward(self, x):
    return self.norm(self.linear(x)) * self.gain() * 1


def another_gain(self):
    return 2.5


def scaled_otherwise(x, by=3.0, *, more=1.0):
    return x * by - more


class Otherwise(Inner):
    def gain(self):
        return 3.5


def with_defaults(model, patch) -> None:
    patch.setattr(scaled, "__defaults__", (4.0,))


def with_named_defaults(model, patch) -> None:
    patch.setattr(scaled, "__kwdefaults__", {"more": 2.0})


def with_code(model, patch) -> None:
    patch.setattr(scaled, "__code__", scaled_otherwise.__code__)


def with_closure(model, patch) -> None:
    cell = doubled.__closure__[0]
    before = cell.cell_contents
    patch.setattr(cell, "cell_contents", lambda x: before(x) + 1)


def with_a_method_of_its_own(model, patch) -> None:
    model.inner.gain = types.MethodType(another_gain, model.inner)


def with_a_forward_of_its_own(model, patch) -> None:
    model.inner.forward = types.MethodType(another_forward, model.inner)


def with_a_subclass(model, patch) -> None:
    other = Otherwise()
    other.load_state_dict(model.inner.state_dict())
    model.inner = other.eval()


def with_a_hook(model, patch) -> None:
    model.inner.register_forward_hook(lambda module, args, out: out + 1)


def with_training(model, patch) -> None:
    model.inner.train()


def with_other_strides(model, patch) -> None:
    model.other.weight.data = model.other.weight.data.t().contiguous().t()


def with_tied_weights(model, patch) -> None:
    model.other.weight = model.inner.linear.weight


def with_a_part_of_memory(model, patch) -> None:
    model.offsets = torch.arange(5.0)[1:]


def with_another_item(model, patch) -> None:
    model.settings.layers["kept"] = (2, 2)


def with_another_setting(model, patch) -> None:
    model.settings.power = 3


def with_a_setting_of_torch(model, patch) -> None:
    torch.backends.mha.set_fastpath_enabled(False)


CHANGES = {
    "a line of forward": of_class(Inner, "forward", another_forward),
    "a method": of_class(Inner, "gain", another_gain),
    "a function": of_globals("scaled", scaled_otherwise),
    "its code": with_code,
    "a default value": with_defaults,
    "a default value by name": with_named_defaults,
    "what is decorated": with_closure,
    "a global": of_globals("FACTOR", 2.5),
    "a global of another class": of_globals("FACTOR", 2),
    "a list": of_globals("NAMES", ["tanh", "relu"]),
    "a set": of_globals("KNOWN", {"relu"}),
    "an attribute": of_model("scale", 3),
    "an attribute of a class": of_class(Settings, "shift", 0.75),
    "a property": of_class(Settings, "more", property(lambda self: 4.0)),
    "an attribute of an object": with_another_setting,
    "an item": with_another_item,
    "a method of one object": with_a_method_of_its_own,
    "a forward of one object": with_a_forward_of_its_own,
    "a subclass": with_a_subclass,
    "a hook": with_a_hook,
    "training": with_training,
    "other strides": with_other_strides,
    "tied weights": with_tied_weights,
    "an offset": with_a_part_of_memory,
    "a function of torch": of_torch(torch.nn.functional, "linear"),
    "a function of torch in C": of_torch(torch, "relu"),
    "a method of torch": of_torch(torch.nn.LayerNorm, "forward"),
    "a method of tensors": of_torch(torch.Tensor, "diag"),
    "a setting of torch": with_a_setting_of_torch,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_differs_is_traced_or_refused(kind: str, saved: Path, monkeypatch) -> None:
    """If it fails, a variant is taken from a file though the program, what it reads or torch is not what it was."""
    fast = torch.backends.mha.get_fastpath_enabled()
    model = made()
    try:
        with monkeypatch.context() as patch:
            CHANGES[kind](model, patch)
            try:
                loaded = load(saved, model)
            except WrongArtifact:
                return
            assert all(each.startswith("traced: ") for each in provenance(loaded)), provenance(loaded)
            compared(loaded, model, (inputs(),), (inputs(2),))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def test_what_was_changed_and_is_again_what_it_was_is_restored(saved: Path, monkeypatch) -> None:
    """If it fails, the changes above are noticed for another reason than that they are there."""
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "FACTOR", 2.5)
        with pytest.raises(WrongArtifact):
            load(saved, made())
    assert provenance(load(saved, made())) == ["restored"]


# ---------------------------------------------------------------------- what is traced again


WEIGHT = torch.ones(4, 4)


def stacked(x):
    return torch.stack([getattr(torch, name)(x @ WEIGHT) for name in {"relu", "tanh"}])


def learned(x, weight):
    return (x @ weight).relu().sum()


def written(x):
    x.add_(1)
    return x @ WEIGHT


def of_a_constant(x):
    return x @ torch.tensor([[1.0], [2.0], [3.0], [4.0]])


def drawn(x):
    return torch.nn.functional.dropout(x @ WEIGHT, 0.5)


@pytest.mark.parametrize("function", [stacked, written, of_a_constant, drawn])
def test_what_cannot_be_restored_says_why_and_is_right(function, tmp_path: Path) -> None:
    """If it fails, something is restored that another process would do otherwise, or a refusal has no reason."""
    saved_as(tmp_path / "saved", function, inputs())
    loaded = load(tmp_path / "saved", function)
    found = provenance(loaded)
    assert function is drawn or found[0].startswith("traced: ")
    assert f"artifact: {found[0]}" in loaded.explain()
    for rows in (2, 5):
        torch.manual_seed(0)
        out = loaded(inputs(rows))
        torch.manual_seed(0)
        torch.testing.assert_close(out, function(inputs(rows)))


def test_gradients(tmp_path: Path) -> None:
    """If it fails, what was saved with a gradient has another one, or none, in the second process."""
    compiled = compile(learned, backend="cpu", dynamic=True)
    weight = torch.ones(4, 2, requires_grad=True)
    compiled(inputs(), weight)
    compiled.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved", learned)
    assert provenance(loaded)[0].startswith("traced: it has a gradient")
    for rows in (1, 2, 3, 5, 8):
        one, other = [torch.full((4, 2), 0.5, requires_grad=True) for _ in range(2)]
        loaded(inputs(rows), one).backward()
        learned(inputs(rows), other).backward()
        torch.testing.assert_close(one.grad, other.grad)


def projected(x, y, n=2):
    return (x.imag if x.is_complex() else x) @ y * n


def test_arguments_of_many_forms(tmp_path: Path) -> None:
    """If it fails, a restored variant takes its arguments apart otherwise than the trace did."""
    compiled = compile(projected, backend="cpu", dynamic=True)
    calls = [
        lambda rows: ((inputs(rows), torch.eye(4)), {}),
        lambda rows: ((inputs(rows), inputs(rows).t()), {"n": rows}),
        lambda rows: (((x := torch.eye(rows) + 1), x), {}),
        lambda rows: ((inputs(2 * rows)[::2], torch.eye(4)), {"n": 3}),
        lambda rows: ((torch.complex(inputs(rows), inputs(rows)), torch.eye(4)), {}),
    ]
    with torch.no_grad():
        for call in calls:
            args, kwargs = call(3)
            compiled(*args, **kwargs)
        compiled.save(tmp_path / "saved")
        loaded = load(tmp_path / "saved", projected)
        assert "restored" in provenance(loaded)
        for call in calls:
            for rows in (2, 3, 5):
                args, kwargs = call(rows)
                torch.testing.assert_close(loaded(*args, **kwargs), projected(*args, **kwargs))
        # memory that does not hold the values
        conjugate = torch.complex(inputs(), inputs()).conj()
        torch.testing.assert_close(loaded(conjugate.imag, torch.eye(4)), projected(conjugate.imag, torch.eye(4)))


def test_code_that_goes_by_the_order_of_a_set() -> None:
    """If it fails, a variant is restored whose program stacks in another order in another process."""

    def unions(x, names):
        return [x[name] for name in names.keys() | {"a"}]

    def hashed(x):
        return x * (hash("a") % 3)

    def local(x, names):
        found = {name.lower() for name in names}
        return [x[name] for name in found]

    def asked(x, names):
        found = {name.lower() for name in names}
        return x if "a" in found or x.kind in {"b", "c"} else -x

    assert all(goes_by_order(each.__code__) for each in (stacked, unions, hashed, local))
    # from 3.12 on, a comprehension is part of the code around it, and counts as any other set
    assert goes_by_order(asked.__code__) is (sys.version_info >= (3, 12))

    def known(x, kind):
        KNOWN.add(kind)
        return x if kind in KNOWN else list(NAMES)

    assert "KNOWN" not in names_in_order(known.__code__) and "NAMES" in names_in_order(known.__code__)


# ---------------------------------------------------------------------- altered files


def test_altered_bytes_are_refused(saved: Path, tmp_path: Path) -> None:
    """If it fails, a file that was written to is taken."""
    content = saved.read_bytes()
    chosen = random.Random(0)
    path = tmp_path / "altered"
    for _ in range(200):
        altered = bytearray(content)
        for _ in range(chosen.randrange(1, 4)):
            altered[chosen.randrange(len(altered))] ^= 1 << chosen.randrange(8)
        if chosen.random() < 0.2:
            del altered[chosen.randrange(len(altered)) :]
        path.write_bytes(altered)
        os.chmod(path, 0o600)
        if bytes(altered) != content:
            with pytest.raises(WrongArtifact):
                load(path, made())


def leaves(value: object, path: tuple[object, ...] = ()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path
    else:
        for key, inside in items:
            yield from leaves(inside, (*path, key))


def test_altered_descriptions_are_not_used(saved: Path, tmp_path: Path, monkeypatch) -> None:
    """If it fails, what a file says is used though somebody has written to it: text of a function, a constant, a
    guard."""
    described, libraries = artifact.read(saved)
    chosen = random.Random(0)
    places = [*leaves(described["variants"][0]["restored"], ("variants", 0, "restored"))]
    used: list[str] = []
    monkeypatch.setattr(loading, "restored", lambda *given, **options: used.append("restored"))
    monkeypatch.setattr(loading, "_trace", lambda *given: used.append(str(given[-1])))
    for place in chosen.sample(places, min(40, len(places))):
        changed = copy.deepcopy(described)
        inside = changed
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = chosen.choice([None, 7, "x", [], {}, -1])
        if changed == described:
            continue
        artifact.write(tmp_path / "altered", changed, [*libraries.values()])
        load(tmp_path / "altered", made())
    assert len(used) >= 30 and set(used) == {"None"}


@pytest.mark.parametrize("key", ["ways", "program", "constants", "fingerprint", "commitments", "structure", "offsets"])
@pytest.mark.parametrize("value", [None, 7, [], {}, [[]], "x"])
def test_what_is_no_variant_is_traced(key: str, value: object, saved: Path, tmp_path: Path) -> None:
    """If it fails, a malformed description, with valid hashes, ends in an error of another library or
    in another result."""
    from frontends.pytorch.calls.saving import hash_of

    described, libraries = artifact.read(saved)
    described = copy.deepcopy(described)
    described["variants"][0]["restored"][key] = value
    described["whole"] = hash_of(described)
    artifact.write(tmp_path / "altered", described, [*libraries.values()])
    loaded = load(tmp_path / "altered", made())
    if not (key == "offsets" and not value):
        assert provenance(loaded)[0].startswith("traced: ")
    compared(loaded, made(), (inputs(2),))


def repeated(x):
    for _ in range(26):
        x = torch.tanh(x @ WEIGHT)
    return x


def test_files_of_kernels_with_the_same_text(tmp_path: Path) -> None:
    """If it fails, a deep model, of whose files of kernels two have the same text, is traced again."""
    loaded = load(saved_as(tmp_path / "saved", repeated, inputs()), repeated)
    assert provenance(loaded) == ["restored"]
    compared(loaded, repeated, (inputs(2),), (inputs(5),))
