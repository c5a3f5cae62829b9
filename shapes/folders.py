"""Folders for the files of a user, by the XDG base directory specification.

    >>> import os
    >>> os.environ["XDG_STATE_HOME"] = "/var/tmp/state"
    >>> str(base_folder("XDG_STATE_HOME", ".local", "state"))
    '/var/tmp/state'
    >>> del os.environ["XDG_STATE_HOME"]

A variable that is empty or not absolute counts as not set, `HOME` included.
"""

from __future__ import annotations

import os
from pathlib import Path


def base_folder(variable: str, *below_home: str) -> Path:
    """The folder that this variable names; else this one below the home folder.

    Raises:
        FileNotFoundError: there is no home folder.
    """
    named = os.environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else home().joinpath(*below_home)


def home() -> Path:
    """The folder that `HOME` names; else the home folder that the system has for the user.

    Raises:
        FileNotFoundError: there is none.
    """
    named = os.environ.get("HOME", "")
    if not os.path.isabs(named):
        try:
            import pwd

            named = pwd.getpwuid(os.geteuid()).pw_dir
        except (ImportError, KeyError):
            named = ""
    if not os.path.isabs(named):
        raise FileNotFoundError(f"there is no home folder: HOME={os.environ.get('HOME')!r}")
    return Path(named)


def make_private(folder: Path) -> None:
    """Create a folder, and what is missing above it, for this user alone, whatever the umask is.

    Raises:
        OSError: it cannot be created, or something else has its name.
    """
    if folder.is_dir():
        return
    make_private(folder.parent)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:  # another process was faster
        if not folder.is_dir():
            raise
        return
    folder.chmod(0o700)  # a umask takes from the mode of mkdir
