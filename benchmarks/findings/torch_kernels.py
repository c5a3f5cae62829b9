"""torch's own kernels where their results are wrong: each candidate is run, and reported as observed.

Rules that follow the kernels leave these out; each was found by comparing this project's rules with them.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.findings.record import Examined, Finding, first_line, under_way

LIBRARY = "torch"

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
EMBEDDING_BAG = "torch.nn.functional.embedding_bag"
CANDIDATES: dict[str, tuple[str, Callable[[Any], bool], str]] = {
    "expand": (
        "torch.empty(()).expand(2, 2, 0, -2)",
        lambda sizes: any(size < 0 for size in sizes),
        "no tensor has a negative size",
    ),
    "addmv": (
        "torch.addmv(torch.rand(1), torch.rand(3, 0), torch.rand(0))",
        lambda sizes: sizes != (3,),
        "(3,), as for a matrix of (3, 2): the 1 broadcasts",
    ),
    "aten.index": (
        "torch.ops.aten.index.Tensor(torch.rand(2, 2), [torch.ones(2, 2, dtype=torch.bool), None])",
        lambda sizes: sizes == (4, 4),
        "refused, as the mask takes both axes and None names a third; `x[mask, None]` gives (4, 1)",
    ),
    "scaled_dot_product_attention": (
        f"{ATTENTION}(torch.rand(1, 1, 2, 4), torch.rand(1, 1, 3, 4), torch.rand(1, 1, 5, 4))",
        bool,
        "refused, as it is on three axes: 3 keys, 5 values",
    ),
    "embedding_bag.columns": (
        f"{EMBEDDING_BAG}(torch.zeros(2, 2, dtype=torch.int64), torch.rand(3, 0))",
        lambda sizes: not sizes,
        "(2, 0), as for mode='max'",
    ),
    "embedding_bag.bags": (
        f"{EMBEDDING_BAG}(torch.zeros(2, dtype=torch.int64), torch.rand(3, 2), "
        "torch.zeros(0, dtype=torch.int64), mode='max')",
        lambda sizes: sizes != (0, 2),
        "(0, 2), as for mode='sum'",
    ),
    "linalg.lstsq": (
        "torch.linalg.lstsq(torch.rand(1, 2, 2), torch.rand(2, 2)).solution",
        lambda sizes: sizes != (1, 2, 2),
        "(1, 2, 2), as linalg.solve gives: one matrix, one right side",
    ),
}
"""An expression by name, the sizes that are a finding (none for a refusal), and those that they are compared with."""


def operators() -> list[str]:
    return list(CANDIDATES)


def difference(name: str) -> Finding | None:
    import torch

    text, wrong, should = CANDIDATES[name]
    under_way("", text)
    try:
        sizes = tuple(eval(text, {"torch": torch}).shape)
        told = str(sizes)
    except Exception as refusal:
        sizes, told = (), f"refuses: {first_line(refusal)}"
    return Finding("kernel", text, told, should) if wrong(sizes) else None


def examine(name: str) -> Examined:
    found = difference(name)
    return Examined(name, 1, findings=[found] if found is not None else [])


def again(name: str, finding: Finding) -> Finding | None:
    return difference(name)
