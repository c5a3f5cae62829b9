"""Python as it is written in programs: built-in functions, string methods, inspection, operators, protocols."""

import abc
import collections
import contextlib
import copy
import functools
import inspect
import itertools
import math
import operator
import typing

import torch
import torch.nn.functional as F

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("language")
program = FAMILY.program
stateful = FAMILY.stateful

CONSTANT = 3
TABLE = {"a": 1, "b": [2, 3]}
Point = collections.namedtuple("Point", ["x", "y"])


class Base(abc.ABC):
    scale = 2

    def __init__(self, factor=1.0):
        self.factor = factor

    @abc.abstractmethod
    def apply(self, x): ...

    def __bool__(self):
        return self.factor > 0

    def __contains__(self, item):
        return item == self.factor

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Derived(Base):
    def apply(self, x):
        return x * self.factor * self.scale

    def __getattr__(self, name):
        if name.startswith("times"):
            return int(name[5:])
        raise AttributeError(name)

    def __call__(self, x, *, plus=0):
        return self.apply(x) + plus

    def __eq__(self, other):
        return isinstance(other, Derived) and self.factor == other.factor

    def __hash__(self):
        return hash(self.factor)

    def __lt__(self, other):
        return self.factor < other.factor

    def __len__(self):
        return 3


class Descriptor:
    def __get__(self, instance, owner):
        return 4 if instance is None else instance.value + 1


class Described:
    size = Descriptor()

    def __init__(self, value):
        self.value = value


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, item: T) -> None:
        self.item = item


def annotated(x: torch.Tensor, by: int = 2) -> torch.Tensor:
    """A docstring."""
    return x * by


