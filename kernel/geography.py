"""Brazil's states and their CEP ranges, and the codes of countries."""

from __future__ import annotations

from bisect import bisect_right

from kernel.text import fold

# CEP ranges by state (Correios): the first five digits at which each range starts, in order. Some states have several ranges.
_RANGES: tuple[tuple[int, str], ...] = (
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
_STARTS = [start for start, _ in _RANGES]
_CEP_DIGITS = 8

_NAMES = {
    "AC": "Acre",
    "AL": "Alagoas",
    "AM": "Amazonas",
    "AP": "Amapá",
    "BA": "Bahia",
    "CE": "Ceará",
    "DF": "Distrito Federal",
    "ES": "Espírito Santo",
    "GO": "Goiás",
    "MA": "Maranhão",
    "MG": "Minas Gerais",
    "MS": "Mato Grosso do Sul",
    "MT": "Mato Grosso",
    "PA": "Pará",
    "PB": "Paraíba",
    "PE": "Pernambuco",
    "PI": "Piauí",
    "PR": "Paraná",
    "RJ": "Rio de Janeiro",
    "RN": "Rio Grande do Norte",
    "RO": "Rondônia",
    "RR": "Roraima",
    "RS": "Rio Grande do Sul",
    "SC": "Santa Catarina",
    "SE": "Sergipe",
    "SP": "São Paulo",
    "TO": "Tocantins",
}
STATES: frozenset[str] = frozenset(_NAMES)
"""The two-letter codes of the twenty-six states and the Distrito Federal."""
# Longer than any name, with white space and decomposed letters.
_MAX_STATE = 255
_CODES = {fold(name): code for code, name in _NAMES.items()}

BRAZIL = "BR"
COUNTRIES = frozenset(
    """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH
    CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN
    GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI
    LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM
    PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD
    TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
    """.split()  # noqa: SIM905  # a list of codes is as long as this table
)
"""The codes of countries and territories of ISO 3166-1 (2026), and XK, which Kosovo has in postal addresses."""


def state_code(text: str) -> str:
    """Return the code of the state of Brazil with this name, ignoring case and accents; of any other text, such as a code, its capitals."""
    name = "" if len(text) > _MAX_STATE else " ".join(fold(text).split())
    return _CODES.get(name) or text.strip().upper()


def is_state(text: str) -> bool:
    """Return whether a text is the code or the name of a state of Brazil."""
    return state_code(text) in STATES


def state_of_cep(cep: str) -> str:
    """Return the state of an eight-digit CEP; empty for anything else and below 01000-000, where there are none."""
    if len(cep) != _CEP_DIGITS or not cep.isascii() or not cep.isdigit():
        return ""
    index = bisect_right(_STARTS, int(cep[:5]))
    return _RANGES[index - 1][1] if index else ""
