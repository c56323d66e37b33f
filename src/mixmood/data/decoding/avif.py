"""AVIF and HEIC files, which start alike: Pillow reads AVIF, but not HEIC."""

HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx")
CONVERT_HEIC = "convert it first, for instance with: magick mogrify -format jpg *.heic"


def check_brand(raw: bytes) -> None:
    """Give Pillow's AVIF decoder one thread; ValueError for a HEIC file.

    By default the decoder uses all cores for each image, which our own threads use already.

    >>> check_brand(b"\\0\\0\\0\\x1cftypheic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: it is a HEIC image; convert it first, for instance with: magick mogrify ...
    """
    if raw[4:8] != b"ftyp":
        return
    if raw[8:12] in HEIC:
        raise ValueError(f"it is a HEIC image; {CONVERT_HEIC}")
    from PIL import AvifImagePlugin

    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
