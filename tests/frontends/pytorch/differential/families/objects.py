"""Classes made inside of a program, contexts, patterns and protocols."""

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("objects")
program = FAMILY.program


@program("n")
def metaclass(x):
    class M(type):
        def __call__(cls, *a):
            o = super().__call__(*a)
            o.seen = True
            return o

        def __len__(cls):
            return 3

    class A(metaclass=M):
        pass

    return (x * len(A), A().seen)


@program("n")
def context_class(x):
    log = []

    class CM:
        def __enter__(self):
            log.append("in")
            return self

        def __exit__(self, t, v, tb):
            log.append(t and t.__name__)
            return True

    with CM(), CM():
        raise ValueError
    return (x, log)


@program("n")
def object_text(x):
    class S:
        def __str__(self):
            return "ok"

        def __repr__(self):
            return f"S({x.shape[0]})"

        def __format__(self, s):
            return s + "!"

    return (str(S()), repr([S()]), f"{S():abc}", f"{S()!r}")
