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
# # Testing the shape rule of an operator
#
# A *shape rule* says which sizes an operator gives, and which it refuses, for symbolic sizes. `check_rule` compares it
# with the operator itself.

# %%
import numpy
from numpy.lib.stride_tricks import sliding_window_view

from shapes.testing import check_rule


def windows(x, size):
    """All windows of a length along the last axis."""
    return sliding_window_view(x, size, axis=-1)


windows(numpy.arange(5), 3)

# %% [markdown]
# A first rule. There is one window fewer than it should be, which no example with long axes makes obvious.


# %%
def window_rule(env, x, size: int):
    env.require(size <= x[-1], "the window is longer than the axis")
    return (*x[:-1], x[-1] - size, size)


# %% [markdown]
# The kit finds the smallest call on which the two differ, and prints it as a test to paste.

# %%
from shapes.testing import RuleDisagrees

try:
    check_rule(window_rule, windows)
except RuleDisagrees as found:
    print(found)

# %% [markdown]
# With the count corrected, a condition is missing: NumPy refuses windows that are longer than the axis.


# %%
def window_rule(env, x, size: int):
    return (*x[:-1], x[-1] - size + 1, size)


try:
    check_rule(window_rule, windows)
except RuleDisagrees as found:
    print(found)

# %% [markdown]
# With its conditions the rule agrees with the operator on all calls.


# %%
def window_rule(env, x, size: int):
    env.require(size >= 0, "the window has a negative length")
    env.require(size <= x[-1], "the window is longer than the axis")
    return (*x[:-1], x[-1] - size + 1, size)


check_rule(window_rule, windows)

# %% [markdown]
# The same rule now answers for sizes that nobody knows yet.

# %%
from shapes import ShapeEnv

env = ShapeEnv()
batch, length = env.sizes("batch length", hints=(2, 100))
env.assume(length >= 8)
shape = window_rule(env, (batch, length), 8)
shape

# %%
env.ask(shape[1] >= 1)

# %% [markdown]
# `python -m pytest` runs such checks as tests: `def test_windows(): check_rule(window_rule, windows)`.
