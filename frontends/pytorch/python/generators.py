"""Random number generators: a graph draws from the program's, but neither seeds them nor reads their states.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> numbers = torch.Generator()
    >>> def f(x):
    ...     return x + torch.randn(x.shape, generator=numbers.manual_seed(0))
    >>> try:
    ...     trace(f, (torch.randn(2),))
    ... except Exception as error:
    ...     print(error)  # doctest: +ELLIPSIS
    the function seeds `numbers`: the graph would go on drawing where the last call ended
      at:     `return x + torch.randn(x.shape, generator=numbers.manual_seed(0))`  (...:2 in f)
      fix:    seed before the call; fullgraph=False seeds on every call

A trace draws nothing from torch's generators, so a changed one was seeded; a changed one of Python or NumPy was drawn
from or seeded. During a trace, each has a state that no seed produces, so that reseeding with the same seed is detected
too.

Reading a state leaves no trace, so the program is searched for the names that read it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any, Final

import torch
import torch.utils.checkpoint
from torch.utils._python_dispatch import _disable_current_modes

from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.python.mentions import closure_of, codes
from frontends.pytorch.python.rewriting import all_names, program_of
from frontends.pytorch.python.weak_memo import while_alive
from shapes.origin import Origin

MAKE: Final = "give it as an argument, or make it outside of the function; fullgraph=False makes one on every call"
READ: Final = "read it before the call; fullgraph=False reads it on every call"
SEED: Final = "seed before the call; fullgraph=False seeds on every call"
DRAW: Final = "torch's random numbers; fullgraph=False runs this Python on every call"
SEEDS: Final = "the function seeds `{}`: the graph would go on drawing where the last call ended"
DRAWS: Final = "the function draws from `{}`: the graph would have the numbers of the trace"
READS: Final = "the function reads the state of `{}`: the graph would give that of the trace"
READING: Final = frozenset(
    ["get_state", "clone_state", "graphsafe_get_state", "initial_seed", "get_offset", "getstate", "bit_generator"]
)
"""Names that read states."""
STATES: Final = READING.union(
    ["get_rng_state", "set_rng_state", "fork_rng", "set_state", "graphsafe_set_state", "set_offset", "setstate"],
    ["manual_seed", "seed"],
)
"""Names that read or set a generator's state."""
NAMES: Final = STATES | {"default_generator", "random"}
OUR_OWN: Final = [1803172061, 2447181693, 3064213017]
"""A seed that no program uses."""
STATE: Final = torch.default_generator.get_state().numel()
"""The size of a torch generator's state."""


@dataclass(slots=True)
class _Marked:
    """A generator held by traces, possibly in several threads: the last one restores its state."""

    generator: object
    state: object
    meanwhile: object
    """Its state while traces run."""
    traces: int = 0


_marked: Final[dict[object, _Marked]] = {}
_lock: Final = threading.RLock()


@dataclass(frozen=True, slots=True)
class _Held:
    text: str
    name: str
    marked: _Marked
    named: str
    """The name that a program must mention to read it, if it is not the program's own."""


@dataclass(frozen=True, slots=True)
class Use:
    """A trace's use of a generator that its graph would not repeat."""

    what: str
    fix: str
    name: str
    """The name to search in the code."""


class Watched:
    """Torch's default generator, wrapped for torch's Python functions while a trace runs.

        >>> import torch
        >>> from frontends.pytorch.python.generators import Watched
        >>> watched = Watched(lambda name, plain, *args: print(name) or plain(*args))
        >>> state = watched.get_state()
        get_state
        >>> torch.equal(state, torch.default_generator.get_state())
        True
    """

    def __init__(self, asked: Callable[..., object]) -> None:
        self._asked = asked

    def __getattr__(self, name: str) -> object:
        found = getattr(torch.default_generator, name)
        return functools.partial(self._asked, name, found) if callable(found) else found


