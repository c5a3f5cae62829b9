"""The words of the field stay: names and phrases that were replaced do not come back (`docs/words.md`)."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("solver", "shapes", "backends", "frontends", "benchmarks")
MODULES = """
    absent arranged binding changed climb composites copies crossed crossing cutting cuts dividing finding freely
    indices instead lean leaned made_objects meter moved native_form opening parts_first peers places python_form
    recover scattered settled spelling summed summing surroundings taken taking telling tree_form turned turning turns
    unchanging unmet vocabularies wording
"""
CLASSES = "Climb Merge Opening Peer Position Reason Taken Turns Weighed WrongStatement"
PHRASES = re.compile(
    r"led elsewhere|held against|runs\s+as it is|only this rejects|turn by turn|took back|evaluated again\b"
    r"|what becomes of|makes? no sense|can not be|of one's own|only a run can tell|only run time knows"
    r"|no truth value|what is said of|stands twice",
    re.IGNORECASE,
)


def sources() -> list[Path]:
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if "corpus" not in path.parts]


def test_replaced_words_are_no_modules_and_no_classes() -> None:
    """No module and no class bears a replaced word."""
    modules, classes = set(MODULES.split()), set(CLASSES.split())
    found = [path for path in sources() if modules & {path.stem, *path.relative_to(ROOT).parts[:-1]}]
    for path in sources():
        names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
        found += [path for name in names if name in classes]
    assert len(sources()) > 300 and found == []


def test_replaced_phrases_are_in_no_page_and_no_source() -> None:
    """No page and no source contains a replaced phrase."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path: path.read_text() for path in [*pages, *sources()]}
    assert [(path.name, found[0]) for path, text in texts.items() if (found := PHRASES.search(text))] == []


def test_docstrings_say_what_a_thing_is_or_does() -> None:
    """None begins with a question word, as a name that was forgotten does."""
    found = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
                continue
            text = str(node.value.value)
            if re.match(r"(What|Whether|That|How many|How much)\b", text.strip()):
                found.append(f"{path.name}:{node.lineno}: {text.strip()[:60]}")
    assert found == []
