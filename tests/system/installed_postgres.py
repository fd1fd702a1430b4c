"""Use an installed PostgreSQL such as Debian's: `VITRINE_TEST_POSTGRES_BIN=/usr/lib/postgresql/15/bin`.

Locks, accounts and sockets are those of the embedded one; only the programs differ.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from server.embedded_postgres import data_folder, layout

VARIABLE = "VITRINE_TEST_POSTGRES_BIN"
# The provider `builtin` came with 17; C.UTF-8 of the C library folds text the same way.
_LIBC_LOCALE = ("--locale-provider=libc", "--locale=C.UTF-8")


def prefer_installed_postgres() -> None:
    """Set the variable to the oldest PostgreSQL of Debian that is installed, if there is one and the variable is not set."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if programs:
        os.environ.setdefault(VARIABLE, str(programs[0].parent))


def use_installed_postgres() -> None:
    """Let `EmbeddedPostgres` of this process run the programs that the variable names, if it is set."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    programs = Path(folder)
    version = subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, text=True)
    major = int(version.stdout.split()[2].partition(".")[0])
    options = [option for option in data_folder.INITDB if "locale" not in option]
    vars(layout).update(MAJOR=major, wheel_programs=lambda: programs)
    vars(data_folder).update(MAJOR=major, INITDB=(*options, *_LIBC_LOCALE))