FAMILY.table(
    {
        "global in a function": lambda x: annotated(x),
        "keyword": lambda x: annotated(by=3, x=x),
        "abs and round of numbers": lambda x: x * abs(-3) + round(2.567, 1),
        "min and max with keys": lambda x: x * max([1, -5, 3], key=abs) + min("ab", "c", key=len).__len__(),
        "product": lambda x: [x * a + b for a, b in itertools.product([1, 2], [3, 4])],
        "permutations": lambda x: len(list(itertools.permutations(range(3), 2))) * x,
        "combinations": lambda x: [x + sum(pair) for pair in itertools.combinations(range(3), 2)],
        "islice and count": lambda x: x * sum(itertools.islice(itertools.count(2, 3), 3)),
        "cycle and take": lambda x: [x * next(c) for c in [itertools.cycle([1, 2])] for _ in range(3)],
        "zip longest": lambda x: [x * (a or 1) * (b or 2) for a, b in itertools.zip_longest([1, 2, 3], [4])],
        "starmap": lambda x: list(itertools.starmap(operator.add, [(1, 2), (3, 4)])) + [x],
        "frozen set": lambda x: x if frozenset([1]) <= {1, 2} else -x,
        "bytes": lambda x: x * b"abc"[1] + int.from_bytes(b"\x01\x02", "big"),
        "string methods": lambda x: x * len("a,b,c".split(",")) if "Layer.0".lower().startswith("layer") else x,
        "format": lambda x: "{:>5}|{name!r}".format(3, name="n") + "%d %s" % (2, "x") + f"{1.5:.2f}",
        "integer methods": lambda x: x * (13).bit_length() + (-7) // 2 + (-7) % 3 + divmod(7, 2)[1] + 2**5,
        "float methods": lambda x: x * (2.0).is_integer() + float("1.5") + int("12") + float.fromhex("0x1p1"),
        "math": lambda x: x * math.gcd(12, 18) + math.floor(2.7) + math.prod([1, 2, 3]) + math.comb(4, 2) + math.pi,
        "complex numbers": lambda x: (1 + 2j).real * x + abs(3 + 4j) + (1 - 1j).conjugate().imag,
        "starred call": lambda x: torch.add(*(x, x), **{"alpha": 2}),
        "ternary chain": lambda x: x * 1 if x.dim() == 1 else x * 2 if x.dim() == 2 else x * 3,
        "has and get attribute": lambda x: (hasattr(x, "no"), getattr(x, "ndim"), getattr(x, "no", 5)),
        "membership": lambda x: (2 in [1, 2], "a" in TABLE, 3 not in (1, 2), x.shape[0] in range(4)),
        "any and all of tensors": lambda x: x * 2 if all(isinstance(row, torch.Tensor) for row in x) else x,
        "counter": lambda x: x * collections.Counter("aab")["a"] + len(collections.Counter(a=2, b=1)),
        "named tuple": lambda x: Point(x, y=2)._replace(y=x.shape[1]),
        "named tuple as dictionary": lambda x: Point(1, 2)._asdict()["y"] * x + Point._fields.index("y"),
        "operator module": lambda x: operator.mul(x, 2) + operator.getitem(x, 0) - operator.floordiv(7, 2),
        "compose": lambda x: functools.reduce(lambda f, g: lambda v: g(f(v)), [torch.sin, torch.relu])(x),
        "signature": lambda x: x * len(inspect.signature(annotated).parameters) + (annotated.__defaults__ or (0,))[0],
        "docstring and name": lambda x: (annotated.__name__, annotated.__doc__, annotated.__annotations__["by"] is int),
        "descriptor": lambda x: x * Described(3).size + Described.size,
        "generic": lambda x: Box[torch.Tensor](x).item + Box(1).item,
        "object with operators": lambda x: Derived(2.0)(x, plus=1) if Derived(2.0) and 2.0 in Derived(2.0) else x,
        "attribute found by name": lambda x: x * Derived().times7,
        "object as a key": lambda x: {Derived(1.0): x, Derived(2.0): x * 2}[Derived(2.0)],
        "sorted objects": lambda x: sorted([Derived(3.0), Derived(1.0)])[0].apply(x),
        "with an object": lambda x: Derived(3.0).__enter__().apply(x),
        "copied": lambda x: copy.copy([x, 1]) + copy.deepcopy([2, [3]]),
        "exit stack": lambda x: with_stack(x),
        "suppressed": lambda x: suppressed(x),
        "evaluated text": lambda x: eval("x * 2 + 1", {"x": x}),
        "executed text": lambda x: executed(x),
        "locals and globals": lambda x: x * globals()["CONSTANT"] + len(locals()),
        "imported inside": lambda x: imported(x),
        "lambda in a default": lambda x, f=lambda v: v + 1: f(x),
        "comparison with none": lambda x: (x == None) is False,  # noqa: E711
        "iterated shape": lambda x: [size * 2 for size in x.shape] + [*x.size()],
        "shape arithmetic": lambda x: x.new_zeros(*x.shape[:-1], x.shape[-1] * 2, x.shape[0] // 2 + 1),
        "shape joined": lambda x: (x.shape + (1,), x.shape[::-1], (2, *x.shape), x.shape.numel()),
        "shape compared": lambda x: (x.shape == x.t().shape, x.shape[0] == x.size(0), x.shape >= (1,)),
        "size as index": lambda x: list(range(10))[x.shape[0]],
        "size as a float": lambda x: x * float(x.shape[0]) + x.shape[1] ** 0.5 + x.shape[0] / x.shape[1],
        "size in text": lambda x: "rows " + str(x.shape[0]) + f" of {x.shape[1]!r}",
        "condition on sizes in text": lambda x: f"{x.shape[0] > 3} {[x.shape[1] / 2]} {(x.shape[0] == 5,)!r}",
        "size as a key": lambda x: {3: "three", 5: "five"}.get(x.shape[0], "other"),
        "size in a set": lambda x: len({x.shape[0], x.shape[1], 3}),
        "size times text": lambda x: "ab" * x.shape[0] + "-",
        "list of a size": lambda x: [0] * x.shape[0],
        "bits of sizes": lambda x: (x.shape[0] & 1, x.shape[0] << 1, x.shape[1] | 8, x.shape[0].bit_length()),
        "rounded sizes": lambda x: (round(x.shape[0] / 2), int(x.shape[1] * 0.5), -x.shape[0] // 2),
        "next power of two": lambda x: x.new_zeros(2 ** math.ceil(math.log2(x.shape[1]))),
        "truth of a size": lambda x: x if x.shape[0] else -x,
        "hash of a size": lambda x: hash(x.shape[0]) == hash(int(x.shape[0])),
        "type of a size": lambda x: (type(x.shape[0]) is int, isinstance(x.shape[0], int)),
        "size of a list": lambda x: F.interpolate(x[None, None], size=[x.shape[0] * 2, x.shape[1]])[0, 0],
    },
    "n m",
)


def with_stack(x):
    with contextlib.ExitStack() as stack:
        derived = stack.enter_context(Derived(2.0))
        stack.enter_context(torch.no_grad())
        return derived.apply(x) * 1


def suppressed(x):
    with contextlib.suppress(ZeroDivisionError):
        return x * (1 // 0)
    return x + 1


def executed(x):
    space = {"x": x}
    exec("y = x + 2", space)
    return space["y"]


def imported(x):
    import math as mathematics

    from torch.nn.functional import relu

    return relu(x) * mathematics.e


@program("n m")
def dictionary_changes_while_it_is_used(x):
    table = {"a": x}
    for key in list(table):
        table[key + "b"] = table[key] * 2
        del table[key]
    return table


@program("n m")
def matched_by_class(x):
    match Point(x, 2):
        case Point(x=value, y=2):
            return value * 2
        case _:
            return x


@program("n m")
def matched_mapping(x):
    match {"kind": "scale", "by": [2, 3]}:
        case {"kind": "scale", "by": [first, *_]} if first > 1:
            return x * first
        case _:
            return x


@program("n m")
def flattened_by_recursion(x):
    def leaves(tree):
        if isinstance(tree, dict):
            for key in sorted(tree):
                yield from leaves(tree[key])
        elif isinstance(tree, list | tuple):
            for item in tree:
                yield from leaves(item)
        else:
            yield tree

    return sum(leaves({"b": [x, (x * 2, {"c": x})], "a": 1.0}))


@program("n m")
def set_attribute_by_name(x):
    class Empty:
        pass

    made = Empty()
    for name, value in {"a": x, "b": 2}.items():
        setattr(made, name, value)
    delattr(made, "b")
    return made.a, vars(made).keys() == {"a"}, made.__dict__["a"] is x


@stateful("n m")
def memoized_outside():
    @functools.lru_cache(None)
    def scale(size):
        return size * 2

    def step(x):
        return x * scale(x.shape[0]), scale.cache_info().currsize

    return step, None


@stateful("n m")
def partial_is_compiled():
    return functools.partial(annotated, by=5), None


@stateful("n m")
def context_that_counts():
    entered = []

    class Scope:
        def __enter__(self):
            entered.append(1)
            return len(entered)

        def __exit__(self, *error):
            entered.append(2)

    def step(x):
        with Scope() as number:
            return x * number

    return step, entered
