"""Objects as Python has them: dataclasses, enumerations; classes with properties, descriptors, bases, operators."""

from __future__ import annotations

import abc
import copy
import dataclasses
import enum
from typing import Any, Generic, TypeVar

import torch

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
dataclass_programs, enums, classes = map(of_one, ("dataclasses", "enumerations", "classes"))


@dataclasses.dataclass
class Options:
    scale: float = 2.0
    names: list[str] = dataclasses.field(default_factory=list)
    shape: Any = None

    def __post_init__(self) -> None:
        self.names.append("made")


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: Any
    factor: int = 3

    @property
    def product(self) -> Any:
        return self.value * self.factor


@dataclasses.dataclass
class State:
    hidden: Any
    steps: int = 0


@dataclass_programs
def a_dataclass_within(x: Tensor) -> object:
    options = Options(shape=x.shape[0])
    options.scale += 1
    return x * options.scale + len(options.names) + options.shape


@dataclass_programs
def a_frozen_dataclass(x: Tensor) -> Tensor:
    return dataclasses.replace(Frozen(x), factor=4).product + Frozen(2).product


@program("dataclasses")
def a_dataclass_that_is_given_and_changed(compiling: Compiling) -> Call:
    def f(state: State, x: Tensor) -> Tensor:
        state.hidden = torch.tanh(state.hidden + x.sum(0))
        state.steps += 1
        return state.hidden * state.steps

    compiled = compiling(f)

    def call(size: int) -> object:
        state = State(torch.zeros(4))
        return compiled(state, torch.randn(size, 4)), compiled(state, torch.randn(size, 4)), state.hidden, state.steps

    return call


@program("dataclasses")
def a_dataclass_that_is_returned(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: State(x.relu(), x.shape[0]))

    def call(size: int) -> object:
        state = compiled(torch.randn(size, 4))
        return type(state).__name__, state.hidden, state.steps

    return call


@dataclass_programs
def fields_of_a_dataclass(x: Tensor) -> object:
    state = State(x, 2)
    return {each.name: getattr(state, each.name) for each in dataclasses.fields(state)}, dataclasses.asdict(state)


class Mode(enum.Enum):
    TWICE = "twice"
    ONCE = "once"

    @property
    def factor(self) -> int:
        return 2 if self is Mode.TWICE else 1


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Switch(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@enums
def an_enumeration(x: Tensor) -> Tensor:
    mode = Mode("twice") if x.shape[1] == 4 else Mode.ONCE
    return x * mode.factor + len(Mode) + (mode == Mode.TWICE) + [each.name for each in Mode].index("ONCE")


@enums
def numbers_that_are_enumerated(x: Tensor) -> Tensor:
    return x * Level.HIGH + max(Level) + (Level.LOW < Level.HIGH)


@enums
def flags_of_an_enumeration(x: Tensor) -> Tensor:
    both = Switch.A | Switch.B
    return x * 2 if Switch.B in both and both & Switch.A else x


@program("enumerations")
def an_enumeration_that_is_given(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, mode: x * mode.factor if mode is Mode.TWICE else x - 1)
    return lambda size: compiled(torch.randn(size, 4), Mode.TWICE if size > 3 else Mode.ONCE)


@enums
def a_pattern_that_matches(x: Tensor) -> Tensor:
    match ("scale", x.shape[1], [1, 2]):
        case ("scale", 4, [first, *rest]):
            return x * first + len(rest)
        case _:
            return x


class Base:
    factor = 2.0

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def run(self, x: Any) -> Any:
        return x * self.factor + self.shift

    @property
    def doubled(self) -> float:
        return self.shift * 2

    @doubled.setter
    def doubled(self, value: float) -> None:
        self.shift = value / 2

    @classmethod
    def made(cls, shift: float) -> Base:
        return cls(shift)

    @staticmethod
    def plus(x: Any) -> Any:
        return x + 1


class Mixin:
    def run(self, x: Any) -> Any:
        return super().run(x) - 1  # type: ignore[misc]


class Derived(Mixin, Base):
    factor = 3.0

    def __init__(self, shift: float) -> None:
        super().__init__(shift + 1)
        self.extra = 5.0

    def run(self, x: Any) -> Any:
        return super().run(x) * self.extra


@classes
def methods_of_a_base_class(x: Tensor) -> Tensor:
    return Derived(1.0).run(x) + Base.made(2.0).run(x) + Derived.made(3.0).run(x)


@classes
def a_property_with_a_setter(x: Tensor) -> Tensor:
    made = Base(1.0)
    made.doubled = 6.0
    return made.run(x) + made.doubled + Base.plus(x)


@classes
def a_class_made_within(x: Tensor) -> Tensor:
    class Local(Base):
        factor = 7.0

        def run(self, y: Any) -> Any:
            return super().run(y) + x.sum()

    return Local(1.0).run(x)


@program("classes")
def an_object_that_is_read(compiling: Compiling) -> Call:
    made = Derived(1.0)
    compiled = compiling(lambda x: made.run(x) + made.doubled)

    def call(size: int) -> object:
        made.extra = float(size)
        return compiled(torch.randn(size, 4))

    return call


@program("classes")
def a_method_that_is_compiled(compiling: Compiling) -> Made:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        def run(self, x: Tensor) -> Tensor:
            self.calls += 1
            return x * self.calls

    made = Counting()
    compiled = compiling(made.run)
    return lambda size: compiled(torch.randn(size, 4)), lambda: made.calls


@classes
def operators_of_a_class(x: Tensor) -> Tensor:
    class Number:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __add__(self, other: Any) -> Number:
            return Number(self.value + getattr(other, "value", other))

        __radd__ = __add__

        def __mul__(self, other: Any) -> Number:
            return Number(self.value * getattr(other, "value", other))

        def __neg__(self) -> Number:
            return Number(-self.value)

        def __getitem__(self, index: Any) -> Any:
            return self.value[index]

        def __call__(self, y: Any) -> Any:
            return self.value + y

        def __len__(self) -> int:
            return 3

        def __bool__(self) -> bool:
            return False

        def __iter__(self) -> Any:
            return iter([self.value, self.value])

        def __contains__(self, item: Any) -> bool:
            return item == 1

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Number)

        __hash__ = None  # type: ignore[assignment]

    n = 1 + Number(x) * 2 + Number(1.0)
    a, b = -n
    return n[0] + a + b + n(1.0) + len(n) + (1 if n else 2) + (1 in n) + (n == Number(2))


