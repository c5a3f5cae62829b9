"""Programs in a process in which nothing ran before, each in one of its own.

`python -m tests.frontends.pytorch.calls.first_calls` prints, as JSON, how each was run by a first compiled function, by
a second one, and what was raised where nothing can be.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import typing
from collections.abc import Callable
from pathlib import Path

import torch

from frontends.pytorch import compile

TABLE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}
PLAIN = "import logging, sys\nlogging.getLogger('plain').warning('imported')\nsys._getframe(0)\n"
PLAIN += "open(__file__).close()\n"
PLAIN += "def plus_one(x):\n    return x + 1\n"
MODULES = {
    "plugin": "from tests.frontends.pytorch.calls import first_calls\nfirst_calls.TABLE['twice'] = lambda x: x * 2\n",
    "fails": "raise ValueError('on import')\n",
    "plain": PLAIN,
    "holds": "import torch\nWEIGHT = torch.full((3,), 2.0)\nLAYER = torch.nn.Linear(3, 3)\n",
    "counts": "COUNT = 0\ndef count():\n    global COUNT\n    COUNT += 1\n    return COUNT\n",
    "compiles": "import torch\nfrom frontends.pytorch import compile\nONES = compile(torch.exp)(torch.zeros(3))\n",
}


def fills_a_table(x):
    if "twice" not in TABLE:
        import plugin  # noqa: F401
    return TABLE["twice"](x)


def is_missing(x):
    try:
        import nothing_of_this_name  # noqa: F401
    except:  # noqa: E722
        return x + 1
    return x


def fails(x):
    try:
        import fails  # noqa: F401
    except ValueError:
        return x + 1
    return x


def logs_and_looks(x):
    made = [x]
    try:
        import plain

        made.append(plain.plus_one(x))
    except:  # noqa: E722
        return x
    return made


def by_name(x):
    import importlib

    return importlib.import_module("pla" + "in").plus_one(x)


def keeps_tensors(x):
    import holds

    return x + holds.WEIGHT.sum()


def counts(x):
    import counts

    return x + counts.count()


def compiles_itself(x):
    import compiles

    return x + compiles.ONES.sum()


def under_vmap(x):
    def inner(y):
        import plain

        return plain.plus_one(y)

    return torch.vmap(inner)(x)


def asks_for_types(x):
    kind = typing.TypeVar("kind")

    class Generic(typing.Generic[kind]):
        pass

    assert typing.Optional[Generic[int]]  # noqa: UP045
    return x + 1


def contracts(x):
    products = x[:, None] * x
    return torch.einsum("ij,jk,kl->il", products, products, products)


def records(x):
    with torch.autograd.profiler.record_function("part"):
        return x + 1


def steps(x):
    from torch.optim._functional import sgd

    with torch.no_grad():
        parameter = x.clone()
        given = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False}
        sgd([parameter], [x * 2], [None], foreach=False, maximize=False, **given)
        return parameter


def breaks(x):
    torch._dynamo.graph_break()
    return x + 1


def trains(x):
    optimizer.zero_grad()
    loss = (weight * x.sum()).sum()
    loss.backward()
    optimizer.step()
    return loss.detach()


weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], 0.1, momentum=0.9)
CAPTURED = (
    *(fills_a_table, is_missing, fails, logs_and_looks, by_name, keeps_tensors, compiles_itself, under_vmap),
    *(asks_for_types, contracts, records, steps, breaks),
)
PROGRAMS = (*CAPTURED, counts, trains)


def outcome(program: Callable[[torch.Tensor], object]) -> dict[str, object]:
    """The variants and fallbacks of a compiled function, and what it gave that eager torch does not."""
    compiled = compile(program)
    found = [compiled(torch.linspace(0.1, 1, size)) for size in (3, 3, 5)]
    kinds = [type(leaf).__name__ for leaf in torch.utils._pytree.tree_leaves([found, optimizer.state])]
    wrong = []
    if program not in (counts, trains):
        expected = [program(torch.linspace(0.1, 1, size)) for size in (3, 3, 5)]
        try:
            torch.testing.assert_close(found, expected)
        except AssertionError as error:
            wrong.append(str(error))
    reasons = [fallback.reason for fallback in compiled.fallbacks]
    return {"variants": len(compiled.variants), "reasons": reasons, "wrong": wrong, "kinds": sorted(set(kinds))}


def alone(program: Callable[[torch.Tensor], object]) -> None:
    unraisable: list[str] = []
    sys.unraisablehook = lambda given: unraisable.append(repr(given.exc_value))
    found = {"first": outcome(program), "second": outcome(program), "unraisable": unraisable}
    if program is counts:
        found["count"] = sys.modules["counts"].COUNT
    print(json.dumps({"program": program.__name__, **found}), flush=True)


def main() -> None:
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for name, text in MODULES.items():
            Path(folder, f"{name}.py").write_text(text)
        for program in PROGRAMS:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                try:
                    alone(program)
                    os._exit(0)
                finally:
                    os._exit(1)
            os.waitpid(child, 0)


if __name__ == "__main__":
    # the functions are those of the module, by whatever name it runs
    from tests.frontends.pytorch.calls import first_calls

    first_calls.main()
