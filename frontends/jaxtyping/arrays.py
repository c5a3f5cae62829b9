"""Arrays that have sizes and no elements, to run a function's body on symbolic sizes.

    >>> from frontends.jaxtyping.arrays import SizedArray
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, n, m = env.sizes("b n m")
    >>> x, w = SizedArray(env, (b, n)), SizedArray(env, (m, n))
    >>> (x @ w.T + 1).sum(axis=0).shape
    (m,)

Operators and methods follow the rules of NumPy's functions (`frontends.operator_names`). `on_sizes` makes a copy of a
function in which `numpy` and `jax.numpy` are those rules, and `torch` those of torch's operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import eq
from types import CodeType, FunctionType, ModuleType
from typing import Final

from frontends.operator_names import numpy
from shapes.env import ShapeEnv
from shapes.errors import NotExpressible
from shapes.rules import Rule, Shape, rules
from shapes.symbolic.choices import Int, sym_and
from shapes.symbolic.numbers import SymInt

LIBRARIES: Final[Mapping[str, Mapping[str, Rule]]] = {
    "numpy": numpy, "jax.numpy": numpy, "torch": rules, "torch.nn.functional": rules,
}  # fmt: skip
OPERATORS: Final = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "matmul": "matmul", "and": "logical_and", "or": "logical_or",
}  # fmt: skip
COMPARISONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
SPREAD: Final = ("numpy.reshape", "numpy.transpose", "torch.reshape", "torch.view", "torch.permute", "torch.expand")
"""Methods that take their tuple as several arguments as well."""
INTEGERS: Final = ("argsort", "argmax", "argmin", "nonzero", "arange", "searchsorted")
"""Functions that give integers, by which an array may be indexed: anything else may be a mask."""
ARRAYS: Final = ("ndarray", "Array", "Tensor")
SAME: Final = ("astype", "copy", "block_until_ready", "float", "half", "double")
"""Methods that keep the shape."""


class SizedArray:
    """An array of an environment's sizes; `table` has the rules of its library's functions. Its elements are known to
    be integers if `integers` says so."""

    def __init__(
        self, env: ShapeEnv, shape: tuple[Int, ...], table: Mapping[str, Rule] = numpy, *, integers: bool = False
    ) -> None:
        self.env, self.shape, self.table, self.integers = env, tuple(shape), table, integers

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> object:
        return called(self.env, self.table, "T" if "T" in self.table else "transpose", self)

    def __len__(self) -> int:
        if not self.shape or not isinstance(self.shape[0], int):
            raise NotExpressible("`len` of an array whose first size is a symbol; write `x.shape[0]`")
        return self.shape[0]

    def __getitem__(self, index: object) -> object:
        parts = tuple([_index(part) for part in (index if isinstance(index, tuple) else (index,))])
        return wrapped(self.env, self.table, rules["getitem"](self.env, unwrapped(self), parts))

    def __invert__(self) -> object:
        return called(self.env, self.table, "logical_not", self)

    def __pow__(self, exponent: object) -> object:
        return called(self.env, self.table, "pow" if "pow" in self.table else "power", self, exponent)

    def __neg__(self) -> object:
        return called(self.env, self.table, "negative", self)

    def __bool__(self) -> bool:
        raise NotExpressible("a branch on the elements of an array, which are unknown")

    def __iter__(self) -> Iterator[object]:
        return iter([self[index] for index in range(len(self))])

    def __array__(self, *args: object) -> object:
        raise NotExpressible("the elements of an array, which are unknown")

    def __array_function__(  # type: ignore[explicit-any]  # any function
        self, function: Callable[..., object], types: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        family = function.__module__.removeprefix("numpy").removeprefix(".")
        return called(self.env, numpy, f"{family}.{function.__name__}".lstrip("."), *args, **kwargs)

    def __array_ufunc__(self, function: object, method: str, *args: object, **kwargs: object) -> object:
        name = getattr(function, "__name__", "")
        return called(self.env, numpy, name if method == "__call__" else f"{name}.{method}", *args, **kwargs)

    def __getattr__(self, name: str) -> Callable[..., object]:  # type: ignore[explicit-any]  # a method
        if name not in self.table and name not in SAME:
            raise AttributeError(f"there is no shape rule for the attribute `{name}`")

        def method(*args: object, **kwargs: object) -> object:
            if f"{'torch' if self.table is rules else 'numpy'}.{name}" in SPREAD and len(args) > 1:
                args = (args,)
            if name in SAME:
                return SizedArray(self.env, self.shape, self.table)
            return called(self.env, self.table, name, self, *args, **kwargs)

        return method

    def __repr__(self) -> str:
        return f"SizedArray{Shape(self.shape)!r}"


def _operator(name: str, *, swapped: bool) -> Callable[[SizedArray, object], object]:
    def operator(self: SizedArray, other: object) -> object:
        operands = (other, self) if swapped else (self, other)
        return called(self.env, self.table, name, *operands)

    return operator


def _in_place(name: str) -> Callable[[SizedArray, object], object]:
    """NumPy keeps the array's shape, and JAX makes a new array: alike only where the shapes are the same."""

    def operator(self: SizedArray, other: object) -> object:
        found = called(self.env, self.table, name, self, other)
        shape = found.shape if isinstance(found, SizedArray) else ()
        if len(shape) == len(self.shape) and self.env.proves(sym_and(True, *map(eq, shape, self.shape))):
            return self
        raise NotExpressible(f"an array of {Shape(self.shape)!r} in place, where the result is {found!r}")

    return operator


