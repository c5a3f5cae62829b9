"""axe's findings about a page in headless Chromium.

    SYMSHAPE_AXE=node_modules/axe-core/axe.min.js python -m tests.accessibility build/site/index.html

`npm install axe-core` brings the file; without `SYMSHAPE_AXE` the tests that need it are skipped.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE: Final = os.environ.get("SYMSHAPE_AXE", "")
SERIOUS: Final = ("serious", "critical")
RUN: Final = """
<script>%s</script>
<script>
window.addEventListener("load", async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  const kept = found.violations.map(({id, impact, nodes}) => [id, impact, nodes.map(node => node.target.join(" "))]);
  const shown = document.createElement("pre");
  shown.id = "axe-found";
  shown.textContent = JSON.stringify(kept);
  document.documentElement.append(shown);
});
</script>
</body>"""


def findings(page: Path, *, dark: bool = False) -> list[tuple[str, str, list[str]]]:
    """Each rule of axe that a page breaks, its impact, and the elements."""
    assert CHROMIUM is not None
    script = Path(AXE).read_text(encoding="utf-8").replace("</script>", "<\\/script>")
    text = page.read_text(encoding="utf-8")
    beside = page.with_name(f"{page.stem}-with-axe.html")
    beside.write_text(text.replace("</body>", RUN % script), encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory() as profile:
            scheme = [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
            command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", *scheme]
            command += ["--virtual-time-budget=20000", f"--user-data-dir={profile}", beside.resolve().as_uri()]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    finally:
        beside.unlink()
    found = re.search(r'<pre id="axe-found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, "axe gave no result"
    return [(rule, impact, places) for rule, impact, places in json.loads(html.unescape(found[1]))]


def serious(page: Path) -> list[str]:
    """The serious findings about a page, light and dark."""
    return [
        f"{page.name}: {rule} at {', '.join(places[:3])}"
        for dark in (False, True)
        for rule, impact, places in findings(page, dark=dark)
        if impact in SERIOUS
    ]


def main() -> None:
    for name in sys.argv[1:]:
        for dark in (False, True):
            for rule, impact, places in findings(Path(name), dark=dark):
                print(name, "dark" if dark else "light", impact, rule, len(places), *places[:3])


if __name__ == "__main__":
    main()
