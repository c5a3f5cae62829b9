"""Serialization of one variant: its host programs, its guards, and the record of its captured state.

    >>> from torch.utils._pytree import tree_structure
    >>> from frontends.pytorch.calls.serialization import serialized_structure
    >>> serialized_structure(tree_structure((1, [2, 3])))
    ['tuple', None, [None, ['list', None, [None, None]]]]

`calls/restoring.py` deserializes it.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final

from torch.utils._pytree import TreeSpec

from backends.loops.kernels import Kernel
from backends.loops.program import Check
from frontends.pytorch.calls.captured_state import outer_of
from frontends.pytorch.calls.exploring import Explorer
from frontends.pytorch.calls.fingerprints import Fingerprint, Untold, altered
from frontends.pytorch.calls.orders import goes_by_order, names_in_order
from frontends.pytorch.calls.reaching import Route, code_at, made_by_call, place_in, reached, route_to
from frontends.pytorch.graphs.captured import in_graph
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.ran import Ran
from frontends.pytorch.variant import Variant
from shapes.env import ShapeEnv
from shapes.environment.events import Chosen, Declared, Guarded, Sourced
from shapes.guards.toolchain import Unavailable
from shapes.origin import Origin

Told = dict[str, Any]
OFFSET: Final = (".storage_offset()",)


class Another(Exception):
    """Why a variant of a file is traced again."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The serializable record of what a trace has read.

    Attributes:
        outer: the functions that ran and were not created by the call; `codes` are the code of all, in order.
        names: attributes that the program read by a computed name.
        silent: loggers that it queried for a level.
        reason: why the record is incomplete, or None.
        captured_state, state: the captured state, and the number of its state.
    """

    outer: tuple[FunctionType, ...]
    codes: tuple[CodeType, ...]
    names: frozenset[str]
    silent: tuple[tuple[str, int], ...]
    reason: str
    captured_state: Callable[[], object]
    state: object

    @staticmethod
    def of(ran: Ran, captured_state: Callable[[], object]) -> Reads:
        functions = ran.functions()
        reason = "it remembers results of functions" * bool(ran.memoized or ran.has_computed)
        reason = reason or "it reads tensors' attributes, or elements" * bool(ran.tensors or ran.elements)
        return Reads(
            tuple(outer_of(functions)),
            tuple(map(own_code, functions)),
            frozenset(ran.names),
            tuple(sorted([(logger.name, level) for logger, level in ran.silent])),
            reason,
            captured_state,
            captured_state(),
        )


def serialized(fn: Callable[..., object], variant: Variant, reads: Reads, more: Sequence[str]) -> Told:
    """Serialize a variant; if that is impossible, the reason."""
    try:
        return _told(fn, variant, reads, more)
    except (Another, Untold) as error:
        return {"reason": str(error)}


def _told(fn: Callable[..., object], variant: Variant, reads: Reads, more: Sequence[str]) -> Told:
    from backends.cpu.serialized import described

    running = variant.running
    if running is None or not running.is_plain or len(running.hosts) != 1:
        raise Another("it has a gradient, writes to what it is given, or does not run as kernels")
    if variant.effects or variant.needs_distinct or variant.memoized or variant.given_back or variant.bases:
        raise Another("it has side effects, or gives back what it is given")
    if running.bought or any(variant.with_gradient) or not all(map(in_graph, variant.outputs)):
        raise Another("it has a gradient, guards that kernels wanted, or returns objects")
    host = running.hosts[0]
    if all(isinstance(step, Kernel | Check) for step in host.steps):
        raise Another("it is kernels and nothing else, which are called from C as they are traced")
    if reads.reason:
        raise Another(reads.reason)
    if reads.captured_state() != reads.state:
        raise Another("what is around is not what it was when it was traced")
    ways = routes(fn, reads)
    functions, outer = found_functions(fn, ways, [(each.__module__, each.__qualname__) for each in reads.outer])
    for each in functions:
        if goes_by_order(own_code(each)):
            raise Another(f"{each.__qualname__} may go by the order of a set, or by hashes")
    fingerprint = fingerprint_of(fn, functions, outer, reads.names, reads.silent, more)
    text = described(host)
    if isinstance(text, Unavailable):
        raise Another(text.reason)
    indices = {id(tensor): place for place, tensor in enumerate(fingerprint.tensors)}
    constants = [tensor for _, tensor in host.program.constants]
    if any(id(tensor) not in indices for tensor in constants):
        raise Another("it has tensors that the trace has made")
    used = [*variant.inputs, *[each.constant for each in variant.recording.constants]]
    return {
        "ways": ways,
        "names": sorted(reads.names),
        "silent": [list(each) for each in reads.silent],
        "fingerprint": fingerprint.digest,
        "short": fingerprint.short,
        "commitments": commitments(variant.env),
        "offsets": any(path == OFFSET for each in variant.inputs for _, path in each.symbols),
        "outputs": len(variant.outputs),
        "structure": serialized_structure(variant.structure),
        "marks": variant.marks_matter,
        "draws": running.draws,
        "learned": any(each is not None and each.requires_grad for each in used),
        "constants": [indices[id(tensor)] for tensor in constants],
        "program": text,
    }


def routes(fn: object, reads: Reads) -> list[Route]:
    """The routes of the functions that ran: from a module, or by the enclosing code.

    Raises:
        Another: there is no route to one, or its behavior depends on the process.
    """
    found: list[Route] = []
    known = {own_code(each): each for each in reads.outer}
    waiting: dict[int, list[FunctionType]] = {}
    for each in reads.outer:
        waiting.setdefault(id(own_code(each)), []).append(each)
    for code in reads.codes:
        same = waiting.get(id(code))
        if same:
            function = same.pop(0)
            route = route_to(function, fn)
            if route is None:
                raise Another(f"no name refers to {code.co_qualname}")
            found.append(["route", route])
            continue
        for number, outer in enumerate(known):
            place = place_in(outer, code)
            if place is not None:
                found.append(["inside", number, place])
                break
        else:
            raise Another(f"no name refers to {code.co_qualname}")
    return found


def fingerprint_of(
    fn: object,
    functions: Sequence[FunctionType],
    outer: Sequence[FunctionType],
    names: Collection[str],
    silent: Sequence[tuple[str, int]],
    more: Sequence[str],
) -> Fingerprint:
    """The fingerprint of the captured state of functions.

    Raises:
        Another: it has unguarded parts.
    """
    ran = Ran()
    ran.names = set(names)
    ran.silent = {(logging.getLogger(name), level) for name, level in silent}
    explorer = Explorer(outer, [fn], ran, functions)
    if explorer.unguarded:
        raise Another(f"it reads {explorer.unguarded[0]}")
    ordered = frozenset(names).union(*[names_in_order(own_code(each)) for each in functions])
    return Fingerprint(
        explorer.places,
        [fn, *outer],
        more=more,
        in_order=ordered,
        mentioned=explorer.names,
    )


def of_process() -> list[str]:
    """Process-wide preconditions of a variant: patches of torch, and the number of threads."""
    from backends.cpu import compiler

    return [*altered(), str(compiler.pool_name()), os.environ.get("SYMSHAPE_SANITIZE", "")]


def commitments(env: ShapeEnv) -> list[list[object]]:
    """A trace's declarations and guards, in order.

    Raises:
        Another: there is a commitment of another kind, which cannot be replayed.
    """
    found: list[list[object]] = []
    for event in env.events:
        match event:
            case Declared(kind="backed"):
                found.append(["symbol", event.fact.text])
            case Guarded():
                origin = event.fact.origin
                place = origin.recorded if isinstance(origin, Origin) else None
                found.append(["guard", event.fact.text, place])
            case Chosen() | Sourced():
                pass
            case _:
                raise Another(f"it relies on more than guards: {event}")
    return found


def serialized_structure(spec: TreeSpec) -> object:
    """Serialize a pytree structure of results.

    Raises:
        Another: a container's class has no importable name, or its context is more than names.
    """
    if spec.is_leaf():
        return None
    children = [serialized_structure(child) for child in spec.children()]
    kind: type = spec.type
    if kind in (tuple, list):
        return [kind.__name__, None, children]
    context = spec.context
    keys = [*context] if type(context) in (list, tuple) else None
    if keys is None or any(type(key) is not str for key in keys) or type(context) is not list:
        raise Another(f"it returns a {kind.__qualname__}")
    if kind is not dict and kind is not class_named(kind.__module__, kind.__qualname__):
        raise Another(f"it returns a {kind.__qualname__}")
    return [f"{kind.__module__}:{kind.__qualname__}", keys, children]


def class_named(module: str, name: str) -> type | None:
    """The class with this name, or None."""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None


def found_functions(
    fn: object, ways: Sequence[Sequence[Any]], named: Sequence[Sequence[str]]
) -> tuple[list[FunctionType], list[FunctionType]]:
    """Find the functions that ran, and those of them that the call did not create.

    Raises:
        Another: one does not exist here.
    """
    found: dict[int, FunctionType] = {}
    for number, each in enumerate(ways):
        if each[0] == "route":
            function = reached(each[1], fn)
            if function is None:
                raise Another(f"{named[number][1]} is not found")
            found[number] = function
    outer = [*found.values()]
    codes = [*{own_code(each): None for each in outer}]
    for number, each in enumerate(ways):
        if each[0] == "inside":
            code = code_at(codes[each[1]], each[2])
            if code is None:
                raise Another(f"no such function in {codes[each[1]].co_qualname}")
            found[number] = made_by_call(code, outer[0].__globals__)
    return [found[number] for number in range(len(ways))], outer
