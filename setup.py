"""Builds the hot part of the solver as extension modules, where mypyc and a C compiler are at hand.

    pip install .                        # compiled
    SYMSHAPE_PURE=1 pip install .        # as it is written

Nothing needs them: without a compiler the same modules run as they are written, about half as fast. Beside the solver
lies a checksum of the sources that they were made from; `solver/__init__.py` leaves extensions alone where it is not
that of the sources at hand. A wheel says in its name whether it holds any.
"""

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from solver import MADE_FROM, checksum  # noqa: E402

HOT = {
    "solver/terms": """
        atoms bits choice coefficients deadline differences division divisors expr interner intervals monomials
        operations persistent polynomials prop quotients
        """,
    "solver/syntax": "shunting_yard",
    "solver/proofs": "fact rewriting step",
    "solver/knowledge": """
        base by_intervals choices clamps comparisons decided_atoms differences disjunctions draft elimination equalities
        exact_quotients explain extremes factor_cancellation facts inequalities isolation laws maxima multiples
        propagation quotient_bounds quotients remainder roots samples shift single substitution symbols
        """,
    "solver/samples": "pushing repair replenish sampling shrinking variation witness witness_search",
    "solver/integer": "certificate derivation equalities lattice search simplex solving work_budget",
    "solver/rungs": """
        box extremes factor isolate lemmas linear model multiplied prover refine residues rows split
        """,
    "solver/decide": """
        assume consistency ladder minimal_core prover question quotient_lemmas rungs search selection slicing
        """,
}
"""The modules that a question goes through. Printing, the edges and the trusted checker stay as they are written, and
so does the parser for any text: it walks as deep as a text is nested, for which compiled code has no room.
"""

GROUP = "symshape"
SHARED = f"{GROUP}__mypyc"
"""The extension that holds the code; the others each lead to one module in it."""

DIRECT = ["-fvisibility=hidden", "-fno-semantic-interposition", "-fno-plt"] if sys.platform == "linux" else []
"""Nobody calls into the code but by its modules, so that its functions call each other directly. Without them each call
goes through the table of what another library might put in its place: 5 % of the time on recorded questions."""


def announced() -> list[Extension]:
    """Tell setuptools that there are extensions. Translating takes seconds, which only `build_ext` has to."""
    if os.environ.get("SYMSHAPE_PURE"):
        return []
    try:
        import mypyc.build  # noqa: F401
    except ImportError:
        return []
    return [Extension(SHARED, [])]


def translated() -> list[Extension]:
    """The extensions, their C text written by mypyc."""
    from mypyc.build import mypycify

    hot = [f"{folder}/{name}.py" for folder, names in HOT.items() for name in names.split()]
    try:
        # -O1 is as fast here as -O2, and compiled in three fifths of the time
        modules = mypycify(
            ["--ignore-missing-imports", *hot], group_name=GROUP, opt_level="1", debug_level="0", multi_file=True
        )
    except SystemExit:  # its way to say that this version of mypy objects to something
        print("mypyc does not compile the solver; it is installed as it is written", file=sys.stderr)
        return []
    for module in modules:
        module.optional = True
        module.extra_compile_args += DIRECT
    return modules


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class BuildExtensions(build_ext):
    """All extensions or none, compiled by all cores, and the checksum of what they were made from."""

    def run(self) -> None:
        if not self.distribution.has_ext_modules():
            return
        folders = [Path(self.build_lib, "solver")]
        if self.inplace:
            folders.append(Path(self.get_finalized_command("build_py").get_package_dir("solver")))
        for folder in folders:
            (folder / MADE_FROM).unlink(missing_ok=True)
        before = checksum(ROOT / "solver")
        self.distribution.ext_modules = translated()
        inplace, editable = self.inplace, self.editable_mode
        self.distribution.reinitialize_command(self)  # for these extensions
        self.inplace, self.editable_mode = inplace, editable
        self.ensure_finalized()
        self.parallel = cores()
        super().run()
        built = [Path(self.build_lib, self.get_ext_filename(each.name)) for each in self.extensions]
        if built and all(file.exists() for file in built):
            for folder in folders:
                (folder / MADE_FROM).write_text(before)
        else:
            for file in built:
                file.unlink(missing_ok=True)
            self.distribution.ext_modules = []

    def build_extensions(self) -> None:
        compile_in_turn = self.compiler.compile

        def compile_at_once(sources: list[str], *arguments: object, **options: object) -> list[str]:
            made = pool.map(lambda source: compile_in_turn([source], *arguments, **options), sources)
            return [each for part in made for each in part]

        with ThreadPoolExecutor(cores()) as pool:
            self.compiler.compile = compile_at_once
            super().build_extensions()


class Wheel(bdist_wheel):
    """A wheel of what is here now; it is called pure where no extension was built, for whatever reason."""

    def run(self) -> None:
        build = self.get_finalized_command("build")
        if Path(build.build_lib).is_relative_to(build.build_base) and not self.distribution.have_run.get("build"):
            shutil.rmtree(build.build_lib, ignore_errors=True)  # modules of an earlier build would come along
        self.run_command("build")
        self.root_is_pure = not self.distribution.has_ext_modules()
        super().run()


setup(ext_modules=announced(), cmdclass={"build_ext": BuildExtensions, "bdist_wheel": Wheel})
