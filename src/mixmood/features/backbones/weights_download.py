"""Weights that are downloaded once, checked, and kept."""

import hashlib
from pathlib import Path

from mixmood.core.cache.features import cache_directory
from mixmood.core.errors import BackboneError
from mixmood.core.files.places import make_folder, own_place


def weights_directory() -> Path:
    """The folder of fetched weights, beside the feature cache; it is made if needed."""
    from platformdirs import user_cache_dir

    place = cache_directory() or own_place(user_cache_dir)
    if place is None:
        raise BackboneError(
            "Weights must be kept somewhere, and this user has no home directory. "
            "Name a directory with MIXMOOD_CACHE."
        )
    return make_folder(place / "weights", "Name another directory with MIXMOOD_CACHE.")


def fetch_weights(backbone: str, url: str, sha256_prefix: str) -> Path:
    """The path of a file of weights, fetched if it is not there yet.

    The first digits of its sha256, which are part of its official name, must agree.
    """
    path = weights_directory() / url.rpartition("/")[2]
    if not path.exists():
        _fetch(backbone, url, path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(sha256_prefix):
        path.unlink(missing_ok=True)
        raise BackboneError(
            f"{path} is damaged or another file: its sha256 must begin with {sha256_prefix} but "
            f"is {digest}. It was removed; run the command again to fetch it."
        )
    return path


def _fetch(backbone: str, url: str, path: Path) -> None:
    import pooch

    pooch.get_logger().setLevel("ERROR")
    try:
        # pooch writes to a temporary name first: a broken connection leaves no file.
        pooch.retrieve(url, known_hash=None, fname=path.name, path=path.parent)
    except Exception as error:
        # The network, the server and the disk raise different errors.
        raise BackboneError(
            f"The backbone {backbone} needs the file {path.name}, which could not be fetched from "
            f"{url} ({type(error).__name__}). Download it by other means and place it at {path}."
        ) from error
