"""The site is built from the documents: every link leads somewhere, every page can be reached, pictures are current."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.picture import PICTURES, draw, figures
from benchmarks.report import text as table_text
from tests.accessibility import AXE, CHROMIUM, findings

ROOT = Path(__file__).parents[1]
QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return folder


class Links(HTMLParser):
    """The links of a page and the places that links may lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.places.add(str(values["id"]))
        target = values.get("href") if tag == "a" else values.get("src") if tag == "img" else None
        if target and not re.match(r"[a-z]+:|//", target):
            self.links.append(target)


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    broken = []
    for page, found in pages.items():
        for link in found.links:
            path, _, place = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                broken.append(f"{page.relative_to(site)}: {link}")
            elif place and target in pages and place not in pages[target].places:
                broken.append(f"{page.relative_to(site)}: {link} has no such place")
    assert not broken


def test_every_page_can_be_reached(site: Path) -> None:
    """Links lead from the landing page to each page of `docs/`."""
    seen, waiting = set(), [site / "index.html"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for link in Links(page).links:
            target = (page.parent / link.partition("#")[0]).resolve()
            target = target / "index.html" if target.is_dir() else target
            if target.suffix == ".html" and target.is_file():
                waiting.append(target)
    pages = list((ROOT / "docs").rglob("*.md"))
    for path in pages:
        name = path.relative_to(ROOT / "docs").with_suffix("")
        name = name.parent if name.name in ("index", "README") else name
        assert site / name / "index.html" in seen, f"no link leads to {path.relative_to(ROOT)}"


def test_the_reference_has_what_people_import(site: Path) -> None:
    """Each public name of `shapes` is on a page of the reference."""
    import shapes

    places = set().union(*(Links(page).places for page in (site / "reference" / "api").rglob("*.html")))
    names = {place.rpartition(".")[2] for place in places}
    assert not set(shapes.__all__) - names


class Structure(HTMLParser):
    """Headings, pictures, table headings and samples of a page, in the order of the page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.language = ""
        self.levels: list[int] = []
        self.faults: list[str] = []
        self.landmarks: list[str] = []
        self._heading: str | None = None
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "html":
            self.language = values.get("lang") or ""
        elif re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))
        elif tag == "img" and not values.get("alt"):
            self.faults.append(f"a picture without a text: {values.get('src')}")
        elif tag == "th":
            self._heading = ""
        elif tag == "nav":
            self.landmarks.append(str(values.get("aria-label")))

    def handle_data(self, data: str) -> None:
        if self._heading is not None:
            self._heading += data.strip()

    def handle_endtag(self, tag: str) -> None:
        if tag == "th":
            self.faults += ["a heading of a column without a text"] * (self._heading == "")
            self._heading = None


def test_pages_are_told_by_a_screen_reader(site: Path) -> None:
    """A language, one first heading, no level left out, texts for pictures and columns, samples that take the focus,
    navigation with a label for each part."""
    faults = []
    for page in site.rglob("*.html"):
        name, found = page.relative_to(site), Structure(page)
        if name.parts[0] in ("notebooks", "404.html", "search"):
            continue
        faults += [f"{name}: {fault}" for fault in found.faults]
        skipped = [each for before, each in pairwise(found.levels) if each > before + 1]
        if found.language != "en" or found.levels[:1] != [1] or skipped:
            faults.append(f"{name}: lang={found.language!r}, headings {found.levels}")
        text = page.read_text(encoding="utf-8")
        contents = [label for label in found.landmarks if "contents" in label]
        faults += [f"{name}: two parts {label!r}" for label in set(contents) if contents.count(label) > 1]
        faults += [f"{name}: a sample that takes no focus"] * ("<pre><span></span><code>" in text)
    assert not faults


@pytest.mark.skipif(not (AXE and CHROMIUM), reason="SYMSHAPE_AXE names no axe-core, or there is no Chromium")
@pytest.mark.parametrize("name", ["", "tutorial", "prompt", "pytorch", "reference/rules", "reference/api/environment"])
def test_axe_has_no_finding(site: Path, name: str) -> None:
    page = site / name / "index.html"
    assert [found for dark in (False, True) for found in findings(page, dark=dark)] == []


@pytest.mark.parametrize("name", ["decided.svg", "seconds.svg"])
def test_the_picture_shows_the_last_results(name: str) -> None:
    """`python -m benchmarks.picture --write` draws it anew."""
    assert (PICTURES / name).read_text(encoding="utf-8") == draw()[name]


def test_the_pictures_draw_the_figures_of_the_last_run() -> None:
    """The figures beside the table of RESULTS.md are those of the table."""
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"<!-- entailment -->(.*?)<!-- end entailment -->", text, re.DOTALL)
    for engine, found in figures().items():
        row, *_ = re.findall(rf"^\| {re.escape(engine)} \|.*%.*$", section, re.MULTILINE)
        cells = [cell.strip() for cell in row.split("|")]
        assert (cells[2].partition(" %")[0], cells[11]) == (f"{found['decided']:.2f}", table_text(found["seconds"]))
