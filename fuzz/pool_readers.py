"""Readers of pools: images, archives, arrays and lists of files."""

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fuzz import reseal, seeds
from fuzz.dicoms import dicom_elements, dicoms
from fuzz.mutate import mutated
from fuzz.reader import READ, UNREADABLE, Make, Reader, Seed, seeds_named
from fuzz.trees import json_tree
from mixmood.core.errors import UnreadableImageError

MOST_IMAGES = 24
COCO = (
    b'{"images": [{"id": 1, "file_name": "1.png"}, {"id": 2, "file_name": "2.jpg"}], '
    b'"categories": [{"id": 7, "name": "cat"}], "annotations": [{"image_id": 1, "category_id": 7}]}'
)


def _read_pool(folder: Path, name: str) -> str:
    from mixmood.data.open import open_pool

    return _read_all(open_pool(folder / name))


def _read_image(folder: Path, name: str) -> str:
    from mixmood.data.images.decode import decode_squares
    from mixmood.data.open import open_pool

    pool = open_pool(folder)
    found = _read_all(pool)
    with contextlib.suppress(UnreadableImageError):
        decode_squares(pool.fetch(0), name, (8,))[0]
    return found


def _read_frames(folder: Path, name: str) -> str:
    from mixmood.data.open import open_pool

    _read_all(open_pool(folder, frames="each"))
    return _read_image(folder, name)


def _read_folder(folder: Path, name: str) -> str:
    from mixmood.data.open import open_pool

    return _read_all(open_pool(folder))


def _read_all(pool: object) -> str:
    """Everything that the product asks a pool for."""
    from mixmood.data.images.pool import FeatureSource, ImageSource

    assert isinstance(pool, ImageSource | FeatureSource)
    rows = range(min(len(pool), MOST_IMAGES))
    assert pool.fingerprint
    if pool.labels is not None:
        assert sum(pool.labels.counts().values()) == len(pool)
    if isinstance(pool, FeatureSource):
        assert pool.features(np.array(rows)).shape == (len(rows), pool.width)
        return READ
    n_broken = 0
    for picture in pool.read([*rows, len(pool) - 1]):
        if isinstance(picture, UnreadableImageError):
            n_broken += 1
        else:
            assert picture.dtype == np.uint8
            assert picture.shape[2:] == (3,)
    return UNREADABLE if n_broken else READ


def _inside_zip(packed: bool) -> Make:
    def make(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
        files = reseal.unzipped(data)
        name = rng.choice(list(files))
        files[name] = mutated(rng, files[name], list(files.values()))
        if rng.random() < 0.3:
            files[rng.choice(["../../x.png", "/etc/x.png", "a\0.png", "\x1b[2J.png"])] = data[:99]
        return reseal.zipped(files, packed and rng.random() < 0.5)

    return make


def _inside_gz(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    import gzip

    content = mutated(rng, gzip.decompress(data), others)
    return reseal.gz(reseal.tar(content) if content[257:262] == b"ustar" else content)


def _then(seal: Callable[[bytes], bytes]) -> Make:
    return lambda rng, data, others: seal(mutated(rng, data, others))


def _labelled_idx(ends: str) -> Callable[[], list[Seed]]:
    def make() -> list[Seed]:
        images, coloured = (seeds.packed if ends else list)(seeds.idxs())
        labels = seeds.idx(np.arange(6, dtype=np.uint8))
        labels = seeds.packed([labels])[0] if ends else labels
        name, beside = f"t-images-idx3-ubyte{ends}", f"t-labels-idx1-ubyte{ends}"
        return [
            Seed(name, images, {beside: labels}),
            Seed(name, coloured),
            Seed(beside, labels, {name: images}),
        ]

    return make


def _read_idx(folder: Path, name: str) -> str:
    return _read_pool(folder, name.replace("labels-idx1", "images-idx3"))


def _labels(name: str, text: bytes) -> Callable[[], list[Seed]]:
    return lambda: [Seed(name, text, seeds.members())]


def _manifests(name: str, text: bytes) -> Callable[[], list[Seed]]:
    return lambda: [Seed(name, text, seeds.members())]


POOL_READERS: dict[str, Reader] = {
    "png": Reader(seeds_named("x.png", seeds.pngs), _read_image, _then(reseal.png)),
    "jpeg": Reader(seeds_named("x.jpg", seeds.jpegs), _read_image),
    "progressive": Reader(seeds_named("x.jpg", seeds.progressive), _read_image),
    "gif": Reader(seeds_named("x.gif", seeds.gifs), _read_image),
    "webp": Reader(seeds_named("x.webp", seeds.webps), _read_image),
    "bmp": Reader(seeds_named("x.bmp", seeds.bmps), _read_image),
    "tiff": Reader(seeds_named("x.tif", seeds.tiffs), _read_image),
    "ppm-ico": Reader(seeds_named("x.ppm", seeds.others), _read_image),
    "avif": Reader(seeds_named("x.avif", seeds.avifs), _read_image),
    "dicom": Reader(seeds_named("x.dcm", dicoms), _read_frames, dicom_elements),
    "labels": Reader(
        _labels("labels.csv", b"path,label\ncat/1.png,cat\n2;,cat\ndog/3.bmp,dog\n"), _read_folder
    ),
    "coco": Reader(_labels("annotations.json", COCO), _read_folder, json_tree),
    "zip": Reader(seeds_named("x.zip", seeds.zips), _read_pool, _inside_zip(packed=True)),
    "tar": Reader(seeds_named("x.tar", seeds.tars), _read_pool, _then(reseal.tar)),
    "tar.gz": Reader(
        seeds_named("x.tar.gz", lambda: seeds.packed(seeds.tars())), _read_pool, _inside_gz
    ),
    "npy": Reader(seeds_named("x.npy", seeds.npys), _read_pool),
    "npz": Reader(seeds_named("x.npz", seeds.npzs), _read_pool, _inside_zip(packed=True)),
    "idx": Reader(_labelled_idx(""), _read_idx),
    "idx.gz": Reader(_labelled_idx(".gz"), _read_idx, _inside_gz),
    "txt": Reader(_manifests("x.txt", b"# list\ncat/1.png\ncat/2.jpg\ndog/3.bmp\n"), _read_pool),
    "csv": Reader(
        _manifests("x.csv", b'path,label\ncat/1.png,cat\n"cat/2.jpg",cat\ndog/3.bmp,dog\n'),
        _read_pool,
    ),
    "parquet": Reader(seeds_named("x.parquet", seeds.parquets), _read_pool),
}
"""Readers of pools by name."""
