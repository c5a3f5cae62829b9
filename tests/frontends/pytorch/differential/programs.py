"""All programs, by family; most of those that torch's own tests of its compilers gave the idea for are thorough.

>>> len(PROGRAMS) >= 1000
True
>>> sum(not case.thorough for case in PROGRAMS.values()) < 800
True
"""

from tests.frontends.pytorch.differential.cases import named
from tests.frontends.pytorch.differential.families import (
    arrays,
    autograd_functions,
    containers,
    contexts,
    control,
    data,
    dtypes,
    functions,
    gradients,
    hooks_and_optimizers,
    indexing,
    language,
    memory,
    modules,
    mutation,
    numbers,
    objects,
    operators,
    raised_and_caught,
    random_numbers,
    sizes,
    standard_library,
    state,
    tensors,
    texts,
    views,
    what_is_kept,
)

FAMILIES = (
    arrays,
    autograd_functions,
    containers,
    contexts,
    control,
    data,
    dtypes,
    functions,
    gradients,
    hooks_and_optimizers,
    indexing,
    language,
    memory,
    modules,
    mutation,
    numbers,
    objects,
    operators,
    raised_and_caught,
    random_numbers,
    sizes,
    standard_library,
    state,
    tensors,
    texts,
    views,
    what_is_kept,
)
PROGRAMS = named([each.FAMILY for each in FAMILIES])
