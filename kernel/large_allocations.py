"""Let the C library return large blocks of memory to the system when they are freed."""

from __future__ import annotations

import ctypes

# mallopt(3). A password's hash takes 19 MiB, of which glibc, once it has freed the first, would keep 20 MB for each thread that hashes.
_M_MMAP_THRESHOLD = -3
_THRESHOLD_BYTES = 1024 * 1024


def return_large_allocations() -> None:
    """Keep no freed block of a mebibyte or more for later; without glibc nothing is changed."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
