"""The index of decisions lists each page once, by its title."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "docs" / "decisions"


def test_the_index_is_complete() -> None:
    """The index lists every decision by its title."""
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    pages = [(page.read_text().split("\n", 1)[0].removeprefix("# "), page.name) for page in FOLDER.glob("*.md")]
    assert sorted(listed) == sorted(page for page in pages if page[1] != "README.md")
