"""Methods of lists, sets, tuples and text."""

import collections

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


@program("n m", thorough=True)
def list_slice_assign(x):
    items = list(range(6))
    items[::2] = "abc"
    del items[1:3]
    return (items, x)


@program("n m", thorough=True)
def list_bad_slice(x):
    items = list(range(6))
    try:
        items[::2] = [1]
    except ValueError as e:
        return (str(e), x)


@program("n m")
def list_sort_key(x):
    items = ["bb", "a", "ccc"]
    items.sort(key=len, reverse=True)
    return (items, sorted([(2, "a"), (1, "b")]), sorted("hello", key=str.upper), sorted([x.shape, (1, 2)]))


@program("n m", thorough=True)
def list_index_error(x):
    try:
        [1].pop(5)
    except IndexError as e:
        return (str(e), x)


@program("n m", thorough=True)
def list_subclass(x):
    class L(list):
        def total(self):
            return sum(self)

        def append(self, v):
            super().append(v * 2)

    items = L([x])
    items.append(x)
    return (items.total(), len(items), type(items).__name__, items)


@program("n m")
def list_nested_mut(x):
    items = [[x], [1]]
    items[0][0] = x + 1
    items[1] += [2]
    (items[0], items[1])
    items[0], items[1] = (items[1], items[0])
    return items


@program("n m", thorough=True)
def list_deque(x):
    d = collections.deque([1, x], maxlen=3)
    d.appendleft(0)
    d.append(5)
    d.rotate(1)
    d.extend([7])
    a = d.popleft()
    return (d, a, d.maxlen, len(d), d[0])


@program("n m", thorough=True)
def set_methods(x):
    s = {1, 2}
    s.add(3)
    s.discard(9)
    s.update([4], {5})
    t = s - {1}
    u = s & {1, 2}
    v = s ^ {1, 10}
    s.remove(2)
    p = frozenset(s)
    return (
        s,
        t,
        u,
        v,
        p,
        s <= {1, 3, 4, 5},
        s.isdisjoint({9}),
        len(s),
        3 in s,
        {1} | {2},
        s.issubset(p),
        s.union([8], (9,)),
        x,
    )


@program("n m")
def set_remove_missing(x):
    try:
        {1}.remove(2)
    except KeyError as e:
        return (e.args, x)


@program("n m", thorough=True)
def set_pop(x):
    s = {1}
    return (s.pop(), s, x)


@program("n m", thorough=True)
def set_subclass(x):
    class S(set):
        def add(self, v):
            super().add(v * 2)

    s = S()
    s.add(2)
    return (s, type(s).__name__, x)


@program("n m")
def set_symdiff_update(x):
    s = {1, 2}
    s ^= {2, 3}
    s |= {7}
    s &= {1, 3, 7}
    s -= {7}
    return (s, x)


@program("n m", thorough=True)
def text_methods(x):
    return (
        "a-b".split("-"),
        "abc".find("c"),
        " a ".strip(),
        "abc".title(),
        "a".join("bc"),
        "abc".startswith(("a", "z")),
        "abc"[::-1],
        "x=%d" % x.shape[0],
        "a" * 3,
        "abc".partition("b"),
        "a\nb".splitlines(),
        "ab".zfill(4),
        "ab".center(6, "*"),
        "aXb".swapcase(),
        "abc".translate(str.maketrans("a", "z")),
        "abc".encode(),
        b"ab".decode(),
        "a" < "b",
        "ab" in "cab",
        "a,b".rsplit(",", 1),
        "abc".removeprefix("a"),
        "{:05.1f}|{:>4}|{!r}".format(2.5, "a", "b"),
        f"{x.shape[0]:03d}{'z':>3}",
        "A".isupper(),
        ord("a"),
        chr(98),
    )


@program("n m", thorough=True)
def text_format_map(x):
    return (
        "{a}{b[0]}{c.real}".format_map({"a": 1, "b": [2], "c": x.shape[0]}),
        f"{x.dtype!s:>20}",
        f"{3.14159:.{x.dim()}f}",
        f"x.shape[0]={x.shape[0]!r}",
    )
