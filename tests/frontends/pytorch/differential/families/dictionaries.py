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


@program("n m")
def dictionary_default(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    d["b"] += [1]
    return (d, d.default_factory is list, "c" in d, d.get("c"))


@program("n m")
def dictionary_eq(x):
    return (
        {"a": 1} == {"a": 1.0},
        {"a": 1} != {},
        collections.OrderedDict(a=1, b=2) == collections.OrderedDict(b=2, a=1),
        x,
    )
