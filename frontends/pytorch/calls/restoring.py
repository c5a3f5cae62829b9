"""Deserialization of variants without tracing, if the captured state is equivalent to that of the saving process.

    >>> import os, tempfile, torch
    >>> from frontends.pytorch import compile, load
    >>> weight = torch.ones(3, 4)
    >>> def projected(x):
    ...     return torch.relu(x @ weight) * 2
    >>> compiled = compile(projected, backend="cpu", dynamic=True)
    >>> with torch.no_grad():
    ...     out = compiled(torch.ones(2, 3))
    >>> path = os.path.join(tempfile.mkdtemp(), "projected.artifact")
    >>> compiled.save(path)
    >>> loaded = load(path, projected)
    >>> [variant.provenance for variant in loaded.variants], loaded(torch.ones(5, 3)).sum().item()
    (['restored'], 120.0)

A trace has the same result if the program, its captured state and torch are the same. The file's record is checked
first: the code of all functions that ran, found by their routes, and the captured state, by its fingerprint. If
something differs, or is not serializable, the function is traced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, Final

import torch
from torch.utils._pytree import SUPPORTED_NODES, TreeSpec, tree_leaves, tree_unflatten, treespec_leaf

from backends import Unreadable
from frontends.pytorch.calls.example_call import source_of
from frontends.pytorch.calls.fingerprints import Untold
from frontends.pytorch.calls.serialization import (
    Another,
    Told,
    class_named,
    commitments,
    fingerprint_of,
    found_functions,
)
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.ran import noted, unwatched
from frontends.pytorch.recording.arguments import Arguments, known_arguments, with_offset
from frontends.pytorch.recording.inputs import STATIC, Choice, Dynamism
from frontends.pytorch.recording.operations import Recording
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.running import Run, Running, without_gradients
from frontends.pytorch.symbolic.node import Nodes
from frontends.pytorch.symbolic.policy import general_path
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Variant
from shapes.env import ShapeEnv
from shapes.environment.events import Declared, Guarded
from shapes.guards.toolchain import Unavailable
from shapes.origin import Origin

CONTAINERS: Final = {"tuple": tuple, "list": list}


@dataclass(eq=False, repr=False, kw_only=True)
class Restored(Variant):
    """A variant deserialized from another process.

    Attributes:
        run: its callable.
        described: its description in the file.
        again: traces the program, for its graph.
    """

    run: Run
    described: Mapping[str, Any]
    again: Callable[[], Variant]
    provenance: str = "restored"

    def run_by(self, *args: object, **kwargs: object) -> Run:
        self.running = Running(self.run)
        return self.run

    @cached_property
    def graph(self) -> torch.fx.GraphModule:
        return self.again().graph


def restored(
    described: Mapping[str, Any],
    more: Sequence[str],
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    **options: Any,
) -> Variant:
    """Replaces `trace`: the described variant, which is traced if it cannot be deserialized."""
    text = described.get("restored")
    try:
        if type(text) is not dict or "reason" in text:
            raise Another(str(text["reason"]) if type(text) is dict else "it has no such variant")
        ran = noted()
        with unwatched():
            variant, functions = deserialized(described, text, more, fn, args, kwargs, options)
        if ran is not None:
            ran.restored = functions
            ran.names |= set(text["names"])
            ran.silent |= {(logging.getLogger(name), level) for name, level in text["silent"]}
        return variant
    except Exception as error:
        # the file's description is wrong: nothing of it is used
        reason = str(error) if isinstance(error, Another | Untold) else f"{type(error).__name__}: {error}"
    traced = trace(fn, args, kwargs, **options)
    traced.provenance = f"traced: {reason}"
    return traced


def deserialized(
    described: Mapping[str, Any],
    text: Told,
    more: Sequence[str],
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    options: Mapping[str, Any],
) -> tuple[Variant, list[FunctionType]]:
    """The described variant, and the functions that its trace has run.

    Raises:
        Another: something differs here.
    """
    from backends.cpu.serialized import function_of

    if options["read"]:
        raise Another("captured numbers are arguments")
    functions, outer = found_functions(fn, text["ways"], described["functions"])
    for way, function, was in zip(text["ways"], functions, described["functions"], strict=True):
        # the code of a function created by the call is in the enclosing function's code
        if way[0] == "route" and [function.__module__, function.__qualname__, source_of(own_code(function))] != was:
            raise Another(f"the code of {'.'.join(was[:2])} is not what it was")
    silent = [(name, level) for name, level in text["silent"]]
    fingerprint = fingerprint_of(fn, functions, outer, text["names"], silent, more)
    if fingerprint.digest != text["fingerprint"]:
        raise Another(f"{fingerprint.difference(text['short'])} is not what it was")
    run = function_of(text["program"], [fingerprint.tensors[place] for place in text["constants"]])
    if isinstance(run, Unavailable):
        raise Another(run.reason)
    env = ShapeEnv(origin=lambda: None, policy=general_path)
    recorder = Recorder(env, Nodes(env), options["dynamic"].outside)
    known = known_arguments(recorder, fn, args, kwargs, options["dynamic"], shared=True)
    options["dynamic"].settle(env, known.inputs)
    inputs = known.inputs
    commit_again(env, text["commitments"])
    if text["offsets"]:
        inputs = [with_offset(env, each) for each in inputs]
    structure = deserialized_structure(text["structure"])
    if structure.num_leaves != text["outputs"] or [*commitments(env)] != text["commitments"]:
        raise Another("its preconditions differ here")
    if [str(guard) for guard in env.guards()] != described["guards"]:
        raise Another("its guards differ here")
    if [fact.text for fact in env.facts.records()] != described["facts"]:
        raise Another("its facts about sizes differ here")
    followed: Run = without_gradients(run) if text["learned"] else run
    followed = followed if text["draws"] else readable(followed, fn, known)
    variant = Restored(
        env=env,
        recording=Recording(),
        inputs=tuple(inputs),
        outputs=(None,) * text["outputs"],
        with_gradient=(False,) * text["outputs"],
        integers=tuple(known.numbers),
        structure=structure,
        places=tuple(known.places),
        marks_matter=text["marks"],
        run=followed,
        described=described,
        again=traced_again(fn, args, kwargs, known, options),
    )
    return variant, functions


def deserialized_structure(text: object) -> TreeSpec:
    """Deserialize a pytree structure.

    Raises:
        Another: a class does not exist here.
    """
    match text:
        case None:
            return treespec_leaf()
        case [str() as kind, None, list() as children] if kind in CONTAINERS:
            return TreeSpec(CONTAINERS[kind], None, [deserialized_structure(child) for child in children])
        case [str() as name, list() as keys, list() as children]:
            found = class_named(*name.split(":", 1))
            if found is None or found not in SUPPORTED_NODES:
                raise Another(f"torch knows no container of the class {name}")
            return TreeSpec(found, keys, [deserialized_structure(child) for child in children])
    raise Another("what it returns is not told")


def commit_again(env: ShapeEnv, commitments: Sequence[Sequence[Any]]) -> None:
    """Replay a trace's commitments after its arguments' declarations."""
    declared = [each for each in env.events if isinstance(each, Declared | Guarded)]
    for what, text, *place in commitments[len(declared) :]:
        if what == "guard":
            with env.at(Origin.parse(place[0])):
                if not env.guard(text):
                    raise Another(f"`{text}` does not hold here")


def readable(run: Run, fn: Callable[..., object], known: Arguments) -> Run:
    """A run; the function itself for tensors whose memory does not hold their values."""
    leaves, structure, indices = list(known.leaves), known.structure, known.places
    # dummy tensors are not kept
    firsts = {place: known.first[id(leaf)] for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)}
    leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]

    def call(values: Sequence[object]) -> Sequence[object]:
        try:
            return run(values)
        except Unreadable:
            given = list(leaves)
            for place, value in zip(indices, values):
                given[place] = value
            for place, first in firsts.items():
                given[place] = given[first]
            args, kwargs = tree_unflatten(given, structure)
            return tree_leaves(fn(*args, **kwargs))

    return call


def traced_again(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    known: Arguments,
    options: Mapping[str, Any],
) -> Callable[[], Variant]:
    """A function that traces the program with the same symbols, whatever sizes have differed since."""
    choices = {(each.name, axis): choice for each in known.inputs for axis, choice in enumerate(each.choices)}
    choices |= {(each.name, -1): each.choice for each in known.numbers}
    floats = {each.name for each in known.numbers if each.is_float and each.choice.kind != "static"}
    with_gradients = options["gradients"]

    class Known(Dynamism):
        def is_varying(self, name: str, value: float) -> bool:
            return name in floats

    def choice(name: str, axis: int, size: int) -> Choice:
        return choices.get((name, axis), STATIC)

    def again() -> Variant:
        with torch.set_grad_enabled(with_gradients):
            return trace(fn, args, kwargs, dynamic=Known(choice), gradients=with_gradients, shared=True)

    return again
