"""Operators that other families have no row for."""

import collections
import functools
import textwrap

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("operators")


class OwnDictionary(collections.OrderedDict):
    pass


clip = functools.partial(torch.clip, min=-0.5, max=0.5)


@torch.jit.script_if_tracing
def scripted(x, c: float = 1.2):
    return x.cos() + c


@torch.jit.ignore
def ignored(x):
    return x + 1


@torch.jit.unused
def unused(x):
    return x + 5


FAMILY.table(
    {
        "own dictionary subclass": lambda x: OwnDictionary(sample=x + 1),
        "fan in": lambda x: x + torch.nn.init._calculate_correct_fan(x, "fan_in"),
        "index by tensor of list": lambda x: [x, x + 1, x + 2][torch.as_tensor(2)],
        "new list": lambda x: x.new([1, 2]),
        "distribution kl": lambda x: torch.distributions.kl_divergence(
            torch.distributions.Normal(x, torch.ones(1)), torch.distributions.Normal(0.0, 1.0)
        ),
        "distribution bernoulli mode": lambda x: torch.distributions.Bernoulli(logits=x).mean,
        "histc": lambda x: torch.histc(x, 4),
        "cartesian": lambda x: torch.cartesian_prod(x[0], x[0]),
        "to meta tensor": lambda x: x.to("meta"),
        "foreach norm": lambda x: torch._foreach_norm([x, x]),
        "hash tensor": lambda x: hash(x) == hash(x),
        "max tensors": lambda x: max(x[0].sum(), x[1].sum()),
        "take_along": lambda x: x.take_along_dim(x.argsort(0), 0),
        "kthvalue": lambda x: x.kthvalue(1),
        "aminmax": lambda x: x.aminmax(),
        "qr": lambda x: torch.linalg.qr(x)[1].abs(),
        "renorm": lambda x: x.renorm(2, 0, 1.0),
        "trapz": lambda x: torch.trapezoid(x),
        "kron": lambda x: torch.kron(x, x),
        "logsumexp": lambda x: x.logsumexp(0),
        "heaviside": lambda x: torch.heaviside(x, torch.tensor(1.0)),
        "remainder": lambda x: torch.remainder(x, -2),
        "list times tensor": lambda x: [1] * (x.long().sum() * 0 + 2),
    },
    "n m",
)

FAMILY.table(
    {
        "jit annotations": lambda x: unused(ignored(scripted(x))),
        "jit default": lambda x: scripted(x, 2.0),
        "partial": lambda x: clip(x * 2),
        "torch iinfo": lambda x: torch.iinfo(torch.int32).bits * x,
        "as_tensor": lambda x: torch.as_tensor(x).mul(2),
        "autocast enabled": lambda x: x + torch.is_autocast_enabled(),
        "checkpoint valid": lambda x: x + torch.autograd._is_checkpoint_valid(),
        "element size": lambda x: x * x.element_size(),
        "itemsize nbytes": lambda x: x * x.itemsize + x.nbytes,
        "min max of scalars": lambda x: min(max(x.sum(), torch.tensor(0.0)), torch.tensor(1.0)),
        "not list": lambda x: not [x],
        "new_tensor": lambda x: x.new_tensor([[1, 2]]),
        "distribution normal": lambda x: torch.distributions.Normal(x, torch.tensor(1.0)).log_prob(x + 1),
        "distribution independent": lambda x: torch.distributions.Independent(
            torch.distributions.Normal(x, torch.tensor(1.0)), 1
        ).log_prob(x),
        "distribution categorical": lambda x: torch.distributions.Categorical(logits=x).entropy(),
        "distribution sample": lambda x: torch.distributions.Normal(x, 1.0).sample(),
        "distribution rsample": lambda x: torch.distributions.Normal(x, x.exp()).rsample((2,)),
        "functorch active": lambda x: x + torch._C._are_functorch_transforms_active(),
        "names layout": lambda x: (x.layout, x.is_sparse, x.is_quantized, x.is_meta, x.is_nested, x.is_inference()),
        "index by tensor": lambda x: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150][x.argmax()],
        "isin": lambda x: torch.isin(x.round(), torch.tensor([0.0, 1.0])),
        "einsum": lambda x: torch.einsum("ij,ik->jk", x, x),
        "block diag": lambda x: torch.block_diag(x, x),
        "broadcast tensors": lambda x: torch.broadcast_tensors(x, x[0]),
        "can cast": lambda x: torch.can_cast(x.dtype, torch.int32),
        "to meta": lambda x: x.to("meta").shape,
        "foreach": lambda x: torch._foreach_mul([x, x + 1], 2),
        "foreach lerp": lambda x: (
            torch._foreach_lerp([x], [x + 1], torch.tensor(0.5)) if False else torch._foreach_lerp([x], [x + 1], 0.5)
        ),
        "foreach power": lambda x: (
            torch._foreach_pow(torch.tensor(2.0), [x, x]) if False else torch._foreach_pow(2.0, [x, x])
        ),
        "addcmul scalar tensor": lambda x: torch.addcmul(x, x, x, value=2),
        "requires_grad attribute": lambda x: (x.requires_grad, x.is_leaf, x.grad_fn, x.grad),
        "textwrap": lambda x: textwrap.dedent("  a"),
        "walrus": lambda x: (y := (x + 1)) * y,
        "ravel": lambda x: x.ravel(),
        "unflatten": lambda x: x.unflatten(0, (1, -1)),
        "gather": lambda x: x.gather(0, x.argsort(0)),
        "index_put": lambda x: x.index_put((torch.tensor([0]),), torch.tensor(1.0)),
        "cummax": lambda x: x.cummax(0),
        "mode": lambda x: x.round().mode(),
        "median": lambda x: x.median(0),
        "quantile": lambda x: x.quantile(0.5),
        "var_mean": lambda x: torch.var_mean(x),
        "frexp": lambda x: torch.frexp(x),
        "svd": lambda x: torch.linalg.svdvals(x),
        "slogdet": lambda x: torch.linalg.slogdet(x[:2, :2]),
        "std none": lambda x: x.std(),
        "combinations": lambda x: torch.combinations(x[0]),
        "vander": lambda x: torch.vander(x[0]),
        "bucketize": lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])),
        "diff": lambda x: x.diff(),
        "roll": lambda x: x.roll(1, 0),
        "fliplr": lambda x: x.fliplr(),
        "tensordot": lambda x: torch.tensordot(x, x, ([1], [1])),
        "cov": lambda x: x.cov(),
        "corrcoef": lambda x: x.corrcoef(),
        "lerp": lambda x: x.lerp(x + 1, 0.5),
        "bmm": lambda x: torch.bmm(x[None], x.T[None]),
        "ldexp": lambda x: torch.ldexp(x, torch.tensor(2)),
        "float_power": lambda x: x.float_power(2),
        "fmod": lambda x: torch.fmod(x, 2),
        "logical": lambda x: torch.logical_xor(x > 0, x > 1),
        "divmod tensors": lambda x: divmod(x, 2),
        "abs of a tensor": lambda x: abs(x),
        "reversed tensor": lambda x: list(reversed(x)),
        "slice tensor": lambda x: x[: x.long().sum() * 0 + 2],
        "max of tensors of Python": lambda x: max(x.sum(), torch.tensor(0.0)),
    },
    "n m",
    thorough=True,
)
