"""Elements looked up: by tensors, masks, sizes; gathers, sorting, sizes that depend on data."""

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("indexing")
program = FAMILY.program

FAMILY.table(
    {
        "by a tensor": lambda x, i: x[i % x.shape[0]],
        "by two tensors": lambda x, i: x[i % x.shape[0], i % x.shape[1]],
        "by a tensor and a slice": lambda x, i: x[1:, i % x.shape[1]],
        "by a slice and two tensors": lambda x, i: x[None, i % x.shape[0], :, None],
        "by negative numbers": lambda x, i: x[-1, -2] + x[i * 0 - 1],
        "by a mask": lambda x, i: x[x > 0],
        "by a mask of rows": lambda x, i: x[x[:, 0] > 0],
        "by a list": lambda x, i: x[[1, 0, 1]],
        "index select": lambda x, i: x.index_select(0, i % x.shape[0]),
        "gather": lambda x, i: x.gather(0, (i % x.shape[0])[:, None]),
        "take": lambda x, i: x.take(i),
        "take along": lambda x, i: torch.take_along_dim(x, x.argsort(1), 1),
        "nonzero": lambda x, i: (x > 0).nonzero(),
        "nonzero as tuple": lambda x, i: torch.where(x > 0),
        "masked select": lambda x, i: x.masked_select(x < 0).sum(),
        "count by data": lambda x, i: x[: int(i[0]) % 2 + 1],
        "repeated by data": lambda x, i: x[:1].repeat_interleave(2, dim=0),
        "repeat by a tensor": lambda x, i: torch.repeat_interleave(i, i),
        "search sorted": lambda x, i: torch.searchsorted(x.sort(1)[0], x),
        "bucketize": lambda x, i: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
        "index add": lambda x, i: x.index_add(0, i % x.shape[0], torch.ones(len(i), x.shape[1])),
        "index copy": lambda x, i: x.index_fill(1, torch.tensor([0]), 5.0),
        "scatter reduce": lambda x, i: torch.zeros(3).scatter_reduce(0, i % 3, i.float(), "amax"),
        "segment sums": lambda x, i: torch.zeros(5, x.shape[1]).index_add_(0, i[:1], x[:1]),
        "diagonal embed": lambda x, i: torch.diag_embed(x[0]),
        "top and bottom": lambda x, i: (x.topk(2, 1)[0], x.kthvalue(2, 1)[0]),
        "argsort": lambda x, i: x.flatten().argsort(descending=True)[:2],
        "cartesian": lambda x, i: torch.cartesian_prod(i, i[:2]),
        "combinations": lambda x, i: torch.combinations(i, 2),
        "range of a size": lambda x, i: torch.arange(x.shape[0] * 2, 0, -2),
        "line of numbers": lambda x, i: torch.linspace(0, 1, x.shape[1]) + x,
        "padded": lambda x, i: torch.nn.functional.pad(x, (1, 2), value=3.0),
        "padded round": lambda x, i: torch.nn.functional.pad(x[None], (1, 1), mode="circular"),
        "embedding": lambda x, i: torch.nn.functional.embedding(i % x.shape[0], x),
        "out of bounds": lambda x, i: x[x.shape[0]],
        "wrong sizes": lambda x, i: x + torch.ones(x.shape[1] + 1),
        "windows": lambda x, i: torch.nn.functional.unfold(x[None, None], (2, 2)),
        "gathered tail": lambda x, i: x[torch.arange(x.shape[0]), -1],
        "one element": lambda x, i: x[0, 0] * x[i[0] % x.shape[0]],
        "split by sizes": lambda x, i: x.split([1, x.shape[1] - 1], 1),
    },
    "n m",
    "int64: k",
)


@program("n m", "n m")
def chosen_rows(x, y):
    chosen = torch.stack([x, y])[torch.tensor([0, 1, 0])]
    return chosen.sum(1)


@program("n m")
def data_dependent_sizes_in_a_row(x):
    kept = x[x.abs().sum(1) > 0.1]
    return kept.softmax(0), kept.shape[0], kept[:1] if kept.shape[0] > 0 else kept


@program("n m")
def padded_to_a_multiple(x):
    missing = (4 - x.shape[1] % 4) % 4
    return torch.nn.functional.pad(x, (0, missing)).view(x.shape[0], -1, 4).sum(-1)
