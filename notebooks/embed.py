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
# # A compiler in forty lines
#
# It compiles a formula over `x` for every element of a matrix. Four elements a step are faster, but that needs a row
# length that four divides. The engine decides what must be checked, and what follows from it.

# %%
from shapes import Always, Dispatch, ShapeEnv


class Compiler:
    def __init__(self, formula):
        self.formula = formula
        self.variants = Dispatch(["shape"])
        self.environments = []

    def __call__(self, shape, elements):
        kernel = self.variants.lookup(shape) or self.compile(shape)
        return kernel(elements)

    def compile(self, shape):
        env = ShapeEnv()
        rows, columns = env.sizes("rows columns", hints=shape)
        width = 4 if env.guard(columns % 4 == 0) else 1
        needs_tail = not isinstance(env.ask((rows * columns) % width == 0), Always)
        kernel = self.emit(width, needs_tail)
        check = env.compile_guards({"rows": ("shape", 0), "columns": ("shape", 1)})
        self.variants.add(check, kernel)
        self.environments.append(env)
        return kernel

    def emit(self, width, needs_tail):
        step = ", ".join(self.formula.replace("x", f"x[i + {k}]") for k in range(width))
        source = [
            "def kernel(x):",
            "    out = []",
            f"    for i in range(0, len(x) - {width - 1}, {width}):",
            f"        out += [{step}]",
        ]
        if needs_tail:
            source += [f"    for i in range(len(x) - len(x) % {width}, len(x)):", f"        out += [{step}]"]
        names = {}
        exec("\n".join([*source, "    return out"]), names)
        names["kernel"].source = "\n".join(source)
        return names["kernel"]


# %% [markdown]
# The first call compiles. Eight columns are a multiple of four, so the compiler takes that side.

# %%
double = Compiler("2 * x")
double((2, 8), list(range(16)))

# %% [markdown]
# What it took is a *guard*, with the line that asked and sizes that only this guard rejects.

# %%
env = double.environments[0]
(guard,) = env.guards()
guard

# %% [markdown]
# The kernel has no loop for a remainder: that the whole matrix is a multiple of four *follows* from the guard.

# %%
print(double.variants.lookup((2, 8)).source)
env.ask("(rows * columns) % 4 == 0")

# %% [markdown]
# Other sizes that the guard accepts share the kernel. Nothing is compiled here.

# %%
double((5, 12), list(range(60)))
len(double.environments)

# %% [markdown]
# Seven columns are rejected, and get a kernel of their own.

# %%
double((3, 7), list(range(21)))
for _, outcome in double.variants.explain((3, 7)):
    print(outcome)

# %% [markdown]
# Together the two kernels accept every matrix, which is proven rather than tried:

# %%
double.variants.coverage()

# %% [markdown]
# What a kernel's check tests, and its text:

# %%
check = env.compile_guards({"rows": ("shape", 0), "columns": ("shape", 1)})
print(check.source)
check
