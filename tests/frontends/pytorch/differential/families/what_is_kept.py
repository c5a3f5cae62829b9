"""State that programs keep between calls: closures, classes, defaults, locks, iterators."""

import io
import itertools
import sys
import threading

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("what is kept")
stateful = FAMILY.stateful

K = 3

L = [1, 2]


@stateful("n m")
def closure_list_returned():
    items = [3]
    return (lambda x: (x + 1, items, items), items)


@stateful("n m")
def nonlocal_tensor():
    t = None

    def f(x):
        nonlocal t
        r = x + (0 if t is None else t.sum())
        t = x * 2
        return r

    return (f, None)


@stateful("n m")
def class_counter():
    C = type("C", (), {"n": 0})

    def f(x):
        C.n += 1
        return x * C.n

    return (f, None)


@stateful("n m")
def lock_used():
    lock = threading.Lock()
    n = [0]

    def f(x):
        with lock:
            n[0] += 1
        return x * n[0]

    return (f, n)


@stateful("n m")
def generator_state():
    def g():
        n = 0
        while True:
            n += 1
            yield n

    it = g()
    return (lambda x: x * next(it), None)


@stateful("n m")
def setattr_class_back():
    class K:
        v = 1

    def f(x):
        old = K.v
        K.v = 7
        y = x * K.v
        K.v = old
        return y

    return (f, None)


@stateful("n m")
def swallowed_state():
    s = []

    def f(x):
        try:
            s.append(1)
            x.view(999)
            s.append(2)
        except RuntimeError:
            s.append(3)
        return x

    return (f, s)


@stateful("n m")
def file_like():
    b = io.StringIO()

    def f(x):
        b.write(str(x.shape[0]))
        return (x, b.getvalue())

    return (f, None)


@stateful("n m")
def default_tensor_changed():
    def f(x, t=torch.zeros(1)):
        t.add_(1)
        return x + t

    return (f, None)


@stateful("n m")
def closure_tensor_rebound():
    w = torch.ones(1)

    def f(x):
        nonlocal w
        w = w * 2
        return x * w

    return (f, None)


@stateful("n m")
def closure_tensor_set_item():
    w = torch.zeros(3)

    def f(x):
        w[x.shape[0] % 3] = x.sum()
        return w.clone()

    return (f, w)


@stateful("n m")
def object_graph():
    class N:
        pass

    a, b = (N(), N())
    a.n = b
    b.n = a
    a.v = 1
    b.v = 2

    def f(x):
        a.v += b.n.v
        return x * a.n.n.v

    return (f, None)


@stateful("n m", thorough=True)
def global_list_returned():
    return (lambda x: (x + 1, L), L)


@stateful("n m", thorough=True)
def closure_dict_returned_changes():
    d = {}

    def f(x):
        d["n"] = x.shape[0]
        return (x, d)

    return (f, d)


@stateful("n m", thorough=True)
def accumulates_in_list():
    items = []

    def f(x):
        items.append(x.sum())
        return sum(items)

    return (f, items)


@stateful("n m", thorough=True)
def function_attribute():
    def f(x):
        f.n = getattr(f, "n", 0) + 1
        return x * f.n

    return (f, None)


@stateful("n m", thorough=True)
def counter_iterator():
    c = itertools.count()
    return (lambda x: x * next(c), None)


@stateful("n m", thorough=True)
def patched():
    from unittest import mock

    class K:
        v = 1

    def f(x):
        with mock.patch.object(K, "v", 5):
            return x * K.v

    return (f, None)


@stateful("n m", thorough=True)
def exception_after_state():
    s = {"n": 0}

    def f(x):
        s["n"] += 1
        if s["n"] % 2:
            raise ValueError(str(s["n"]))
        return x * s["n"]

    return (f, s)


@stateful("n m", thorough=True)
def printed_between():
    def f(x):
        print("a")
        y = x + 1
        print(y.shape, x.shape[0])
        sys.stdout.write("w")
        return y

    return (f, None)


@stateful("n m", thorough=True)
def default_mutable():
    def f(x, items=[]):
        items.append(x.shape[0])
        return x * len(items)

    return (f, None)


@stateful("n m", thorough=True)
def kw_default_tensor_changed():
    def g(*, t=torch.zeros(2, 2)):
        t.add_(1)
        return t

    return (lambda x: x.sum() + g(), None)


@stateful("n m", thorough=True)
def closure_tensor_inplace():
    w = torch.ones(1)

    def f(x):
        w.mul_(2)
        return x * w

    return (f, w)


@stateful("n m", thorough=True)
def view_of_closure():
    w = torch.zeros(3)
    v = w[1:]

    def f(x):
        v.add_(1)
        return w + 0

    return (f, [w, v])
