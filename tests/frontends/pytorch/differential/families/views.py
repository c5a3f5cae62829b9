"""Views: what shares memory with what, which strides results have, layouts."""

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("views")
program = FAMILY.program

FAMILY.table(
    {
        "transposed": lambda x: x.t(),
        "reshaped": lambda x: x.reshape(x.shape[1], x.shape[0]),
        "flattened": lambda x: x.flatten(),
        "unflattened": lambda x: x.flatten().unflatten(0, x.shape),
        "split in halves": lambda x: x.split(2, 1)[0],
        "chunks": lambda x: x.chunk(2, 1),
        "unbound": lambda x: x.unbind(0)[0],
        "diagonal": lambda x: x.diagonal() * 2,
        "expanded": lambda x: x[:, :1].expand(-1, 5).sum(0),
        "repeated": lambda x: x.repeat(2, 1),
        "narrow": lambda x: x.narrow(1, 1, x.shape[1] - 1),
        "windows": lambda x: x.unfold(1, 2, 1).sum(-1),
        "moved axes": lambda x: x.unsqueeze(0).movedim(0, 2),
        "rolled": lambda x: x.roll(1, 0) - x,
        "flipped": lambda x: x.flip(0, 1),
        "rotated": lambda x: x.rot90(),
        "last row": lambda x: x[-1],
        "every second": lambda x: x[::2, 1:],
        "new axes": lambda x: x[:, None] - x[None],
        "ellipsis": lambda x: x[..., 0],
        "strided": lambda x: x.as_strided((2, 2), (x.shape[1], 1)) + 1,
        "squeezed": lambda x: x[:1].squeeze(0),
        "contiguous of transposed": lambda x: x.t().contiguous().view(-1),
        "swapped": lambda x: x.swapaxes(0, 1) @ x,
        "tiled": lambda x: x.tile((1, 2)),
        "stacked views": lambda x: torch.stack([x[0], x[1]]),
        "joined views": lambda x: torch.cat([x.t(), x.t()], 1),
        "broadcast": lambda x: torch.broadcast_tensors(x, x[:1])[1],
        "tensor split": lambda x: x.tensor_split(2, 1),
        "meshgrid": lambda x: torch.meshgrid(x[0], x[:, 0], indexing="ij"),
        "view as": lambda x: x.view_as(x) + 1,
        "upper triangle": lambda x: x.triu() + x.tril(-1),
        "select": lambda x: x.select(1, 0).sum(),
        "hsplit and vstack": lambda x: torch.vstack([x, x.flip(0)]),
        "numpy style T": lambda x: x.mT @ x,
        "matrix of differences": lambda x: torch.cdist(x, x),
    },
    "n m",
)


@program("n m k")
def permuted_and_flattened(x):
    return x.permute(2, 0, 1).reshape(x.shape[2], -1)


@program("n m k")
def heads(x):
    n, m, k = x.shape
    return x.view(n, m, k, 1).transpose(1, 2).reshape(n, k, m)


@program("n 4 m k")
def channels_last(x):
    y = x.to(memory_format=torch.channels_last)
    return y * 2, y.is_contiguous(memory_format=torch.channels_last), y.stride()[1]


@program("n m")
def strides_of_the_result(x):
    y = x.t() + 1
    return y.stride() == (1, x.shape[1]), y.is_contiguous(), (y * 2).stride()


@program("complex64: n m", learned=False)
def parts_of_complex_numbers(x):
    return torch.view_as_real(x)[..., 0], x.real + x.imag, x.conj().mT


@program("int32: n m", learned=False)
def bits_as_floats(x):
    return x.view(torch.float32).isnan(), x.view(torch.int16).shape


@program("n m")
def offset_of_a_view(x):
    return x[1:].storage_offset(), x[1:, 1:].stride(), x.is_contiguous()


@program("n m")
def view_of_a_view_of_a_result(x):
    y = (x * 2).t()[1:].t()
    z = y[0]
    return y, z
