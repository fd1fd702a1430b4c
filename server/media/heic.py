"""Decode HEIC, the photos of phones, by libheif of the wheel pi-heif: libvips of its wheel decodes AV1, but not HEVC."""

from __future__ import annotations

# The module in C that pi_heif wraps, pinned for it: the package reads all metadata of a file when it opens one, and crashes with some that
# are damaged; it imports Pillow besides.
import _pi_heif
import pyvips

# Each thread would have stacks and pictures of its own in the limited memory. 8 bits, red first, rows without padding; the last three are
# the depth of those that stay deeper, the decoder, and libheif's own limits of size.
_OPTIONS = (1, True, False, True, True, "", False)
_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis")
_INTERPRETATIONS = {1: "b-w", 2: "b-w", 3: "srgb", 4: "srgb"}
_SIZES = ("Security limit", "Invalid image size")
_ERRORS = (ValueError, EOFError, SyntaxError, RuntimeError, OSError, IndexError, KeyError)


class HeicError(Exception):
    """Say that content is no HEIC image that can be decoded; libheif's text is the argument."""

    @property
    def is_for_want_of_memory(self) -> bool:
        """Return whether more memory would have helped; a picture of another size than its header says is refused with similar words."""
        text = str(self)
        return text.startswith("Memory allocation error") and not any(reason in text for reason in _SIZES)


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
            images = [image for image in _pi_heif.load_file(content, *_OPTIONS) if image is not None]
            self._image = next((image for image in images if image.primary), images[0])
            (self.width, self.height), _ = self._image.size_mode
        except _ERRORS as error:
            raise HeicError(str(error)) from error
        if self.width < 1 or self.height < 1:
            raise HeicError("the header has no size")
        self.frames = len(images)

    def thumbnail(self, longest: int) -> pyvips.Image:
        """Return the primary image, which libheif has turned upright, reduced; in sRGB with 8 bits. Raises HeicError."""
        image = self._decode()
        reduced = image.thumbnail_image(longest, height=longest, size="down", output_profile="srgb").colourspace("srgb")
        # The pixels of `image` are those of the file, which must not end before they are read.
        return reduced.copy_memory()

    def _decode(self) -> pyvips.Image:
        try:
            pixels = self._image.data
            (width, height), mode = self._image.size_mode
            profile = self._image.color_profile
        except _ERRORS as error:
            raise HeicError(str(error)) from error
        image = pyvips.Image.new_from_memory(pixels, width, height, len(mode), "uchar")
        image = image.copy(interpretation=_INTERPRETATIONS[len(mode)])
        if mode.endswith("a"):
            image = image.unpremultiply().cast("uchar")
        if profile and profile["type"] in ("rICC", "prof"):
            image.set_type(pyvips.GValue.blob_type, "icc-profile-data", profile["data"])
        return image
