"""Show the progress of an import as bars on the standard error."""

from __future__ import annotations

import sys

from tqdm import tqdm


def print_wait(line: str) -> None:
    """Print why the import waits, between the bars."""
    tqdm.write(f"vitrine: {line}", file=sys.stderr)


class Progress:
    """Follow how far an import is; this one shows nothing."""

    def begin(self, entity: str) -> None:
        """Begin an entity."""

    def expect(self, total: int) -> None:
        """Set the number of its records."""

    def advance(self, count: int) -> None:
        """Count records that are done."""

    def end(self) -> None:
        """End the entity."""


class ProgressBars(Progress):
    """Show one bar for each entity."""

    def begin(self, entity: str) -> None:
        """Show a new bar."""
        self._bar = tqdm(desc=entity, unit="", file=sys.stderr, leave=True)

    def expect(self, total: int) -> None:
        """Set the number of records of the bar."""
        self._bar.total = max(total, self._bar.n)
        self._bar.refresh()

    def advance(self, count: int) -> None:
        """Count records that are done."""
        self._bar.update(count)

    def end(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()
