"""Write the snapshots of generated documents, and compare them with the code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from server.commands.output import print_error, print_line


def write_snapshots(folder: Path, label: str, texts: Mapping[str, str]) -> int:
    """Write the files of a folder that have changed; `label` is its path in the repository. Return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    stale = _stale(folder, texts)
    for name, text in texts.items():
        if name in stale:
            (folder / name).write_text(text, encoding="utf-8")
        print_line(f"{'wrote' if name in stale else 'unchanged:'} {label}/{name}")
    return 0


def compare_snapshots(folder: Path, label: str, texts: Mapping[str, str]) -> int:
    """Report the files of a folder that differ; return the exit code."""
    stale = [f"{label}/{name}" for name in _stale(folder, texts)]
    if stale:
        print_error(f"outdated: {', '.join(stale)}; run make snapshots and review the difference")
    return 1 if stale else 0


def _stale(folder: Path, texts: Mapping[str, str]) -> list[str]:
    paths = {name: folder / name for name in texts}
    return [
        name for name, path in paths.items() if not path.is_file() or path.read_text(encoding="utf-8") != texts[name]
    ]
