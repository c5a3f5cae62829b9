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
# # From a question to its core and its counterexample
#
# A program runs on batches of `b` sequences, each of `s` tokens. A kernel could move 64 elements at a time if the
# number of tokens, `b*s`, were always a multiple of 64. Is it?

# %%
from shapes import Always, Depends, Never, ShapeEnv

env = ShapeEnv()
b, s = env.sizes("b s", hints=(4, 128))
env.assume("s % 16 == 0")

# %% [markdown]
# Asking changes nothing. The question is a proposition over the sizes, and the answer is a *verdict*.

# %%
verdict = env.ask((b * s) % 64 == 0)
verdict

# %% [markdown]
# It depends, and the verdict has both witnesses: sizes that satisfy all facts, under which the question is
# true, and others under which it is false. Substitution checks both:

# %%
assert isinstance(verdict, Depends)
for sizes in (verdict.true_at, verdict.false_at):
    print(sizes, "->", (sizes["b"] * sizes["s"]) % 64 == 0, "with", sizes["s"] % 16 == 0)

# %% [markdown]
# The second one is the *counterexample*: it shows what is missing. If batches come in fours, that is a fact, and facts
# are assumed.

# %%
env.assume("b % 4 == 0")
verdict = env.ask((b * s) % 64 == 0)
verdict

# %% [markdown]
# Always. The facts that the proof uses are its *core*: the other facts are not needed.

# %%
assert isinstance(verdict, Always)
[fact.text for fact in verdict.core]

# %% [markdown]
# The core is more than a claim. The verdict carries its proof, each step by a rule that a small checker knows, and
# `check` verifies it again without search.

# %%
print(env.explain((b * s) % 64 == 0))
verdict.check()

# %% [markdown]
# Without one of its facts the question depends again. A hypothesis ends with its scope.

# %%
other = ShapeEnv()
other.sizes("b s")
other.assume("b % 4 == 0")
with other.hypothesis("s % 16 == 0"):
    print(type(other.ask("(b*s) % 64 == 0")).__name__)
print(type(other.ask("(b*s) % 64 == 0")).__name__)

# %% [markdown]
# Some questions have the answer *never*, with a core too:

# %%
verdict = env.ask(s % 16 == 8)
assert isinstance(verdict, Never)
verdict

# %% [markdown]
# Contradictory facts are rejected, with the core of the contradiction:

# %%
from shapes.errors import Contradiction

try:
    other.assume("s % 16 == 1")
    other.assume("s % 4 == 2")
except Contradiction as contradiction:
    print(contradiction)

# %% [markdown]
# What an environment knows, with the line of each fact, is what a cell shows when it ends in the environment.

# %%
env
