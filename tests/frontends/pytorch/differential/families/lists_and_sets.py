"""Methods of lists, sets, tuples and text."""

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("lists and sets")
program = FAMILY.program


@program("n m")
def list_methods(x):
    items = [3, 1, 2]
    items.sort()
    items.insert(1, x)
    items.extend((7, 8))
    items.reverse()
    items.remove(7)
    p = items.pop(0)
    items[1:2] = [9, 9]
    del items[0]
    items *= 2
    m = items + [1]
    items.clear()
    return (items, m, p, [1, 2, 3].index(3), [1, 1].count(1), [0] * 3, [1, 2][::-1], [[x] * 2 for _ in range(2)])


@program("n m")
def list_sort_key(x):
    items = ["bb", "a", "ccc"]
    items.sort(key=len, reverse=True)
    return (items, sorted([(2, "a"), (1, "b")]), sorted("hello", key=str.upper), sorted([x.shape, (1, 2)]))


@program("n m")
def list_nested_mut(x):
    items = [[x], [1]]
    items[0][0] = x + 1
    items[1] += [2]
    (items[0], items[1])
    items[0], items[1] = (items[1], items[0])
    return items


@program("n m")
def set_remove_missing(x):
    try:
        {1}.remove(2)
    except KeyError as e:
        return (e.args, x)


@program("n m")
def set_symdiff_update(x):
    s = {1, 2}
    s ^= {2, 3}
    s |= {7}
    s &= {1, 3, 7}
    s -= {7}
    return (s, x)


@program("n m", thorough=True)
def text_format_map(x):
    return (
        "{a}{b[0]}{c.real}".format_map({"a": 1, "b": [2], "c": x.shape[0]}),
        f"{x.dtype!s:>20}",
        f"{3.14159:.{x.dim()}f}",
        f"x.shape[0]={x.shape[0]!r}",
    )
