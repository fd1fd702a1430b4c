"""Draw the QR code of a Pix code."""

from __future__ import annotations

from io import BytesIO

import segno

_SCALE, _BORDER = 4, 4
# To choose the best of the eight masks takes fifty times as long as to draw the code; readers accept each of them (ISO/IEC 18004, 7.8).
_MASK = 2


def qr_svg(code: str) -> str:
    """Return the QR code as an SVG element, for a page or a data URL."""
    image = BytesIO()
    segno.make(code, error="m", micro=False, mask=_MASK).save(
        image, kind="svg", scale=_SCALE, border=_BORDER, light="#fff", xmldecl=False, svgns=True, nl=False
    )
    return image.getvalue().decode()
