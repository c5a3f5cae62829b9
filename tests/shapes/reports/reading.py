"""The page of a report as a browser's tree would be read: entries with their words, sections, titles, tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "input", "br"}


@dataclass
class Found:
    """An entry: its name, kind and verdict, and its words."""

    anchor: str
    kind: str
    verdict: str
    words: str = ""


@dataclass
class ReadPage(HTMLParser):
    """The contents of a page."""

    title: str = ""
    entries: list[Found] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.names += [given["id"] or ""] if "id" in given else []
        if tag == "a" and "href" in given:
            self.links.append(given["href"] or "")
        self.loads += [given[name] or "" for name in ("src", "href") if name in given and tag not in ("a",)]
        if "entry" in (given.get("class") or "").split():
            kind, verdict = given["data-kind"] or "", given["data-verdict"] or ""
            self.entries.append(Found(given["id"] or "", kind, verdict))
        if tag == "pre" and given.get("class") == "head":
            self.sections.append("")
        if tag not in VOID:
            self._open.append((tag, given))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1][0] == tag, (tag, self._open[-3:], self.getpos())
        self._open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if any("entry" in (given.get("class") or "").split() for _, given in self._open):
            self.entries[-1].words += data
        tag, given = self._open[-1] if self._open else ("", {})
        if given.get("class") == "head":
            self.sections[-1] += data
        if tag == "title" and not self.title:
            self.title = data


def read_page(path: Path) -> ReadPage:
    """The page in a file."""
    found = ReadPage()
    found.feed(path.read_text(encoding="utf-8"))
    assert not found._open
    return found
