"""Do `rank`, `filter` and `train` print the same numbers about the same pool?

`python -m benchmarks.agreement.commands [OUT.md]` makes folders of photographs and files of arrays
from the image packs (MIXMOOD_TEST_DATA), runs the commands with five seeds, and compares every
number that two of them give. It takes eight minutes on one core.
"""

import json
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from benchmarks.measuring.material import PACKS
from mixmood.cli.main import app

SEEDS = range(5)
N_LABELLED = 12
"""Labelled images of each class."""
N_CLASSES = 5
Statements = dict[tuple[str, str], dict[str, Any]]
"""What was said, by subject (a pool, or the labelled set) and quantity, by who said it."""


def photographs(folder: Path) -> dict[str, Path]:
    """Folders of breeds: labelled images, and pools of the same, of other and of both kinds."""
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(PACKS / "pets.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        breeds = sorted({name.split("/")[0] for name in names})
        by_breed = {
            breed: rng.permutation([n for n in names if n.startswith(f"{breed}/")]).tolist()
            for breed in breeds
        }
        own, others = breeds[-N_CLASSES:], breeds[-7:-N_CLASSES] + breeds[:2]
        labelled = [name for breed in own for name in by_breed[breed][:N_LABELLED]]
        more = [name for breed in own for name in by_breed[breed][N_LABELLED:]]
        foreign = [name for breed in others for name in by_breed[breed]]
        sets = {
            "labelled": labelled,
            "more": more[::2],
            "crawl": more[1::4] + foreign[::2],
            "breeds": foreign[1::2],
            "copies": labelled[:20] + more[3::4],
        }
        for name, members in sets.items():
            for member in members:
                path = folder / name / (member if name == "labelled" else Path(member).name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(member))
    return {name: folder / name for name in sets}


def arrays(folder: Path, images: np.ndarray, codes: np.ndarray) -> dict[str, Path]:
    """Files of images: the first classes are labelled; pools of the same, of other, of both."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(codes))
    rows = {code: order[codes[order] == code] for code in range(2 * N_CLASSES)}
    own = np.concatenate([rows[code][:N_LABELLED] for code in range(N_CLASSES)])
    more = rng.permutation(np.concatenate([rows[c][N_LABELLED:] for c in range(N_CLASSES)]))[:700]
    foreign = rng.permutation(np.concatenate([rows[c] for c in range(N_CLASSES, 10)]))[:700]
    pools = {
        "more": images[more[:350]],
        "crawl": images[np.concatenate([more[350:], foreign[:350]])],
        "others": images[foreign[350:]],
        "noise": rng.integers(0, 256, (200, *images.shape[1:]), dtype=np.uint8),
    }
    folder.mkdir()
    np.savez(folder / "labelled.npz", images=images[own], labels=codes[own])
    for name, pixels in pools.items():
        np.save(folder / f"{name}.npy", pixels)
    return {"labelled": folder / "labelled.npz"} | {n: folder / f"{n}.npy" for n in pools}


def made_sets(folder: Path) -> Iterator[tuple[str, dict[str, Path]]]:
    """The sets of each kind of images: "labelled" and the pools."""
    yield "photographs", photographs(folder / "photographs")
    digits = load_digits()
    pixels = (digits.images * 15.9).astype(np.uint8)
    yield "digits", arrays(folder / "digits", pixels, digits.target)
    with np.load(PACKS / "cifar10.npz") as pack:
        yield "cifar10", arrays(folder / "cifar10", pack["images"], pack["labels"])


def record_of(words: list[Any], file: Path) -> dict[str, Any]:
    """The record that a command writes into a file."""
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    if done.exit_code:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.output}")
    return json.loads(file.read_text()) | {"printed": done.stdout}


def ranked(words: list[Any], folder: Path) -> dict[str, Any]:
    """The record of `rank`; its answer is printed, and is the headline of its page."""
    file, page = folder / "rank.json", folder / "rank.html"
    record = record_of(["rank", *words, "--json", file, "--html", page], file)
    headline = page.read_text().split("<h1", 1)[1].split("</h1>")[0]
    record["headline"] = headline.split(">", 1)[1].strip()
    return record


class Compared:
    """Collects what commands say, and where they differ."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self.said: Statements = defaultdict(dict)

    def add(self, subject: str, who: str, **values: Any) -> None:
        """One command's numbers about one subject."""
        for quantity, value in values.items():
            self.said[subject, quantity][who] = value

    def pool(self, subject: str, who: str, probe: dict[str, Any], advice: str) -> None:
        """The gain of a pool and what to do with it."""
        numbers = {name: probe[name] for name in ("gain", "interval", "p_helps")}
        self.add(subject, who, **numbers, advice=advice)

    def rows(self) -> Iterator[tuple[str, int, int, list[str]]]:
        """For each quantity: how often it was compared, how often it differed, and where."""
        for quantity in dict.fromkeys(name for _, name in self.said):
            both = {s: v for (s, q), v in self.said.items() if q == quantity and len(v) > 1}
            differ = {s: v for s, v in both.items() if len({json.dumps(x) for x in v.values()}) > 1}
            n_pairs = sum(len(values) - 1 for values in both.values())
            yield quantity, n_pairs, len(differ), [f"{s}: {v}" for s, v in differ.items()]


def run_seed(sets: dict[str, Path], seed: int, folder: Path, compared: Compared) -> None:
    """All commands on the sets with one seed."""
    options = ["--cache", folder / "cache", "--seed", seed]
    labelled, pools = sets["labelled"], {k: v for k, v in sets.items() if k != "labelled"}
    every = [f"{name}={path}" for name, path in pools.items()]
    whole = f"seed {seed}"

    def about(who: str, record: dict[str, Any], names: dict[str, str]) -> None:
        """What `rank` says."""
        compared.add(whole, who, view=record["view"], supervised=record["labelled"]["accuracy"])
        for one in record["candidates"]:
            subject = f"{whole}, {names[one['name']]}"
            compared.pool(subject, who, one["probe"], one["advice"])
            compared.add(subject, who, share=one["useful_share"]["share"])
            compared.add(subject, who, share_interval=one["useful_share"]["interval"])

    def trained(who: str, words: list[Any]) -> dict[str, Any]:
        out = Path(tempfile.mkdtemp(dir=folder)) / "run"
        record = record_of(["train", labelled, *words, "--out", out, *options], out / "record.json")
        compared.add(whole, who, view=record["view"])
        for use in record["pools"]:
            compared.pool(f"{whole}, {use['name']}", who, use, use["advice"])
        return record

    first = ranked([labelled, *every, *options], folder)
    about("rank", first, {name: name for name in pools})
    compared.add(whole, "rank", answer=first["answer"])
    compared.add(whole, "page", answer=first["headline"])
    together = trained("train of all", every)
    used = [use["name"] for use in together["pools"] if use["n_used"]]
    compared.add(whole, "rank", used=sorted((first["union"] or {"pools": []})["pools"]))
    compared.add(whole, "train", used=sorted(used))
    alone = trained("train without a pool", [])
    supervised = {k: alone["accuracy"][k] for k in ("cross_validated", "interval")}
    named = first["labelled"]["accuracy"]
    compared.add(whole, "rank", accuracy=[named["value"], named["interval"]])
    compared.add(whole, "train without a pool", accuracy=list(supervised.values()))
    for name, path in pools.items():
        subject = f"{whole}, {name}"
        renamed = f"a pool called {name[::-1]}"
        found = ranked([labelled, f"{renamed}={path}", *options], folder)
        about("rank of one", found, {renamed: name})
        record = trained("train of one", [f"{name}={path}"])
        is_used = bool(record["pools"][0]["n_used"])
        compared.add(subject, "train of one", is_used=is_used)
        compared.add(subject, "rank of one", is_used=found["union"] is not None)
        if not is_used:
            found = [record["accuracy"]["cross_validated"], record["accuracy"]["interval"]]
            compared.add(whole, f"train with {name}", accuracy=found)
        file = folder / "filter.json"
        words = ["filter", labelled, path, "--out", folder / "kept.csv", "--json", file, *options]
        record = record_of(words, file)
        compared.add(whole, "filter", view=record["view"])
        share = record["useful_share"]
        compared.add(subject, "filter", share=share["share"], share_interval=share["interval"])
        if record["probe"]:
            compared.pool(
                subject, "filter", record["probe"]["whole"], record["probe"]["whole"]["advice"]
            )


def main(out: Path | None) -> None:
    """Run everything; print and write the table and every difference."""
    details, table = [], defaultdict(dict)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, sets in made_sets(folder):
            compared = Compared()
            for seed in SEEDS:
                run_seed(sets, seed, folder, compared)
                print(kind, seed, file=sys.stderr, flush=True)
            for quantity, n_pairs, n_differ, where in compared.rows():
                table[quantity][kind] = f"{n_differ} of {n_pairs}"
                details += [f"{kind}, {quantity}, {line}" for line in where]
    kinds = list(next(iter(table.values())))
    lines = [f"| differences in | {' | '.join(kinds)} |", "|---" * (1 + len(kinds)) + "|"]
    lines += [f"| {name} | {' | '.join(cells.values())} |" for name, cells in table.items()]
    print(*lines, *details, sep="\n")
    if out is not None:
        out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
