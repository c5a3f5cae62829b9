"""Pages in a notebook: every value with evidence as HTML, and the cell beside which a fact was made."""

import html
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shapes import ShapeEnv
from shapes.certification.certificates import Condition, Conditions
from shapes.certification.certifying import certify
from shapes.origin import Origin

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).name


def text_of(shown: object) -> str:
    """The text of a page, markup checked to be closed."""
    page: str = shown._repr_html_()  # type: ignore[attr-defined]
    assert len(re.findall(r"<(?:pre|span)\b", page)) == len(re.findall(r"</(?:pre|span)>", page))
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def environment() -> ShapeEnv:
    env = ShapeEnv()
    env.sizes("b s", hints=(4, 128))
    env.assume("s % 16 == 0")
    env.guard("b >= 3")
    return env


SHOWN: list[tuple[str, Callable[[ShapeEnv], object], list[str]]] = [
    ("environment", lambda env: env, ["environment", "declared   b >= 0", "assumed    s % 16 == 0", HERE]),
    ("always", lambda env: env.ask("b*s % 16 == 0"), ["always    because  s % 16 == 0", HERE]),
    ("never", lambda env: env.ask("s == 7"), ["never     because  s % 16 == 0", HERE]),
    ("depends", lambda env: env.ask("b*s % 64 == 0"), ["depends   true at b=4, s=16   false at b=3, s=16"]),
    ("gave up", lambda env: env.ask("b**3 + s**3 == 16*b*s + 77", effort="fast"), ["gave up", "tried"]),
    ("size", lambda env: env.size("b*s + 1"), ["b*s + 1   513 this time"]),
    ("size without a hint", lambda env: env.unbacked("u") + 1, ["u + 1   no hint"]),
    ("guard", lambda env: env.guards()[0], [HERE, "b >= 3", "it alone rejects b=2, s=128"]),
    ("check", lambda env: env.compile_guards({"b": 0, "s": 1}), ["assumed    s % 16 == 0", "guard      b >= 3"]),
]


@pytest.mark.parametrize(("make", "wanted"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN])
def test_a_value_shows_its_evidence(make: Callable[[ShapeEnv], object], wanted: list[str]) -> None:
    """A cell that ends in the value shows its evidence with lines, as text would, without any extension."""
    shown = text_of(make(environment()))
    for part in wanted:
        assert part in shown


def test_run_time_checks_and_specializations_are_shown() -> None:
    """Checks of the run have their message, constants the facts that made them."""
    env = environment()
    b, s, u = env.size("b"), env.size("s"), env.unbacked("u", lo=0)
    env.expect_true(u <= s, "too many <tokens>")
    assert "s >= u" in text_of(env.runtime_asserts()[0]) and "too many <tokens>" in text_of(env.runtime_asserts()[0])
    env.guard(b == 4)
    assert "b = 4" in text_of(env.specializations()[0])


def test_a_certificate_is_shown() -> None:
    """A certificate shows what is refuted and where."""
    guards = Conditions([Condition("s % 8 == 0"), Condition("s <= 4096", Origin("model.py", 41, "forward"))])
    shown = text_of(certify([guards], {"s": (16, 8192, 16)}))
    assert "refuted" in shown and "s <= 4096   fails at s=4112   model.py:41 in forward" in shown


def test_names_cannot_write_markup() -> None:
    """Names that a person chooses are text in a page."""
    page = certify([Conditions([Condition("s <= 4", Origin("<script>", 1))])], {"s": (0, 8)})._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page


CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
cells = [
    "from shapes import ShapeEnv\\nenv = ShapeEnv()\\ns = env.symbol('s', hint=8)",
    "# what is known\\nenv.assume(s % 4 == 0)",
    "def branch():\\n    return 1 if s > 4 else 0\\nbranch()",
    "print(env.ask(s % 2 == 0).core[0].origin, '|', env.guards()[0].origin, '|', env.guards()[0].origin.recorded)",
    "print(env.explain(s % 2 == 0))\\ntry: env.assume(s % 4 == 1)\\nexcept Exception as error: print(error)",
]
for cell in cells:
    shell.run_cell(cell, store_history=True)
"""


def test_facts_of_a_cell_name_the_cell() -> None:
    """Facts, guards and errors name the cell as the person sees it, not the file that IPython makes of it."""
    pytest.importorskip("IPython")
    command = [sys.executable, "-c", CELLS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    text = done.stdout
    assert "In [2], line 2 | In [3], line 2 in branch | In [3]:2 branch" in text
    assert "(given, In [2], line 2, env.assume(s % 4 == 0))" in text
    assert "In [5], line 2" in text and "ipython-input" not in text


def test_nothing_of_ipython_is_loaded() -> None:
    """Showing an origin and a page does not load IPython."""
    program = (
        "import sys; from shapes import ShapeEnv; env = ShapeEnv(); env.symbol('s'); env._repr_html_();"
        "print('IPython' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
