"""The page of a report: entries under their lines, links that lead somewhere, nothing loaded, no text as markup."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shapes.errors import ShapeError
from shapes.reports import page as pages
from shapes.reports.files import read_folder, read_records, write_records
from shapes.reports.layout import laid_out
from shapes.reports.page import MissingExtra, save_page
from shapes.reports.process import ProcessReports
from shapes.reports.records import KINDS, Entry, Excerpt, FunctionReport, VariantReport
from shapes.reports.report import Report
from shapes.reports.summary import LINES, LONGEST, summary
from tests.shapes.reports.reading import read_page


def guard(text: str, line: int = 7, **more: object) -> Entry:
    return Entry("guard", text, "/home/me/model.py", line, "f", verdict="depends", **more)  # type: ignore[arg-type]


def report(name: str = "f") -> Report:
    """Two variants with one guard in common, a break, a fallback without a line, and one entry of each other kind."""
    other = [Entry(kind, f"of kind {kind}", "/home/me/model.py", 9) for kind in KINDS if kind != "guard"]
    both = guard("s >= 2", accepts="s=5", rejects="s=1", facts=("b >= 1",))
    first = VariantReport(
        0, "first call", "", 100.0, ("x: float32[s]",), (both, *other), "mul = x * 2", ("k0: for i0 < s",)
    )
    cause = "guard `s >= 2` fails at s=1 (model.py:7 in f)"
    again = VariantReport(
        1, cause, "state it", 101.5, (), (guard("s <= 1"), guard("s >= 2", accepts="s=6", facts=("b >= 1",)))
    )
    excerpt = Excerpt("/home/me/model.py", (6, 7, 8, 9, 20), ("def f(x):", "    if x.shape[0] > 1:", "", "a", "b"))
    breaks = (Entry("break", "print", "/home/me/model.py", 20),)
    return Report(
        name, "/home/me/model.py", 6, (first, again), breaks, (Entry("fallback", "no line"),), excerpts=(excerpt,)
    )


def test_equal_entries_of_variants_are_one() -> None:
    """A guard of a hundred variants is on the page a hundred times, or names the wrong variants."""
    (section,) = laid_out([report()])
    (row,) = [row for row in section.files[0].rows if row.number == 7]
    assert [(each.entry.text, each.variants) for each in row.shown] == [("s >= 2", (0, 1)), ("s <= 1", (1,))]
    assert [row.number for row in section.files[0].rows if row.after_gap] == [20]
    assert [each.entry.text for each in section.elsewhere.shown] == ["no line"]


def test_a_page_has_each_entry_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    """An entry is missing, a link leads nowhere, two entries have one name, or the page loads something."""
    save_page([report(), report("g.<locals>.<i>&'\"")], tmp_path / "it.html", title="</title><i>")
    found = read_page(tmp_path / "it.html")
    assert found.title == "</title><i>" and "i" not in found.tags
    assert len(found.entries) == 2 * (len(KINDS) + 3) and {each.kind for each in found.entries} == set(KINDS)
    assert len(set(found.names)) == len(found.names)
    inside = {link[1:] for link in found.links}
    assert all(link.startswith("#") for link in found.links) and inside <= set(found.names)
    assert {each.anchor for each in found.entries} <= inside
    assert found.loads == ["data:,"] and "//" not in "".join(found.links)
    words = [" ".join(each.words.split()) for each in found.entries]
    assert "# guard depends s >= 2 variants 0, 1 known b >= 1 holds at s=5 only it rejects s=1" in words


def test_the_failed_guard_is_linked_from_the_timeline() -> None:
    """The timeline says what failed, and not where it is."""
    (section,) = laid_out([report()])
    first, again = section.steps
    assert (first.link, first.after, again.after) == ("", 0.0, 1.5)
    assert again.failed == "s >= 2" and again.link.startswith("f-guard-7-")


def test_links_stay_as_they_are_when_a_variant_is_added() -> None:
    """A link that somebody keeps leads to another entry in the next page."""
    before, after = report(), report()
    new = VariantReport(2, "first call", entries=(guard("s == 0", line=3),))
    (old,) = laid_out([before])
    (grown,) = laid_out([Report(**{**fields(after), "variants": (new, *after.variants)})])
    kept = {each.anchor for file in old.files for row in file.rows for each in row.shown}
    assert kept <= {each.anchor for file in grown.files for row in file.rows for each in row.shown}


def fields(given: FunctionReport) -> dict[str, object]:
    return {name: getattr(given, name) for name in FunctionReport.__slots__}


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 60])
def test_the_head_has_ten_lines_at_most(count: int) -> None:
    """The head is as long as what it is the head of, or drops causes silently."""
    again = [VariantReport(n + 1, f"guard `{'s' * n} >= 2` fails" + " " * 300, "do this") for n in range(count)]
    breaks = tuple([Entry("break", "print", file="m.py", line=n) for n in range(count)])
    lines = summary(Report("f", variants=(VariantReport(0, "first call"), *again), breaks=breaks))
    assert len(lines) <= LINES and max(map(len, lines)) <= LONGEST
    shown = sum([line.startswith(("  variant", "  graph break")) for line in lines])
    hidden = [int(line.split()[1]) for line in lines if line.startswith("  and ")]
    assert shown + sum(hidden) == 2 * count


def test_records_survive_a_file(tmp_path: Path) -> None:
    """The page of another process lacks something that its own has."""
    write_records([report(), report("g")], tmp_path / "b.json")
    write_records([Report("h", share_of_time=0.5)], tmp_path / "a.json")
    assert read_folder(tmp_path) == [Report("h", share_of_time=0.5), report(), report("g")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "expected the records"),
        ("[" * 100_000, "expected the records"),
        ("[]", "in format 1"),
        ('{"format": 2, "functions": []}', "in format 1"),
        ('{"format": 1}', "functions: expected a list"),
        ('{"format": 1, "functions": [{"name": "f"}]}', r"functions\[0\]: expected an object with name, file"),
        ('{"format": 1, "functions": ["f"]}', r"functions\[0\]: expected an object"),
    ],
)
def test_files_that_are_no_records(text: str, part: str, tmp_path: Path) -> None:
    """A file of another program ends in a traceback of another library."""
    (tmp_path / "it.json").write_text(text)
    with pytest.raises(ShapeError, match=part):
        read_records(tmp_path / "it.json")


def test_a_record_with_a_wrong_part_names_it(tmp_path: Path) -> None:
    """A kind that there is not, or a text where a number belongs, is shown as if it were right."""
    write_records([report()], tmp_path / "it.json")
    text = (tmp_path / "it.json").read_text()
    for before, after, part in (
        ('"guard"', '"other"', "entries.0..kind"),
        ('"line": 7', '"line": "7"', "line: expected"),
    ):
        (tmp_path / "it.json").write_text(text.replace(before, after, 1))
        with pytest.raises(ShapeError, match=part):
            read_records(tmp_path / "it.json")


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=f"SYMSHAPE_REPORT={tmp_path}"):
        read_folder(tmp_path)


def test_without_the_extra_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare ModuleNotFoundError; or a page half written."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    pages.template.cache_clear()
    with pytest.raises(MissingExtra, match=r"needs jinja2: pip install 'symshape\[report\]'"):
        save_page([report()], tmp_path / "it.html", title="it")
    assert list(tmp_path.iterdir()) == []


def test_a_process_writes_what_it_kept(tmp_path: Path) -> None:
    """One report that fails costs the others theirs, or a function without anything to tell is listed."""
    process = ProcessReports(str(tmp_path / "new" / "reports"))
    process.keep(report)
    process.keep(lambda: Report("empty"))
    process.keep(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    process.write()
    process.write()
    records, page = sorted((tmp_path / "new" / "reports").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert read_records(records) == [report()] and read_page(page).title == "reports"


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A program ends with an error because its report could not be written."""
    (tmp_path / "file").write_text("")
    process = ProcessReports(str(tmp_path / "file"))
    process.keep(report)
    process.write()
    assert "SYMSHAPE_REPORT=" in caplog.text
