"""The site is built from the documents: every link leads somewhere, every page can be reached, pictures are current."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmarks.picture import PICTURES, draw

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
    """From the landing page, by links alone, to each page of `docs/`."""
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


@pytest.mark.parametrize("name", ["decided.svg", "seconds.svg"])
def test_the_picture_shows_the_last_results(name: str) -> None:
    """`python -m benchmarks.picture --write` draws it anew."""
    assert (PICTURES / name).read_text(encoding="utf-8") == draw()[name]
