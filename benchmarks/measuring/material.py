"""The images that are measured: made from photos that come with scikit-learn, or from packs."""

import os
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from PIL import Image, ImageFilter
from sklearn.datasets import load_sample_images

from benchmarks.measuring.row import SkippedError
from mixmood.data.sets import photo_patches

PACKS = Path(os.environ.get("MIXMOOD_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
LOOKS = {
    # Pools that differ as pools of a user may: the same photos, and others made of them.
    "same": lambda picture: picture,
    "blurred": lambda picture: picture.filter(ImageFilter.GaussianBlur(3)),
    "grey": lambda picture: picture.convert("L").convert("RGB"),
    "coarse": lambda picture: picture.resize((8, 8)).resize(picture.size),
    "negative": lambda picture: Image.eval(picture, lambda value: 255 - value),
}


def pack(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The images and labels of a pack of real images."""
    path = PACKS / f"{name}.npz"
    if not path.exists():
        raise SkippedError("no image packs here; set MIXMOOD_TEST_DATA to where they are")
    with np.load(path) as content:
        return content["images"], content["labels"]


def small_jpegs(
    folder: Path, n_images: int, look: str = "same", seed: int = 0, side: int = 64
) -> Path:
    """A folder of JPEGs of 64 x 64 pixels, patches of photos; the look is one of LOOKS."""
    folder.mkdir(parents=True)
    patches = photo_patches(n_images, side, np.random.default_rng([seed, *look.encode()]))
    for number, patch in enumerate(patches):
        LOOKS[look](Image.fromarray(patch)).save(folder / f"{number:06}.jpg", quality=90)
    return folder


def large_jpegs(folder: Path, n_images: int) -> Path:
    """A folder of JPEGs of 2000 x 1500 pixels: enlarged crops of photos, with grain."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    photos = load_sample_images().images
    for number in range(n_images):
        top, left = rng.integers(0, 227), rng.integers(0, 373)
        crop = photos[number % 2][top : top + 200, left : left + 267]
        picture = np.asarray(Image.fromarray(crop).resize((2000, 1500), Image.Resampling.BICUBIC))
        # Without grain an enlarged crop would be easier to decode than a photo.
        grain = picture + rng.integers(-6, 7, (1500, 2000, 1))
        pixels = Image.fromarray(grain.clip(0, 255).astype(np.uint8))
        pixels.save(folder / f"{number:06}.jpg", quality=85)
    return folder


def five_pools(folder: Path, n_labelled: int, n_images: int) -> tuple[Path, dict[str, Path]]:
    """A labelled folder and five pools of small JPEGs, one of each look."""
    labelled = small_jpegs(folder / "labelled", n_labelled, seed=1)
    return labelled, {look: small_jpegs(folder / look, n_images, look) for look in LOOKS}


def five_pools_of_photographs(folder: Path) -> tuple[Path, dict[str, Path]]:
    """60 labelled photographs of seven breeds, and pools of these breeds, others and other things.

    Each pool has 300 photographs or what there is of them.
    """
    breeds, things = (_names_in(PACKS / f"{name}.zip") for name in ("pets", "imagenet_photos"))
    names = sorted({name.split("/")[0] for name in breeds})
    own = [name for name in breeds if name.split("/")[0] in names[:7]]
    labelled = [
        name for breed in names[:7] for name in [one for one in own if one.startswith(breed)][:9]
    ][:60]
    rest = [name for name in own if name not in labelled]
    parts = {
        "breeds": ("pets", rest),
        "others": ("pets", [name for name in breeds if name not in own]),
        "things": ("imagenet_photos", things[::2]),
        "more things": ("imagenet_photos", things[1::2]),
        "all breeds": ("pets", rest[::2] + [name for name in breeds if name not in own][::2]),
    }
    _extract("pets", labelled, folder / "labelled")
    for pool, (pack_name, members) in parts.items():
        _extract(pack_name, members[:300], folder / pool)
    return folder / "labelled", {pool: folder / pool for pool in parts}


def _names_in(path: Path) -> list[str]:
    if not path.exists():
        raise SkippedError("no photographs here; set MIXMOOD_TEST_DATA to where they are")
    with ZipFile(path) as archive:
        return sorted(name for name in archive.namelist() if not name.endswith("/"))


def _extract(pack_name: str, members: list[str], folder: Path) -> None:
    with ZipFile(PACKS / f"{pack_name}.zip") as archive:
        archive.extractall(folder, members)


class PreparedFiles:
    """A data set for a plain loop of torch: files decoded by Pillow and prepared in its workers."""

    def __init__(self, folder: Path, prepare: Callable[[Image.Image], object]) -> None:
        """Read the files of a folder."""
        self.paths, self.prepare = sorted(folder.iterdir()), prepare

    def __len__(self) -> int:
        """How many files."""
        return len(self.paths)

    def __getitem__(self, index: int) -> object:
        """What is made of one file."""
        return self.prepare(Image.open(self.paths[index]).convert("RGB"))
