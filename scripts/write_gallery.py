"""Write docs/gallery.md and its pictures: .venv/bin/python scripts/write_gallery.py (a minute).

Five pools against a labelled set: what they look like, what `rank` prints, what to do. All images
come from scikit-learn or are generated, and may be redistributed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import mixmood
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import ImageArray
from mixmood.data.sets import digits, photo_patches

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = "images/gallery"
N_SHOWN, SIDE, GAP = 10, 48, 4
N_POOL = 150

HEAD = """\
# Gallery

Five typical pools. Each picture shows ten labelled images above ten images of the pool. Below it
are the advice of `mixmood rank`, its reason and its warnings (`scripts/write_gallery.py`).

The digits come from the UCI data set *Optical Recognition of Handwritten Digits* (E. Alpaydin,
C. Kaynak; CC BY 4.0), the patches from two photographs, *china.jpg* by danielbuechele and
*flower.jpg* by vultilion (both CC BY 2.0, cut and made grey here); both come with scikit-learn.
Noise is generated.
"""


@dataclass(frozen=True)
class Case:
    """One pool: its name and title, the sets, what is in it, and the text below the output."""

    name: str
    title: str
    labelled: ImageArray
    pool: Any
    content: str
    lesson: str


def cases() -> list[Case]:
    """The five cases, always the same."""
    rng = np.random.default_rng(0)
    images, classes = digits()
    known = rng.permutation(np.flatnonzero(classes < 5))
    chosen = np.concatenate([known[classes[known] == digit][:12] for digit in range(5)])
    rest = images[np.setdiff1d(known, chosen, assume_unique=True)]
    names = tuple(f"digit {digit}" for digit in range(5))
    own = Labels(classes[chosen].astype(np.int32), names)
    labelled = ImageArray(images[chosen], "digits 0-4", own)
    # Of different sizes, as in a downloaded pool: enlarged digits would be other images.
    half = [*map(Image.fromarray, rest[:75]), *map(Image.fromarray, photo_patches(75, 32, rng))]
    return [
        Case("clean", "Clean", labelled, rest[:N_POOL], "150 more digits 0 to 4.",
             "The pool cannot be told apart from the labelled set: nothing in it has to be left "
             "out. If the head is nearly always right without a pool, no pool is certain to help."),
        Case("contaminated", "Contaminated", labelled, half,
             "75 digits 0 to 4 and 75 patches of photographs.",
             "Half of the pool is foreign, which costs as much as the other half gains: keep the "
             "useful half with `mixmood filter`."),
        Case("near-copy", "Near copies", labelled, copies(images[chosen], rng),
             "The 60 labelled images twice: as they are, and a little brighter.",
             "A model learns nothing new from copies, and copies of test images would be a leak. "
             "Exact copies are left out of the comparison."),
        colour_case(rng),
        Case("noise", "Noise", labelled,
             rng.normal(128, 60, (N_POOL, 8, 8)).clip(0, 255).astype(np.uint8),
             "150 images of Gaussian noise.", "Noise is as far away as a pool can be."),
    ]  # fmt: skip


def copies(chosen: Any, rng: np.random.Generator) -> Any:
    """The images as they are, and a little brighter."""
    brighter = np.minimum(chosen.astype(int) + rng.integers(1, 3, (len(chosen), 1, 1)), 255)
    return np.concatenate([chosen, brighter.astype(np.uint8)])


def colour_case(rng: np.random.Generator) -> Case:
    """Patches of two photographs in colour, and other patches of them in grey."""
    from sklearn.datasets import load_sample_images

    sets = []
    for photo in load_sample_images().images:
        tops, lefts = rng.integers(0, photo.shape[0] - 48, 105), rng.integers(0, 590, 105)
        sets.append([photo[t : t + 48, x : x + 48] for t, x in zip(tops, lefts, strict=True)])
    own = Labels(np.repeat([0, 1], 30).astype(np.int32), ("temple", "flower"))
    labelled = ImageArray(np.array(sets[0][:30] + sets[1][:30]), "photos in colour", own)
    grey = np.array(sets[0][30:] + sets[1][30:]).mean(axis=3, keepdims=True).repeat(3, axis=3)
    return Case("grey", "Grey against colour", labelled, grey.astype(np.uint8),
                "150 other patches of the same two photographs, without their colours.",
                "The difference is clear although the content is the same. Convert all sets in "
                "the same way before you rank.")  # fmt: skip


def sheet(case: Case) -> Image.Image:
    """Ten labelled images above ten of the pool."""
    step = SIDE + GAP
    page = Image.new("RGB", (N_SHOWN * step + GAP, 2 * step + 3 * GAP), "white")
    rows = [np.stack([case.labelled.picture(k) for k in range(len(case.labelled))]), case.pool]
    for row, pictures in enumerate(rows):
        places = np.linspace(0, len(pictures) - 1, N_SHOWN).astype(int)
        for column, place in enumerate(places):
            found = pictures[place]
            tile = found if isinstance(found, Image.Image) else Image.fromarray(found)
            tile = tile.convert("RGB").resize((SIDE, SIDE), Image.Resampling.NEAREST)
            page.paste(tile, (GAP + column * step, GAP + row * (step + GAP)))
    return page


def section(case: Case) -> str:
    """The part of the page about one case."""
    ranked = mixmood.rank(case.labelled, {case.title.lower(): case.pool}, seed=0).candidates[0]
    picture = f"{PICTURES}/{case.name}.png"
    sheet(case).quantize(64).save(DOCS / picture, optimize=True)
    warnings = "".join(f"- {warning}\n" for warning in ranked.warnings)
    return (
        f"## {case.title}\n\n![Ten labelled images above ten images of the pool]({picture})\n\n"
        f"The pool: {case.content}\n\nAdvice: **{ranked.advice}**; {ranked.advice_reason}.\n\n"
        f"{warnings and warnings + chr(10)}{case.lesson}\n"
    )


def main() -> None:
    """Write pictures and page."""
    (DOCS / PICTURES).mkdir(parents=True, exist_ok=True)
    text = "\n".join([HEAD, *map(section, cases())])
    (DOCS / "gallery.md").write_text("\n".join(line.rstrip() for line in text.split("\n")))


if __name__ == "__main__":
    main()
