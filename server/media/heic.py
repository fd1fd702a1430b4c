"""Decode HEIC, the photos of phones, by libheif of the wheel pi-heif: libvips of its wheel decodes AV1, but not HEVC."""

from __future__ import annotations

import pi_heif
import pyvips

# Each thread would have stacks and pictures of its own in the limited memory.
pi_heif.options.DECODE_THREADS = 1
pi_heif.options.THUMBNAILS = pi_heif.options.DEPTH_IMAGES = pi_heif.options.AUX_IMAGES = False
_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis")
_INTERPRETATIONS = {1: "b-w", 2: "b-w", 3: "srgb", 4: "srgb"}
_ERRORS = (ValueError, EOFError, SyntaxError, RuntimeError, OSError, IndexError, KeyError)


class HeicError(Exception):
    """Say that content is no HEIC image that can be decoded; libheif's text is the argument."""

    @property
    def is_for_want_of_memory(self) -> bool:
        """Return whether more memory would have helped; a picture larger than its header says is refused with similar words."""
        text = str(self)
        return text.startswith("Memory allocation error") and "Security limit" not in text


def is_heic(content: bytes) -> bool:
    """Return whether the content says that it is encoded in HEVC (ISO/IEC 23008-12, annex B.4)."""
    if content[4:8] != b"ftyp":
        return False
    brands = content[8 : min(int.from_bytes(content[:4], "big"), 200)]
    return b"avif" not in brands and any(brand in brands for brand in _BRANDS)


class Heic:
    """An opened HEIC file: its size as it is shown, and the number of its images. Raises HeicError."""

    def __init__(self, content: bytes) -> None:
        """Read the header, without decoding."""
        try:
            self._file = pi_heif.open_heif(content)
            self.width, self.height = self._file.size
        except _ERRORS as error:
            raise HeicError(str(error)) from error
        self.frames = len(self._file)

    def thumbnail(self, longest: int) -> pyvips.Image:
        """Return the primary image, which libheif has turned upright, reduced; in sRGB with 8 bits. Raises HeicError."""
        image = self._decode()
        reduced = image.thumbnail_image(longest, height=longest, size="down", output_profile="srgb").colourspace("srgb")
        # The pixels of `image` are those of the file, which must not end before they are read.
        return reduced.copy_memory()

    def _decode(self) -> pyvips.Image:
        try:
            pixels, (width, height), mode = self._file.data, self._file.size, self._file.mode
        except _ERRORS as error:
            raise HeicError(str(error)) from error
        image = pyvips.Image.new_from_memory(pixels, width, height, len(mode), "uchar")
        image = image.copy(interpretation=_INTERPRETATIONS[len(mode)])
        if mode.endswith("a"):
            image = image.unpremultiply().cast("uchar")
        if profile := self._file.info.get("icc_profile"):
            image.set_type(pyvips.GValue.blob_type, "icc-profile-data", profile)
        return image