for _name, _function in OPERATORS.items():
    setattr(SizedArray, f"__{_name}__", _operator(_function, swapped=False))
    setattr(SizedArray, f"__r{_name}__", _operator(_function, swapped=True))
    setattr(SizedArray, f"__i{_name}__", _in_place(_function))
for _name in COMPARISONS:
    setattr(SizedArray, f"__{_name}__", _operator("less", swapped=False))


class Functions:
    """A library's functions as rules, by the names that they have there."""

    def __init__(self, env: ShapeEnv, module: ModuleType, table: Mapping[str, Rule], prefix: str = "") -> None:
        self.env, self.module, self.table, self.prefix = env, module, table, prefix

    def __getattr__(self, name: str) -> object:
        found = getattr(self.module, name)
        if isinstance(found, ModuleType):
            prefix = "" if found.__name__ in LIBRARIES else f"{self.prefix}{name}."
            return Functions(self.env, found, self.table, prefix)
        if isinstance(found, type) and name in ARRAYS:
            return SizedArray
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *args, **kwargs: called(self.env, self.table, f"{self.prefix}{name}", *args, **kwargs)


def called(env: ShapeEnv, table: Mapping[str, Rule], name: str, *args: object, **kwargs: object) -> object:
    """The result of an operator's rule, with arrays in place of shapes.

    Raises:
        NotExpressible: the operator has no rule.
    """
    try:
        rule = table[name]
    except KeyError:
        raise NotExpressible(f"there is no shape rule for `{name}`; give the shapes as `body=`") from None
    kwargs = {key: unwrapped(value) for key, value in kwargs.items() if key != "dtype"}
    found = rule(env, *[unwrapped(value) for value in args], **kwargs)
    return wrapped(env, table, found, integers=name in INTEGERS)


def wrapped(env: ShapeEnv, table: Mapping[str, Rule], value: object, *, integers: bool = False) -> object:
    """Shapes as arrays."""
    if isinstance(value, Shape):
        return SizedArray(env, tuple(value), table, integers=integers)
    if isinstance(value, tuple):
        return tuple([wrapped(env, table, each, integers=integers) for each in value])
    return value


def _index(part: object) -> object:
    """One part of an index, as the rule takes it.

    Raises:
        NotExpressible: sizes do not determine how many elements it selects.
    """
    match part:
        case SizedArray(integers=True):
            return unwrapped(part)
        case slice(start=None, stop=None, step=-1):
            return slice(None)
        case slice(step=int(step)) if step < 0:
            raise NotExpressible(f"an index {part} with a step below 0")
        case None | slice() | int() | SymInt() if not isinstance(part, bool):
            return part
    if part is Ellipsis:
        return part
    raise NotExpressible("an index other than an integer, a slice or an array of integers: it may be a mask")


def unwrapped(value: object) -> object:
    """Arrays as shapes."""
    if isinstance(value, SizedArray):
        return Shape(value.shape)
    if isinstance(value, list | tuple):
        return type(value)([unwrapped(each) for each in value])
    return value


def on_sizes(env: ShapeEnv, function: FunctionType) -> FunctionType:
    """A copy of a function that calls rules where the function calls a library.

    Raises:
        NotExpressible: it asks for types, or catches errors, so that it may behave otherwise on such arrays.
    """
    for code in _codes(function.__code__):
        asked = REFLECTION.intersection(code.co_names)
        if asked:
            raise NotExpressible(f"`{min(asked)}` in the body: arrays without elements have another type")
        if code.co_exceptiontable:
            raise NotExpressible("`try` or `with` in the body: it may catch errors about sizes")
    names = dict(function.__globals__)
    for name, value in names.items():
        if isinstance(value, ModuleType) and value.__name__ in LIBRARIES:
            names[name] = Functions(env, value, LIBRARIES[value.__name__])
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


REFLECTION: Final = frozenset({"isinstance", "issubclass", "type", "hasattr", "getattr", "callable"})


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


__all__ = ["SizedArray", "on_sizes"]
