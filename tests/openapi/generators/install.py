"""Install the client generators for TypeScript: `python -m tests.openapi.generators.install`; their tests are skipped without them."""

from __future__ import annotations

import sys
from pathlib import Path

from server.assets.build import ROOT, BuildFailed, Tools, install, is_installed, machine_tools, packaged_tools

SOURCES = Path(__file__).resolve().parent
FOLDER = ROOT / ".vitrine" / "build" / "openapi-generators"
# What @hey-api/openapi-ts requires.
OLDEST_NODE = (20, 19)


def installed_tools() -> Tools | None:
    """Return Node and npm if the generators are installed."""
    if not is_installed(SOURCES, FOLDER):
        return None
    return machine_tools(OLDEST_NODE) or packaged_tools()


def main() -> int:
    """Install the generators; a failure is reported and leaves their tests out."""
    if is_installed(SOURCES, FOLDER):
        return 0
    print("Installing client generators into .vitrine/build/ for the tests of the OpenAPI documents ...", flush=True)
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        install(machine_tools(OLDEST_NODE) or packaged_tools(), SOURCES, FOLDER)
    except (BuildFailed, OSError) as error:
        print(f"client generators: not installed, so their tests are skipped: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
