"""The prompt: ask what follows from what, in a terminal, a script or a notebook.

`python -m shapes` opens it; in a notebook `%load_ext shapes.prompt` shows verdicts, environments and guards as tables.

>>> from shapes.prompt.grammar import parse_command
>>> parse_command("guards").name
'guards'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Load the prompt into IPython: `%load_ext shapes.prompt`."""
    from shapes.prompt.notebook import show_in

    show_in(shell)
