"""Changes in place: of arguments, of views of them, of what the program made."""

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("mutation")
program = FAMILY.program


@program("n m")
def add_to_an_argument(x):
    x.add_(1)
    return x * 2


@program("n m")
def argument_is_returned(x):
    return x.mul_(3)


@program("n m", "m")
def rows_by_a_view(x, y):
    x[0].copy_(y)
    return x.sum(0)


@program("n m")
def column_is_scaled(x):
    x[:, 0] *= 5
    return x.cumsum(1)


@program("n m")
def view_sees_the_change(x):
    flat = x.view(-1)
    x.mul_(2)
    return flat + 1


@program("n m")
def base_sees_the_change_of_a_view(x):
    row = x[1]
    row.zero_()
    return x.sum(), row


@program("n m")
def transposed_view_is_changed(x):
    x.t().add_(torch.arange(x.shape[0], dtype=x.dtype))
    return x


@program("n m")
def change_between_reads(x):
    before = x.sum(0)
    x.sub_(before)
    return before, x.sum(0)


@program("n m", "n m")
def swapped_through_a_copy(x, y):
    old = x.clone()
    x.copy_(y)
    y.copy_(old)
    return x - y


@program("n m")
def own_memory_is_filled_row_by_row(x):
    out = torch.zeros_like(x)
    out[0] = x[0]
    for row in range(1, 2):
        out[row] = out[row - 1] * 0.5 + x[row]
    return out


@program("n m")
def every_second_column(x):
    x[:, ::2] = 0
    return x


@program("n m")
def written_through_a_mask(x):
    x[x > 0] = -1
    return x


@program("n m", "n m")
def taken_from_another_where(x, y):
    torch.where(x > y, x, y, out=torch.empty_like(x))
    return x.masked_fill_(y > 0, 7)


@program("n m", "int64: k", learned=False)
def index_put_adds(x, places):
    rows = places % x.shape[0]
    x.index_put_((rows,), torch.ones(rows.shape[0], x.shape[1]), accumulate=True)
    return x


@program("n m", "int64: n m")
def scattered(x, places):
    return torch.zeros_like(x).scatter_add_(1, places % x.shape[1], x)


@program("n m")
def unsqueezed_in_place(x):
    y = x * 1
    y.unsqueeze_(0)
    y.squeeze_(0)
    y.t_()
    return y, y.shape[0]


@program("n m")
def relu_and_clamp_in_place(x):
    y = x + 0
    torch.nn.functional.relu_(y)
    y.clamp_(max=0.5)
    return y


@program("n m")
def fill_diagonal(x):
    return (x + 0).fill_diagonal_(9)


@program("n m", "n m")
def addcmul_in_place(x, y):
    x.addcmul_(x, y, value=0.5).addcdiv_(y, y.abs() + 1)
    return x


@program("n m")
def chunks_are_changed(x):
    y = x * 2
    for number, part in enumerate(y.narrow(1, 0, 2).t()):
        part += number
    return y


@program("n m")
def the_same_view_twice(x):
    a, b = x[:, 1:], x[:, :-1]
    a += 1
    b += 1
    return x, a, b


@program("n m", learned=False)
def out_argument(x):
    out = torch.empty(0)
    torch.add(x, 1, out=out)
    return out


@program("n m", learned=False)
def out_is_an_argument(x):
    torch.mul(x, 2, out=x)
    return x


@program("n m")
def saved_then_changed_copy(x):
    y = x.exp()
    z = y.clone()
    z.add_(1)
    return y * z


@program("n m")
def detached_shares_memory(x):
    y = x * 1
    y.detach().mul_(0.5)
    return y.detach() + 1


@program("int64: n m", learned=False)
def whole_numbers_in_place(x):
    x += 2
    x //= 3
    x <<= 1
    return x


@program("n m", learned=False)
def set_by_a_list_of_places(x):
    x[[0, 1]] = x[[1, 0]]
    return x


@program("bool: n m", learned=False)
def truths_in_place(x):
    x ^= True
    x[0] |= x[1]
    return x, x.any()


@program("n m")
def copied_from_another_dtype(x):
    y = torch.zeros(x.shape, dtype=torch.float64)
    y.copy_(x)
    y[0] = 1
    return y


@program("n m")
def rolled_buffer(x):
    buffer = torch.zeros(3, x.shape[1])
    for row in range(2):
        buffer[:-1] = buffer[1:].clone()
        buffer[-1] = x[row]
    return buffer


@program("n m", learned=False)
def setitem_with_ellipsis_and_none(x):
    x[..., -1] = 0
    x[None, 0] = 1
    return x
