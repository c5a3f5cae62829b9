"""All programs, by family.

>>> len(PROGRAMS) >= 300
True
"""

from tests.frontends.pytorch.differential.cases import named
from tests.frontends.pytorch.differential.families import (
    containers,
    control,
    dtypes,
    gradients,
    indexing,
    language,
    modules,
    mutation,
    random_numbers,
    state,
    views,
)

FAMILIES = (mutation, views, control, state, containers, random_numbers, gradients, modules, dtypes, indexing, language)
PROGRAMS = named([each.FAMILY for each in FAMILIES])
