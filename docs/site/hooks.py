"""The needs of MkDocs beside its configuration: the pages of the repository that lie outside of `docs/`.

Results, the format of recorded sessions, notebooks and examples are part of the site. Links to them, such as
`../benchmarks/RESULTS.md` in `docs/prompt.md`, are written as the repository has them, and lead to them on the site.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = ("benchmarks/RESULTS.md", "benchmarks/corpus/CORPUS.md", "notebooks/*.ipynb", "README.md", "CONTRIBUTING.md")
CONTENTS = 'aria-label="Table of contents"'
SECTION = re.compile(
    r'aria-labelledby="__nav_[\d_]+_label"([^>]*>)(\s*<label[^>]*>\s*<span[^>]*></span>\s*)([^<]*[^<\s])'
)
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files from outside, at the place that they have in the repository."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if name == "README.md":
                continue
            files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "docs" / "examples").rglob("*.py")):
        name = str(path.relative_to(ROOT / "docs"))
        files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    for name in ("site.css", "site.js"):
        content = (ROOT / "docs" / "site" / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=content))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make long samples reachable by keyboard, and corners of tables cells without a heading."""
    html = html.replace("<pre><span></span><code>", '<pre tabindex="0"><span></span><code>')
    return re.sub(r"<th([^>]*)>\s*</th>", r"<td\1></td>", html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Give each part of the navigation a label of its own: the theme repeats the table of contents in its menu, and
    leaves sections with an index page without a text."""
    output = output.replace(CONTENTS, CONTENTS.replace("contents", "contents in the menu"), output.count(CONTENTS) - 1)
    return SECTION.sub(r'aria-label="\3"\1\2\3', output)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Resolve links in the repository, where `docs/` is a folder, to places on the site, where it is the root."""
    here = page.file.src_uri
    outside = files.get_file_from_path(here) is not None and here.startswith(("benchmarks/", "CONTRIBUTING"))
    folder = posixpath.dirname(here if outside else f"docs/{here}")

    def resolved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[0]))
        target = target.removeprefix("docs/")
        if files.get_file_from_path(target) is None and files.get_file_from_path(f"{target}/README.md") is not None:
            target = f"{target}/README.md"
        return posixpath.relpath(target, posixpath.dirname(here) or ".")

    return LINK.sub(resolved, markdown)
