"""Classes of images all of whose objects are of one class, from annotations of COCO or YOLO."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from mixmood.core.errors import InputError, errors_as
from mixmood.data.images.labels import first_file, labels_from_words, lines_of
from mixmood.data.images.names import shown_name
from mixmood.data.images.pool import Labels

BESIDE_IMAGES = "_annotations.coco.json"  # lies in the folder of the images that it names
COCO_FILES = ("annotations/*.json", "*annotations*.json", f"*/{BESIDE_IMAGES}")
YOLO_LISTS = ("data.yaml", "dataset.yaml", "classes.txt", "obj.names")
MOST_JSON_BYTES = 256 * 2**20
_INLINE = re.compile(r"^names:\s*[\[{](.*)[\]}]$")
_ITEM = re.compile(r"^\s*(?:\d+\s*:|-\s)\s*.+$")
_NUMBERED = re.compile(r"(\d+)\s*:\s*(.+)")


def labels_from_coco(folder: Path, names: Sequence[bytes]) -> Labels | None:
    """The classes of images from COCO annotations; None unless every image has one class."""
    classes: dict[str, set[str]] = {}
    for pattern in COCO_FILES:
        for path in sorted(folder.glob(pattern)):
            beside = f"{path.parent.name}/" if path.name == BESIDE_IMAGES else ""
            for file, kind in _coco_pairs(path):
                classes.setdefault(beside + file.removeprefix("./"), set()).add(kind)
    if not classes:
        return None
    files = _annotated_files([_text(name) for name in names], classes)
    n_images = Counter(files)
    return _labels(classes[file] if file and n_images[file] == 1 else set() for file in files)


def _annotated_files(names: list[str], annotated: Collection[str]) -> list[str | None]:
    """The annotated file that each image is, by the longest common end of their paths.

    Their folder may be above or below that of the images. None if no file fits, or several do.

    >>> _annotated_files(["a/1.png", "a/2.png", "3.png"], ["1.png", "b/1.png", "2.png", "c/3.png"])
    ['1.png', '2.png', 'c/3.png']
    """
    by_end: dict[str, str | None] = {}
    for file in annotated:
        for end in _ends(file):
            by_end[end] = None if end in by_end else file
    by_end |= {file: file for file in annotated}
    return [next((by_end[end] for end in _ends(name) if end in by_end), None) for name in names]


def _ends(path: str) -> Iterator[str]:
    """A path without none, one, two ... of its first folders."""
    while path:
        yield path
        path = path.partition("/")[2]


def labels_from_yolo(folder: Path, names: Sequence[bytes]) -> Labels | None:
    """The classes of images from YOLO label files; None unless every image has one class.

    The label file of `images/train/1.jpg` is `labels/train/1.txt`. Each of its lines starts with
    the number of a class, whose name is in data.yaml or classes.txt.
    """
    if not (folder / "labels").is_dir() or not names or not names[0].startswith(b"images/"):
        return None
    kinds = yolo_names(folder)

    def classes(name: bytes) -> set[str]:
        text = folder / "labels" / (_text(name).removeprefix("images/").rpartition(".")[0] + ".txt")
        with errors_as(InputError, f"Cannot read the labels in {text}"):
            lines = lines_of(text) if text.exists() else iter([])
            numbers = {int(line.split()[0]) for line in lines if line.strip()}
        return {kinds.get(number, str(number)) for number in numbers}

    return _labels(map(classes, names))


def yolo_names(folder: Path) -> dict[int, str]:
    """The names of YOLO's classes by number; empty if there is no list of them."""
    if (path := first_file(folder, YOLO_LISTS)) is None:
        return {}
    with errors_as(InputError, f"Cannot read the classes in {path}"):
        lines = [line.decode("utf-8", "replace").rstrip() for line in lines_of(path)]
    if path.suffix != ".yaml":
        return dict(enumerate(line.strip() for line in lines if line.strip()))
    found: dict[int, str] = {}
    for place, item in enumerate(_yaml_names(lines)):
        numbered = _NUMBERED.fullmatch(item)
        number, word = (int(numbered[1]), numbered[2]) if numbered else (place, item)
        found[number] = word.strip("'\"")
    return found


def _yaml_names(lines: list[str]) -> Iterator[str]:
    """The items of `names`, written in one line or one a line, with their numbers if given."""
    is_inside = False
    for line in lines:
        line = line.partition(" #")[0].rstrip()
        if match := _INLINE.match(line):
            yield from (item.strip() for item in match[1].split(","))
        elif is_inside and _ITEM.match(line):
            yield line.strip().removeprefix("-").strip()
        else:
            is_inside = line.strip() == "names:"


def _coco_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """The file and the class of every object; empty for JSON of another kind."""
    with errors_as(InputError, f"Cannot read the labels in {path}"):
        if path.stat().st_size > MOST_JSON_BYTES:
            raise ValueError(f"it has more than {MOST_JSON_BYTES} bytes")
        content = json.loads(path.read_bytes())
    keys = ("images", "annotations", "categories")
    if not isinstance(content, dict) or not all(isinstance(content.get(k), list) for k in keys):
        return
    advice = "Annotations must refer to images and categories of the same file."
    with errors_as(InputError, f"Cannot read the labels in {path}", advice, names_class=True):
        files = {image["id"]: str(image["file_name"]) for image in content["images"]}
        kinds = {kind["id"]: str(kind["name"]) for kind in content["categories"]}
        for thing in content["annotations"]:
            if "category_id" in thing:
                yield files[thing["image_id"]], kinds[thing["category_id"]]


def _labels(classes: Iterable[set[str]]) -> Labels | None:
    words = []
    for found in classes:
        if len(found) != 1:
            return None
        words.append(shown_name(next(iter(found))).encode())
    return labels_from_words(words)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
