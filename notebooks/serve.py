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
# # Dropping the guards of a served model
#
# A server that knows which sizes occur can drop the guards of a compiled model, if they all hold. `certify` proves
# that, or finds the smallest sizes at which one fails.

# %%
import torch

from frontends.pytorch import certify, compile


def attend(x):
    tokens = x.shape[1]
    if tokens <= 4096:
        return x.softmax(-1)
    return x.relu()


model = compile(attend, dynamic=True)
out = model(torch.ones(4, 16))

# %% [markdown]
# The server sends batches of up to 64 sequences, padded to a multiple of 16 tokens, at most 8192. Do all guards hold?

# %%
sizes = {"x.shape[0]": (2, 64), "x.shape[1]": (16, 8192, 16)}
refuted = certify(model, sizes)
refuted

# %% [markdown]
# One does not: 4112 is the first multiple of 16 after 4096. The guard, the sizes and the line are data:

# %%
(finding,) = refuted.findings
finding.guard, finding.size, finding.smallest, str(finding.origin)

# %% [markdown]
# It is a real failure: there the graph that was compiled gives something else than the program.

# %%
x = torch.ones(2, finding.size["x.shape[1]"])
torch.equal(model.variants[0].graph(x)[0], attend(x))

# %% [markdown]
# With the limit that the model was compiled for, every guard is proven.

# %%
proven = certify(model, sizes | {"x.shape[1]": (16, 4096, 16)})
proven

# %% [markdown]
# A certificate carries its proofs, and is checked again without search.

# %%
refuted.check(), proven.check()

# %% [markdown]
# The exit status of the command is this one: `shapes certify serve:model --range x.shape[1]=16..4096:16`.

# %%
refuted.exit_status, proven.exit_status
