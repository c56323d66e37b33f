"""The labels of a pool, for commands that need them."""

from mixmood.core.errors import InputError
from mixmood.data.pools.pool import Labels, Pool

WAYS = (
    "a sub-folder for each class, two or more (cat/1.jpg, dog/2.jpg); a table labels.csv with the "
    "columns path and label in the folder of the images; a column label of a CSV or Parquet file "
    "(another column: FILE.csv?label=COLUMN); an array labels in an .npz file, or in Python a pair "
    "(X, y); a Hugging Face data set with a ClassLabel; or COCO or YOLO annotations with one class "
    "for each image"
)


def needed_labels(pool: Pool, role: str = "labelled set") -> Labels:
    """The classes of a pool's images; without any, an InputError names the ways to give them."""
    if pool.labels is None:
        why = pool.why_unlabelled
        because = " ".join([*getattr(pool, "notes", ()), *([why] if why else [])])
        raise InputError(
            f"The {role} {pool.name} has no classes. {because + ' ' if because else ''}"
            f"Give them in one of these ways: {WAYS}."
        )
    return pool.labels


def minus_one_note(names: tuple[str, ...]) -> str:
    """A sentence for classes that seem to mark images without a class by -1; empty for others.

    With two classes, -1 and 1 are the two, as many tools write them.

    >>> minus_one_note(("-1", "1"))
    ''
    """
    if "-1" not in names or len(names) < 3:
        return ""
    return "The label -1 is a class like the others. Put images without a class into the pool."
