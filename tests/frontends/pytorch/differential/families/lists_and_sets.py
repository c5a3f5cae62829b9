"""Methods of lists, sets, dictionaries and text."""

import collections

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("lists and sets")
program = FAMILY.program


@program("n m")
def list_sort_key(x):
    items = ["bb", "a", "ccc"]
    items.sort(key=len, reverse=True)
    return (items, sorted([(2, "a"), (1, "b")]), sorted("hello", key=str.upper), sorted([x.shape, (1, 2)]))


@program("n m")
def set_remove_missing(x):
    try:
        {1}.remove(2)
    except KeyError as e:
        return (e.args, x)


@program("n m", thorough=True)
def text_format_map(x):
    return (
        "{a}{b[0]}{c.real}".format_map({"a": 1, "b": [2], "c": x.shape[0]}),
        f"{x.dtype!s:>20}",
        f"{3.14159:.{x.dim()}f}",
        f"x.shape[0]={x.shape[0]!r}",
    )


@program("n m")
def dictionary_default(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    d["b"] += [1]
    return (d, d.default_factory is list, "c" in d, d.get("c"))
