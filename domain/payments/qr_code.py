"""Draw the QR code of a Pix code."""

from __future__ import annotations

import segno

_SCALE, _BORDER = 4, 4


def qr_svg(code: str) -> str:
    """Return the QR code as an SVG element for a page."""
    return str(segno.make(code, error="m", micro=False).svg_inline(scale=_SCALE, border=_BORDER, light="#fff"))
