"""The page of a report in headless Chromium: no error on the console, links, search and filters do what they say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from shapes.reports.page import save_page
from shapes.reports.records import Entry, Excerpt, VariantReport
from shapes.reports.report import Report
from tests.accessibility import AXE, CHROMIUM, serious

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


def many(guards: int, nodes: int) -> Report:
    """A function with so many guards, each on a line, a graph of so many nodes, and kernel decisions on some lines."""
    facts = ("0 <= s", "s % 16 == 0")
    found = [
        Entry(
            "guard",
            f"s{n} >= {n}",
            "model.py",
            n + 1,
            "f",
            f"if s{n} >= {n}",
            "depends",
            facts,
            f"s{n}={n}",
            f"s{n}={n - 1}",
        )
        for n in range(guards)
    ]
    found += [
        Entry("kernel", f"divisible: s{n} % 16 == 0", "model.py", n + 1, verdict="never") for n in range(0, guards, 5)
    ]
    graph = "\n".join([f"add_{n} = torch.ops.aten.add.Tensor(add_{n - 1}, 1)" for n in range(nodes)])
    lines = tuple([f"    if s{n} >= {n}:" for n in range(guards)])
    excerpt = Excerpt("model.py", tuple(range(1, guards + 1)), lines)
    variants = (
        VariantReport(0, "first call", made=1.0, entries=tuple(found), graph=graph),
        VariantReport(1, "guard `s3 >= 3` fails at s3=2 (model.py:4)", made=2.5, entries=tuple(found[:2])),
    )
    return Report("f", "model.py", 1, variants, excerpts=(excerpt,))


def opened(page: Path, suffix: str = "", *, size: str = "1200,800") -> tuple[str, list[str]]:
    """The document after its scripts have run, and the lines of the console."""
    assert CHROMIUM is not None
    found = subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"),
            *(f"--user-data-dir={page.parent / 'profile'}", f"--window-size={size}", page.as_uri() + suffix),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout, [line for line in found.stderr.splitlines() if "CONSOLE" in line]


def hits(document: str) -> list[str]:
    """The names of the entries that are shown."""
    classes = re.findall(r'<li class="([^"]*)" id="([^"]+)"', document)
    return [name for kinds, name in classes if "entry" in kinds and "hidden" not in kinds]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "report.html"
    save_page([many(40, 60)], path, title="f")
    return path


def test_the_page_opens_without_an_error(page: Path) -> None:
    """A script fails, or something is loaded that is not there."""
    document, console = opened(page)
    assert console == []
    assert re.search(r'<output id="count"[^>]*>48 entries</output>', document)
    assert len(hits(document)) == 48 and '<body class="filtered"' not in document


@pytest.mark.skipif(not AXE, reason="SYMSHAPE_AXE names no axe-core")
def test_axe_has_no_serious_finding(page: Path) -> None:
    assert serious(page) == []


def test_a_broken_script_would_be_seen(page: Path, tmp_path: Path) -> None:
    """The test above passes whatever the console has."""
    (tmp_path / "it.html").write_text(page.read_text().replace("apply();\n  reveal();", "nothing();"))
    _, console = opened(tmp_path / "it.html")
    assert len(console) == 1 and "nothing is not defined" in console[0]


@pytest.mark.parametrize(
    ("suffix", "count"),
    [
        ("?q=s10", 2),  # the guard, and the decision on its line
        ("?q=s7", 1),
        ("?q=model.py", 48),
        ("?q=s3+depends", 11),
        ("?q=nothing+like+this", 0),
        ("?verdict=never", 8),
        ("?kinds=guard", 40),
        ("?kinds=guard&verdict=never", 0),
    ],
)
def test_search_and_filters_are_part_of_the_address(page: Path, suffix: str, count: int) -> None:
    """A link to what somebody has found shows something else."""
    document, console = opened(page, suffix)
    assert console == [] and len(hits(document)) == count, hits(document)


def test_a_link_opens_what_it_leads_to(page: Path) -> None:
    """A link to an entry that is folded, or filtered away, shows nothing."""
    text = page.read_text()
    (name,) = re.findall(r'id="(f-kernel-6-\w+)"', text)
    document, console = opened(page, f"#{name}")
    assert console == []
    folded = [each for each in re.findall(r"<details [^>]*folded[^>]*>", document) if "open" in each]
    assert len(folded) == 1
    document, _ = opened(page, f"?kinds=guard#{name}")
    assert name in hits(document) and len(hits(document)) == 48


def test_nothing_is_fetched(page: Path) -> None:
    """The page needs a network: a font, a script of the chart."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.DOTALL)
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "@import" not in text and "url(" not in text and "fetch(" not in text
