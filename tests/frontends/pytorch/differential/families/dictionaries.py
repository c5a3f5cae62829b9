"""Methods of dictionaries, and of what is like them."""

import collections

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("dictionaries")
program = FAMILY.program


@program("n m")
def dictionary_methods(x):
    d = {"a": x, "b": 1}
    d.update(c=2)
    d |= {"e": 5}
    p = d.pop("b")
    q = d.pop("zz", 7)
    i = d.popitem()
    d.setdefault("f", []).append(3)
    return (
        d,
        p,
        q,
        i,
        list(d),
        "a" in d,
        d.get("q"),
        {**d, "a": 0},
        d | {"z": 1},
        len(d),
        dict.fromkeys("ab", 0),
        [*reversed(d)],
        d.copy() is d,
    )


@program("n m", thorough=True)
def dictionary_views(x):
    d = {"a": 1, "b": 2}
    k = d.keys()
    d["c"] = 3
    return (
        list(k),
        k & {"a"},
        k | {"z"} == {"a", "b", "c", "z"},
        len(d.values()),
        list(d.items())[0],
        d.items() >= {("a", 1)},
        x,
    )


@program("n m")
def dictionary_default(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    d["b"] += [1]
    return (d, d.default_factory is list, "c" in d, d.get("c"))


@program("n m", thorough=True)
def dictionary_ordered(x):
    d = collections.OrderedDict(a=1, b=x)
    d.move_to_end("a")
    d.popitem(last=False)
    return (d, list(d), d == {"a": 1})


@program("n m", thorough=True)
def dictionary_counter(x):
    c = collections.Counter("aabbb")
    c.update("a")
    c.subtract("b")
    return (c, c.most_common(1), c["zz"], sum(c.values()), c + c, x)


@program("n m", thorough=True)
def dictionary_mutated_in_iter(x):
    d = {1: x, 2: x}
    try:
        for k in d:
            d[k + 10] = 1
    except RuntimeError as e:
        return str(e)


@program("n m", thorough=True)
def dictionary_unhashable(x):
    try:
        {[]: 1}
    except TypeError as e:
        return (str(e), x)


@program("n m")
def dictionary_eq(x):
    return (
        {"a": 1} == {"a": 1.0},
        {"a": 1} != {},
        collections.OrderedDict(a=1, b=2) == collections.OrderedDict(b=2, a=1),
        x,
    )


@program("n m", thorough=True)
def dictionary_subclass(x):
    class D(dict):
        def __setitem__(self, k, v):
            super().__setitem__(k, v * 2)

        def __getitem__(self, k):
            return super().__getitem__(k) + 1

    d = D()
    d["a"] = 3
    d["x"] = x
    return (d["a"], d["x"], d)


@program("n m", thorough=True)
def dictionary_chainmap(x):
    c = collections.ChainMap({"a": 1}, {"a": 2, "b": x})
    c["n"] = 4
    return (c.maps, c["b"], c.new_child({"z": 1})["z"], list(c.parents))
