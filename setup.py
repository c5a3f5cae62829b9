"""Builds the hot part of the solver as extension modules, where mypyc and a C compiler are at hand.

    pip install .                        # compiled
    SYMSHAPE_PURE=1 pip install .        # as it is written

Nothing needs them: without a compiler the same modules run as they are written, about half as fast.
`solver/__init__.py` leaves extensions alone that are older than a source.
"""

import os
import sys

from setuptools import Extension, setup

HOT = {
    "solver": """
        expr monomials prop interner division choice bits intervals operations rewriting reasons fact persistent
        knowledge draft inequalities equalities learn facts laws dividing isolation settled explain roots polynomials
        pool sampling search finding witness core climb ladder consistency substitutes
        """,
    "solver/integer": "certificate derivation equalities lattice meter search simplex",
    "solver/rungs": "bounds box extremes factor isolate lemmas linear model refine residues shift",
}
"""What a question goes through. Printing, the edges and the trusted checker stay as they are written, and so does the
parser: it walks as deep as a text is nested, for which compiled code has no room."""


def extensions() -> list[Extension]:
    if os.environ.get("SYMSHAPE_PURE"):
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        return []
    hot = [f"{folder}/{name}.py" for folder, names in HOT.items() for name in names.split()]
    try:
        modules = mypycify(
            ["--ignore-missing-imports", *hot], group_name="symshape", opt_level="2", debug_level="0", multi_file=True
        )
    except SystemExit:  # its way to say that this version of mypy objects to something
        print("mypyc does not compile the solver; it is installed as it is written", file=sys.stderr)
        return []
    for module in modules:
        module.optional = True
    return modules


setup(ext_modules=extensions())
