"""A fast decoder for plain JPEGs, without the time that Pillow needs to open a file.

Pillow uses libjpeg-turbo too, so the pixels are identical to Pillow's. JPEGs that are not plain or
not complete are left to Pillow.
"""

from mixmood.core.arrays import Picture

START = b"\xff\xd8\xff"
APP1 = b"\xff\xe1"
"""The marker of EXIF and XMP, which may rotate the picture. Coded pixels never contain it."""
PLAIN = {("YCbCr", "444"), ("YCbCr", "422"), ("YCbCr", "420"), ("Gray", "Gray")}
"""Colour spaces and subsamplings that every version of the library decodes alike."""


def decode_plain_jpeg(raw: bytes, most_pixels: int, below: int | None = None) -> Picture | None:
    """The picture in RGB, shape (height, width, 3); None if it has to be decoded by Pillow.

    Args:
        raw: The bytes of a file.
        most_pixels: The result is None for a picture with more pixels.
        below: The result is None for a picture whose smaller side is not below this.
    """
    if not raw.startswith(START):
        return None
    import simplejpeg

    try:
        height, width, colours, subsampling = simplejpeg.decode_jpeg_header(raw)
        is_small = below is None or min(height, width) < below
        if (colours, subsampling) not in PLAIN or not is_small or height * width > most_pixels:
            return None
        # Only after the header was read: in a large file this search takes longer.
        if APP1 in raw:
            return None
        picture: Picture = simplejpeg.decode_jpeg(raw, "RGB")
    except Exception:
        # Damaged or not supported; the library does not document its classes of errors.
        return None
    return picture
