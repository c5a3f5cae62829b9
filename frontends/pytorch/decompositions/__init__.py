"""Decompositions with symbolic sizes, for composite operators that torch's C++ decomposes with concrete ones.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(torch.kron, (torch.ones(2, 3), torch.ones(4, 5)))
    >>> variant.guards
    ()
    >>> variant.graph(torch.ones(3, 1), torch.ones(2, 2))[0].shape
    torch.Size([6, 2])

Each computes torch's result with operators of a graph, and replaces torch's while a trace runs.
"""

from frontends.pytorch.decompositions import elementary, recurrent, reductions
