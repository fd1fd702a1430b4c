"""The results of the checks of `vitrine doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_NAMES = 5


class Severity(StrEnum):
    """The outcome of a check: `warn` works but needs attention, `fail` doesn't work or isn't safe."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, in one line."""

    check: str
    level: Severity
    text: str


def ok(check: str, text: str) -> CheckResult:
    """Return a passed check."""
    return CheckResult(check, Severity.OK, text)


def warn(check: str, text: str) -> CheckResult:
    """Return a check that passed but needs attention."""
    return CheckResult(check, Severity.WARN, text)


def fail(check: str, text: str) -> CheckResult:
    """Return a failed check."""
    return CheckResult(check, Severity.FAIL, text)


def join_names(names: list[str]) -> str:
    """Join the first names, and count the others."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
