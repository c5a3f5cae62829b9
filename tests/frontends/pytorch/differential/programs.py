"""All programs, by family; most of those that torch's own tests of its compilers gave the idea for are thorough.

>>> len(PROGRAMS) >= 900
True
>>> sum(not case.thorough for case in PROGRAMS.values()) < 900
True
"""

from importlib import import_module
from pkgutil import iter_modules

from tests.frontends.pytorch.differential import families
from tests.frontends.pytorch.differential.cases import named

PROGRAMS = named([import_module(f"{families.__name__}.{each.name}").FAMILY for each in iter_modules(families.__path__)])
