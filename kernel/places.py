"""Know Brazil's states and which of them a CEP lies in."""

from __future__ import annotations

from bisect import bisect_right

# Correios, CEP ranges by state: the first five digits from which on a state's CEPs begin, in order. The Distrito Federal lies
# within Goiás, and Amazonas on both sides of Roraima.
_BEGINS: tuple[tuple[int, str], ...] = (
    (1_000, "SP"),
    (20_000, "RJ"),
    (29_000, "ES"),
    (30_000, "MG"),
    (40_000, "BA"),
    (49_000, "SE"),
    (50_000, "PE"),
    (57_000, "AL"),
    (58_000, "PB"),
    (59_000, "RN"),
    (60_000, "CE"),
    (64_000, "PI"),
    (65_000, "MA"),
    (66_000, "PA"),
    (68_900, "AP"),
    (69_000, "AM"),
    (69_300, "RR"),
    (69_400, "AM"),
    (69_900, "AC"),
    (70_000, "DF"),
    (72_800, "GO"),
    (73_000, "DF"),
    (73_700, "GO"),
    (76_800, "RO"),
    (77_000, "TO"),
    (78_000, "MT"),
    (79_000, "MS"),
    (80_000, "PR"),
    (88_000, "SC"),
    (90_000, "RS"),
)
_STARTS = [start for start, _ in _BEGINS]
_CEP_DIGITS = 8

STATES: frozenset[str] = frozenset(state for _, state in _BEGINS)
"""The twenty-six states and the Distrito Federal, by their two letters."""

BRAZIL = "BR"


def state_of_cep(cep: str) -> str:
    """Give the state a CEP of eight digits lies in; empty for what is no CEP, and below 01000-000, where there is none."""
    if len(cep) != _CEP_DIGITS or not cep.isascii() or not cep.isdigit():
        return ""
    place = bisect_right(_STARTS, int(cep[:5]))
    return _BEGINS[place - 1][1] if place else ""
