# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Compiling a PyTorch function for changing sizes
#
# `compile` makes a graph for the sizes that it sees, and a guard for each decision that depended on them.

# %%
import torch

from frontends.pytorch import compile, explain


def attend(x):
    scores = x @ x.transpose(-1, -2)
    if x.shape[1] > 512:
        scores = scores / 2
    return scores.softmax(-1).sum(-1)


compiled = compile(attend, dynamic=True, backend="cpu")

# %% [markdown]
# Two calls of different sizes share one variant.

# %%
for rows in (3, 5):
    out = compiled(torch.ones(2, rows, 8))
len(compiled.variants)

# %% [markdown]
# Its guards have the line of the program that asked.

# %%
compiled.variants[0].guards[0]

# %% [markdown]
# A long sequence takes the other side of the branch. Why did it recompile? The variant says which guard failed.

# %%
out = compiled(torch.ones(1, 600, 8))
[variant.cause for variant in compiled.variants]

# %% [markdown]
# The report shows every variant with what it tests; its graph and kernels unfold.

# %%
compiled.report()

# %% [markdown]
# `coverage` proves that the variants accept all sizes of a range, or finds some that none accepts.

# %%
compiled.coverage({"x.shape[0]": (1, 64), "x.shape[1]": (2, 512), "x.shape[2]": (8, 8)})

# %% [markdown]
# The kernels, as loops. The softmax and the sum are one; only the product before them is kept in memory.

# %%
print(compiled.explain(kernels=True).partition("kernels:")[2].partition("peak:")[0])

# %% [markdown]
# The same engine runs behind torch's own interface.

# %%
through_torch = torch.compile(attend, backend="symshape", dynamic=True)
out = through_torch(torch.ones(2, 3, 8))
print(explain(through_torch).partition("graph:")[0])
