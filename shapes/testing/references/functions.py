"""Any function of real arrays, or of a `Call`, as a reference: what it gives for a call, and what it refuses.

    >>> import math
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.functions import Function
    >>> import numpy as np                                                    # doctest: +SKIP
    >>> concatenate = Function(np.concatenate)                                # doctest: +SKIP
    >>> concatenate(Call(([Input((2, 3)), Input((1, 3))], 0)))                # doctest: +SKIP
    ((3, 3),)
    >>> concatenate(Call(([Input((2, 3)), Input((1, 4))], 0))) is None        # doctest: +SKIP
    True

The function is called with arrays of NumPy, or with tensors of torch where it is torch's or names torch in its body. An
exception is a refusal, unless it says that the reference itself is broken (`ReferenceFailed`) or that this machine
cannot hold what was asked for (`Untested`). Large arrays have no storage of their own; see `standins`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable
from typing import Final, Literal

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.shape import Shape
from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call, Input
from shapes.testing.directed.constants import names_in
from shapes.testing.references.arrays import array_of, jax_array_of, sizes_of
from shapes.testing.references.standins import TOO_LARGE, StandIns, Untested, is_large

Tensors = Literal["numpy", "torch", "jax", "sizes"]
Reference = Callable[[Call], Sizes | None]

VOCABULARIES: Final[tuple[Tensors, ...]] = ("torch", "jax")
BROKEN: Final = (NameError, ImportError, SyntaxError)
"""The exceptions that are mistakes of a program, whatever its arguments."""


class ReferenceFailed(ShapeError):
    """A reference is broken, so nothing is known about the rule."""


class Function:
    """A function of arrays, or with `tensors="sizes"` of tuples of sizes, as a function of calls."""

    def __init__(self, function: Callable[..., object], tensors: Tensors | None = None) -> None:  # type: ignore[explicit-any]
        self.function = function
        self.tensors: Tensors = vocabulary_of(function) if tensors is None else tensors
        self.refusal: Exception | None = None
        """The exception that it raised last."""
        self.standins: StandIns | None = None
        if self.tensors != "sizes":
            self.standins = StandIns(self.tensors, self._result)

    def __call__(self, call: Call) -> Sizes | None:
        args, kwargs = call.replaced(lambda tensor: tensor)
        self._bound(args, kwargs)
        try:
            if self.standins is None:
                args, kwargs = call.replaced(tuple)
                return shapes_of(self.function, self._result(*args, **kwargs))
            if is_large(call):
                return tuple(sizes_of(self.standins(call)))
            args, kwargs = call.replaced(array_maker(self.tensors))
            result = self._result(*args, **kwargs)
        except (Untested, ReferenceFailed):
            raise
        except MemoryError as full:
            raise Untested(TOO_LARGE, str(full)) from None
        except Exception as refusal:
            _blamed(self.function, refusal)
            self.refusal = refusal
            return None
        sizes = tuple(sizes_of(result))
        _expect_arrays(self, result)
        self.standins.remember(call, sizes)
        return sizes

    def _result(self, *args: object, **kwargs: object) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.function(*args, **kwargs)

    def _bound(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        if not inspect.isfunction(self.function):
            return
        try:
            inspect.signature(self.function).bind(*args, **kwargs)
        except TypeError as wrong:
            raise ReferenceFailed(
                f"{_name(self.function)}{inspect.signature(self.function)} cannot be called as the rule is: {wrong}\n"
                f"  called: {Call(args, kwargs)}\n"
                "  fix:    give it the rule's parameters, without the environment, or one parameter `call: Call`"
            ) from None


class OfCalls:
    """A function from a `Call` to sizes, with its mistakes told from its refusals."""

    def __init__(self, function: Callable[[Call], object]) -> None:
        self.function = function
        self.refusal: Exception | None = None

    def __call__(self, call: Call) -> Sizes | None:
        try:
            result = self.function(call)
        except Exception as refusal:
            _blamed(self.function, refusal)
            self.refusal = refusal
            return None
        return None if result is None else shapes_of(self.function, result)


def _blamed(function: object, error: Exception) -> None:
    """Raise `ReferenceFailed` for an exception that is a mistake of the reference itself."""
    broken = isinstance(error, BROKEN) or (isinstance(error, AttributeError) and _in_own_code(function, error))
    if not broken or isinstance(error, ReferenceFailed):
        return
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ is not None else []
    where = f"\n  at:     {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    raise ReferenceFailed(
        f"the reference {_name(function)} is broken, so nothing is known about the rule: "
        f"{type(error).__name__}: {error}{where}{_of_other_arrays(error)}"
    ) from None


def _of_other_arrays(error: Exception) -> str:
    """Advice about an attribute that NumPy's arrays lack."""
    if type(getattr(error, "obj", None)).__module__.partition(".")[0] != "numpy":
        return ""
    return "\n  fix:    tensors=\"torch\" or \"jax\", if it takes other arrays than NumPy's"


def _in_own_code(function: object, error: Exception) -> bool:
    """Return True if an exception comes from the reference's own lines, or is about a name that a library lacks."""
    if inspect.ismodule(getattr(error, "obj", None)):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    plain = inspect.unwrap(function) if callable(function) else function
    own = getattr(getattr(plain, "__code__", None), "co_filename", None)
    return last is not None and last.tb_frame.f_code.co_filename == own


