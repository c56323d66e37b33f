"""Plain JPEGs, the commonest images by far, without the time that Pillow takes to open a file.

libjpeg-turbo decodes them here as there, so that the pixels are Pillow's to the last bit. Whatever
is not plain, or not whole, is left to Pillow: it alone decides what can be read.
"""

from mixmood.core.arrays import Picture

START = b"\xff\xd8\xff"
APP1 = b"\xff\xe1"
"""The marker of EXIF and XMP, which may turn the picture; pixels never hold these two bytes."""
PLAIN = {("YCbCr", "444"), ("YCbCr", "422"), ("YCbCr", "420"), ("Gray", "Gray")}
"""Colours and subsamplings that every version of the library decodes alike."""


def decode_plain_jpeg(raw: bytes, most_pixels: int, widest: int | None = None) -> Picture | None:
    """The picture in RGB, shape (height, width, 3); None where Pillow has to look.

    Args:
        raw: The bytes of a file.
        most_pixels: No picture with more pixels is decoded here.
        widest: None whose smaller side is longer than this; by default all.
    """
    if not raw.startswith(START) or APP1 in raw:
        return None
    import simplejpeg

    try:
        height, width, colours, subsampling = simplejpeg.decode_jpeg_header(raw)
        is_small = widest is None or min(height, width) <= widest
        if (colours, subsampling) not in PLAIN or not is_small or height * width > most_pixels:
            return None
        picture: Picture = simplejpeg.decode_jpeg(raw, "RGB")
    except ValueError:
        # Damaged, even if only a little: how much may be missing is Pillow's to say.
        return None
    return picture