@classes
def attributes_that_are_computed(x: Tensor) -> Tensor:
    class Lazy:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("times"):
                return lambda y: y * int(name[5:])
            raise AttributeError(name)

    lazy = Lazy()
    return lazy.times3(x) + (1 if hasattr(lazy, "other") else 2) + getattr(lazy, "nothing", 0)


@classes
def a_descriptor_of_a_class(x: Tensor) -> Tensor:
    class Scaled:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = "_" + name

        def __get__(self, instance: Any, owner: type) -> Any:
            return getattr(instance, self.name) * 10

        def __set__(self, instance: Any, value: Any) -> None:
            setattr(instance, self.name, value + 1)

    class Holder:
        width = Scaled()

    holder = Holder()
    holder.width = 2
    return x * holder.width


@classes
def a_class_with_slots(x: Tensor) -> Tensor:
    class Slotted:
        __slots__ = ("left", "right")

        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right

    made = Slotted(x, 2.0)
    made.right *= 3
    del made.left
    return x * made.right + (0 if hasattr(made, "left") else 1)


@classes
def abstract_and_generic(x: Tensor) -> Tensor:
    T = TypeVar("T")

    class Shape(abc.ABC, Generic[T]):
        @abc.abstractmethod
        def area(self) -> Any: ...

        def doubled(self) -> Any:
            return self.area() * 2

    class Square(Shape[int]):
        def area(self) -> Any:
            return x.shape[0] * x

    return Square().doubled()


@classes
def kinds_are_asked(x: Tensor) -> Tensor:
    made = Derived(1.0)
    total = x + isinstance(made, Mixin) + issubclass(Derived, Base) + (type(made) is Derived)
    return total + len(Derived.__mro__) + callable(made.run) + (Derived.__name__ == "Derived")


@classes
def copies_of_objects(x: Tensor) -> Tensor:
    made = Base(1.0)
    other = copy.copy(made)
    other.shift = 5.0
    items = copy.deepcopy({"a": [1.0, 2.0]})
    items["a"].append(3.0)
    return made.run(x) + other.run(x) + sum(items["a"])


@classes
def a_cached_property(x: Tensor) -> Tensor:
    class Lazy:
        def __init__(self) -> None:
            self.times = 0

        @property
        def value(self) -> Any:
            if not hasattr(self, "_value"):
                self.times += 1
                self._value = x * 2
            return self._value

    lazy = Lazy()
    return lazy.value + lazy.value + lazy.times


@program("classes")
def an_attribute_that_is_made_at_the_first_call(compiling: Compiling) -> Made:
    class Lazy:
        def weight(self) -> Tensor:
            if not hasattr(self, "_weight"):
                self._weight = torch.ones(4) * 2
            return self._weight

        def run(self, x: Tensor) -> Tensor:
            return x * self.weight()

    lazy = Lazy()
    compiled = compiling(lazy.run)
    return lambda size: compiled(torch.randn(size, 4)), lambda: vars(lazy)


@program("classes")
def a_class_attribute_that_is_written(compiling: Compiling) -> Made:
    class Counter:
        total = 0

        @classmethod
        def count(cls, n: int) -> int:
            cls.total += n
            return cls.total

    compiled = compiling(lambda x: x + Counter.count(x.shape[0]))
    return lambda size: compiled(torch.randn(size, 4)), lambda: Counter.total