def _expect_arrays(reference: Function, result: object) -> None:
    """Raise `ReferenceFailed` where sizes came out of a function that was given arrays."""
    if isinstance(result, tuple | list) and result and _only_numbers(result):
        raise ReferenceFailed(
            f"{_name(reference.function)} was called with arrays and gave {result!r}, which has none\n"
            "  fix:    a reference that computes sizes takes one parameter `call: Call`, or tensors=\"sizes\""
        )


def _only_numbers(result: object) -> bool:
    """Return True for plain integers, or for tuples of scalars in a tuple."""
    if not isinstance(result, tuple | list):
        return False
    if all(type(one) is int for one in result):
        return True
    inner = [one for one in result if isinstance(one, tuple | list) and one]
    return len(inner) == len(result) and all(getattr(each, "shape", ()) == () for one in inner for each in one)


def _name(function: object) -> str:
    return str(getattr(function, "__name__", function))


def array_maker(tensors: Tensors) -> Callable[[Input], object]:
    """The function that makes a real array for an input."""
    match tensors:
        case "numpy":
            return array_of
        case "torch":
            from shapes.testing.references.torch_eager import tensor_of

            return tensor_of
        case "jax":
            return jax_array_of
        case "sizes":
            return tuple


def shapes_of(function: object, result: object) -> Sizes | None:
    """The shapes that a reference of sizes gave: one, or a tuple of them.

    Raises:
        ReferenceFailed: they are none. Untested: a size is negative, so the reference does not model this call.
    """
    if result is None:
        return None
    if not isinstance(result, tuple | list):
        raise ReferenceFailed(f"{_name(function)} gave {result!r}: expected a shape, or a tuple of shapes")
    single = isinstance(result, Shape) or (bool(result) and not any(_is_shape(one) for one in result))
    shapes: list[tuple[int, ...] | None] = []
    for one in [result] if single else result:
        if one is None:
            shapes.append(None)
            continue
        try:
            shapes.append(tuple([_integer(size) for size in one]))
        except TypeError:
            raise ReferenceFailed(
                f"{_name(function)} gave {result!r}: expected a shape, or a tuple of shapes, of integers"
            ) from None
    if any(size < 0 for one in shapes for size in one or ()):
        raise Untested("the reference gave a negative size", repr(result))
    return tuple(shapes)


def _is_shape(one: object) -> bool:
    return one is None or isinstance(one, tuple | list)


def _integer(size: object) -> int:
    index = getattr(size, "__index__", None)
    if index is None:
        raise TypeError(size)
    return int(index())


def vocabulary_of(function: object) -> Tensors:
    """Whose arrays a function takes: those of the library that it is from, or that its body names."""
    homes = [function, *[getattr(function, name, None) for name in ("__self__", "__objclass__")], type(function)]
    if inspect.isfunction(function):
        named = inspect.getclosurevars(function)
        homes += [*named.globals.values(), *named.nonlocals.values()]
        imported = names_in(function)
        # a body that imports the library names it, too
        homes += [importlib.import_module(name) for name in VOCABULARIES if name in imported and _is_there(name)]
    for home in homes:
        name = home.__name__ if inspect.ismodule(home) else getattr(home, "__module__", None)
        root = str(name).partition(".")[0]
        for tensors in VOCABULARIES:
            if root == tensors:
                return tensors
    return "numpy"


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def reference_of(  # type: ignore[explicit-any]
    function: Callable[..., object], tensors: Tensors | None = None
) -> OfCalls | Function:
    """A reference from a function of arrays, or from one that takes a `Call`."""
    if isinstance(function, Function | OfCalls):
        return function
    return OfCalls(function) if takes_calls(function) else Function(function, tensors)


def takes_calls(function: object) -> bool:
    """Return True if a function takes a `Call` instead of arrays."""
    if isinstance(function, Function | OfCalls):
        return True
    try:
        parameters = list(inspect.signature(function).parameters.values()) if callable(function) else []
    except (TypeError, ValueError):
        return False
    return len(parameters) == 1 and (parameters[0].annotation in (Call, "Call") or parameters[0].name == "call")


def on_sizes(reference: OfCalls | Function) -> list[Callable[[ShapeEnv, Call], object]]:
    """The reference as a function of an environment and a call whose sizes may be symbols, if it computes sizes."""
    function: Callable[..., object] = reference.function  # type: ignore[explicit-any]
    if isinstance(reference, OfCalls):
        return [lambda env, call: function(call)]
    if reference.tensors != "sizes":
        return []

    def with_tuples(env: ShapeEnv, call: Call) -> object:
        args, kwargs = call.replaced(tuple)
        return function(*args, **kwargs)

    return [with_tuples]


def may_omit(reference: OfCalls | Function, name: str) -> bool:
    """Return True if a reference may be called without the parameter of this name."""
    if isinstance(reference, OfCalls):
        return True
    try:
        parameter = inspect.signature(reference.function).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.default is not inspect.Parameter.empty


