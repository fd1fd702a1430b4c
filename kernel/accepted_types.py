"""Parse the header `Accept`."""

from __future__ import annotations

import re
from functools import lru_cache

_MAX_CACHED = 300
_IS_REFUSED = re.compile(r"q=0(?:\.0*)?")


def accepted_types(accept: str) -> frozenset[str]:
    """Return the media types that a client names in `Accept`, in lower case, without those of quality 0.

    >>> sorted(accepted_types("Text/HTML, image/webp; q=0.5, image/avif;q=0, */*;q=0.8"))
    ['*/*', 'image/webp', 'text/html']
    """
    return (_cached_types if len(accept) <= _MAX_CACHED else _types)(accept)


def _types(accept: str) -> frozenset[str]:
    items = ([part.strip() for part in item.split(";")] for item in accept.lower().split(","))
    return frozenset(
        name
        for name, *parameters in items
        if name and not any(_IS_REFUSED.fullmatch(parameter.replace(" ", "")) for parameter in parameters)
    )


_cached_types = lru_cache(maxsize=256)(_types)