class Generators:
    """The generators that a program can reach during a trace; `restore` restores their states."""

    def __init__(self, names: Collection[str] = ()) -> None:
        """`names` are those that the program's functions mention."""
        self._names = names
        self._held: dict[object, _Held] = {}

    def hold(self, text: str, name: str, generator: object, named: str = "") -> None:
        """Hold a generator, with its text and the name to search in the code."""
        key = identity(generator)
        if key in self._held:
            return
        with _disable_current_modes(), torch._C.DisableTorchFunction(), _lock:
            marked = _marked.get(key)
            if marked is None:
                state = state_of(generator)
                if state is None:
                    return
                mark(generator)
                marked = _marked[key] = _Marked(generator, state, state_of(generator))
            marked.traces += 1
            self._held[key] = _Held(text, name, marked, named)

    def hold_those_of_modules(self) -> None:
        """Hold the default generators of torch, Python and NumPy."""
        if "default_generator" in self._names:
            name = "default_generator"
            self.hold("torch.default_generator", name, torch.default_generator, name)
        self.hold("random", "random", random._inst)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            self.hold("numpy.random", "random", numpy.rand.__self__, "random")

    def restore(self) -> list[Use]:
        """Restore all states; returns the uses."""
        found: list[Use] = []
        reads = not READING.isdisjoint(self._names)
        with _disable_current_modes(), torch._C.DisableTorchFunction(), _lock:
            for key, held in self._held.items():
                marked = held.marked
                if not same(state_of(marked.generator), marked.meanwhile):
                    what = SEEDS if isinstance(marked.generator, torch.Generator) else DRAWS
                    found.append(Use(what.format(held.text), SEED if what is SEEDS else DRAW, held.name))
                elif reads and (not held.named or held.named in self._names) and self._is_read(marked.generator):
                    found.append(Use(READS.format(held.text), READ, held.name))
                marked.traces -= 1
                if not marked.traces:
                    put(marked.generator, marked.state)
                    del _marked[key]
        return found

    def _is_read(self, generator: object) -> bool:
        """Whether the program mentions a name that reads such a generator."""
        return any(name in self._names and hasattr(type(generator), name) for name in READING)

    def check(self, drawn_from: Iterable[tuple[torch.Generator, Origin | None]]) -> None:
        """Check that the generators that a graph draws from are known, and precede the trace.

        Raises:
            GraphBreak: the program creates one, or it is stored where generators are not searched.
        """
        for generator, place in drawn_from:
            if not is_default(generator) and identity(generator) not in self._held:
                what = "a generator of random numbers that the call makes: the graph would draw from this one again"
                raise GraphBreak(refusal(what, MAKE, place))


def mentioned_states(functions: Iterable[FunctionType]) -> frozenset[str]:
    """The names and strings in functions that read or set a generator's state."""
    return frozenset().union(*map(_states_in, functions))


@while_alive
def _states_in(function: FunctionType) -> frozenset[str]:
    texts = [each for code in codes(function.__code__) for each in code.co_consts if type(each) is str]
    return NAMES.intersection([*all_names(function.__code__), *texts])


def looks_at_states(start: object) -> bool:
    """Whether a program may read or set the state of torch's default generator, by its names."""
    functions = program_of((start,))
    if STATES & mentioned_states(functions) or "default_generator" in mentioned_states(functions):
        return True
    held = [function.__globals__.get(name) for function in functions for name in all_names(function.__code__)]
    held += [value for function in functions for *_, value in closure_of(function)]
    return any(isinstance(value, torch.Generator) for value in held)


PASSED_ON: Final = (os.path.dirname(__file__) + os.sep, torch.random.__file__, contextlib.__file__)
"""The files of functions that only forward a query for a state."""


def asked_by_checkpoint() -> bool:
    """Whether torch's checkpoint reads the generator's state."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PASSED_ON):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == torch.utils.checkpoint.__file__


def is_generator(value: object) -> bool:
    """Whether a value is a random number generator of torch, Python or NumPy."""
    return isinstance(value, torch.Generator | random.Random) or numpys(value)


def is_default(generator: torch.Generator) -> bool:
    """Whether it is torch's default generator: operators receive another object for it."""
    return generator._cdata == torch.default_generator._cdata


def identity(generator: object) -> object:
    """The identity of a generator; for torch's, the address of the C++ object."""
    if isinstance(generator, torch.Generator):
        return "torch", generator._cdata
    bits = getattr(generator, "bit_generator", getattr(generator, "_bit_generator", generator))
    return id(bits)


def numpys(value: object) -> bool:
    numpy: Any = sys.modules.get("numpy.random")
    # while NumPy is being imported it has no classes yet
    known = hasattr(numpy, "BitGenerator")
    return known and isinstance(value, numpy.Generator | numpy.RandomState | numpy.BitGenerator)


def state_of(generator: Any) -> object:  # of torch, Python or NumPy
    """The state of a generator; None for the operating system's, which has none."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if isinstance(generator, random.Random):
        return None if isinstance(generator, random.SystemRandom) else generator.getstate()
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return getattr(generator, "bit_generator", generator).state


def put(generator: Any, state: Any) -> None:
    """Set a generator's state."""
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        getattr(generator, "bit_generator", generator).state = state


def mark(generator: Any) -> None:
    """Set a state that no seed produces: for torch's one draw further, since a trace draws none."""
    if isinstance(generator, torch.Generator):
        torch.empty(1, device=generator.device).uniform_(generator=generator)
    elif isinstance(generator, random.Random):
        random.Random.seed(generator, str(OUR_OWN))
    elif hasattr(generator, "get_state"):
        generator.seed(OUR_OWN)
    else:
        bits = getattr(generator, "bit_generator", generator)
        bits.state = type(bits)(OUR_OWN).state


def same(one: object, other: object) -> bool:
    """Whether two states of a generator are equal."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    return one == other if isinstance(one, tuple) else pickle.dumps(one) == pickle.dumps(other)
