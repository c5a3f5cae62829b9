"""NumPy: of sizes, of tensors, and around them."""

import numpy as np
import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("arrays")


FAMILY.table(
    {
        "numpy size": lambda x: x.numpy().size,
        "numpy of tensor": lambda x: np.ones_like(x, dtype=np.float64),
        "numpy array of sizes": lambda x: np.array(x.shape).prod(),
        "numpy repr": lambda x: repr(np.int64(x.shape[0])),
        "numpy int64": lambda x: np.int64(x.shape[0]),
        "numpy cumsum": lambda x: np.cumsum(x.shape),
        "numpy ceil": lambda x: np.ceil(x.shape[0] / 2),
        "numpy asarray": lambda x: np.asarray(x.shape).tolist(),
        "numpy divmod": lambda x: np.floor_divide(x.shape[0], 2),
        "numpy tile": lambda x: np.tile([1], x.shape[0]),
        "numpy where": lambda x: np.where(x.shape[0] > 3, 1, 2),
        "numpy of scalar": lambda x: np.float32(x.sum()),
    },
    "n m",
)

FAMILY.table(
    {
        "numpy iinfo": lambda x: x + np.iinfo(np.int16).max,
        "numpy finfo": lambda x: x + np.finfo(np.float32).eps,
        "numpy meshgrid": lambda x: [torch.from_numpy(a) for a in np.meshgrid(x[:, 0].numpy(), x[0].numpy())],
        "numpy attributes": lambda x: (x.numpy().itemsize, x.numpy().shape, x.numpy().ndim, x.numpy().dtype),
        "numpy returned": lambda x: x.numpy().T,
        "numpy mean": lambda x: torch.from_numpy(np.asarray(np.sum(np.mean(x.numpy(), 1)))),
        "numpy max": lambda x: (x.numpy().max(axis=0), x.numpy().all(axis=0)),
        "numpy linalg": lambda x: np.linalg.norm(x.numpy(), axis=0),
        "numpy exp of tensor": lambda x: np.exp(x),
        "numpy prod size": lambda x: x + int(np.prod(x.shape)),
        "numpy arange": lambda x: torch.from_numpy(np.arange(x.shape[0])),
        "numpy text": lambda x: str(np.array([x.shape[0]])),
        "numpy array": lambda x: np.array(x.shape),
        "numpy array of list": lambda x: np.array([x.shape[0], 2]) * 2,
        "numpy sum": lambda x: np.sum(x.shape),
        "numpy float": lambda x: np.float32(x.shape[0]),
        "numpy zeros": lambda x: np.zeros(x.shape),
        "numpy sqrt": lambda x: np.sqrt(x.shape[0]),
        "numpy max of sizes": lambda x: np.max(x.shape),
        "numpy mean of sizes": lambda x: np.mean(x.shape),
        "numpy arange list": lambda x: np.arange(x.shape[0]).tolist(),
        "numpy sqrt times": lambda x: x * np.sqrt(x.shape[0]),
        "numpy log": lambda x: x / np.log(x.shape[1]),
        "numpy array min": lambda x: np.array(x.shape).min() * x,
        "numpy isscalar": lambda x: np.isscalar(x.shape[0]),
        "numpy linspace": lambda x: torch.from_numpy(np.linspace(0, 1, x.shape[0])),
        "numpy maximum": lambda x: np.maximum(x.shape[0], x.shape[1]),
        "numpy power": lambda x: np.power(x.shape[0], 2),
        "numpy ufunc plus": lambda x: np.add(x.shape[0], 1.5),
        "numpy eye": lambda x: np.eye(x.shape[0]),
        "numpy random shape": lambda x: np.empty(x.shape).shape,
        "numpy full": lambda x: np.full(x.shape, 2.0).sum(),
        "numpy any": lambda x: np.any(x.shape),
        "numpy integer times": lambda x: np.int64(2) * x.shape[0],
        "numpy float times": lambda x: np.float64(2) * x.shape[0],
        "numpy size compared": lambda x: np.int64(3) == x.shape[0],
    },
    "n m",
    thorough=True,
)
