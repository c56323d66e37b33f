"""Plain JPEGs, the commonest images by far, without the time that Pillow takes to open a file.

libjpeg-turbo decodes them here as there, so that the pixels are Pillow's to the last bit. What is
not plain, not whole or not understood is left to Pillow.
"""

from mixmood.core.arrays import Picture

START = b"\xff\xd8\xff"
APP1 = b"\xff\xe1"
"""The marker of EXIF and XMP, which may turn the picture; pixels never hold these two bytes."""
PLAIN = {("YCbCr", "444"), ("YCbCr", "422"), ("YCbCr", "420"), ("Gray", "Gray")}
"""Colours and subsamplings that every version of the library decodes alike."""


def decode_plain_jpeg(raw: bytes, most_pixels: int, below: int | None = None) -> Picture | None:
    """The picture in RGB, shape (height, width, 3); None where Pillow has to look.

    Args:
        raw: The bytes of a file.
        most_pixels: No picture with more pixels is decoded here.
        below: None whose smaller side is as long as this, or longer; by default all.
    """
    if not raw.startswith(START):
        return None
    import simplejpeg

    try:
        height, width, colours, subsampling = simplejpeg.decode_jpeg_header(raw)
        is_small = below is None or min(height, width) < below
        if (colours, subsampling) not in PLAIN or not is_small or height * width > most_pixels:
            return None
        # After the header: in a large file the search takes longer.
        if APP1 in raw:
            return None
        picture: Picture = simplejpeg.decode_jpeg(raw, "RGB")
    except Exception:
        # Damaged, even if only a little, or a kind it does not know; it names no class of errors.
        return None
    return picture
