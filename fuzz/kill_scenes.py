"""Commands to kill, and what must be true of their files afterwards."""

import json
import shutil
import sqlite3
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from PIL import Image

from fuzz.killing import run_to_end
from mixmood.core.cache import FILE_NAME
from mixmood.data.sets import digits, photo_patches

TIMES = ("elapsed_s", "images_per_s")


class Scene(ABC):
    """A command that is killed and started again, and the same command without kills."""

    def __init__(self, place: Path) -> None:
        """Make what the command needs in the folder `place`."""
        self.place = place
        self.killed, self.whole = place / "killed", place / "whole"
        for folder in (self.killed, self.whole):
            folder.mkdir()
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make the inputs."""

    @abstractmethod
    def command_in(self, folder: Path) -> list[str]:
        """The words after `mixmood` of the command that writes to a folder."""

    @abstractmethod
    def remember(self) -> None:
        """Read what the undisturbed command wrote."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What is wrong after a kill."""

    @abstractmethod
    def problems_at_end(self) -> list[str]:
        """What is wrong once the command has run to its end."""

    def command(self) -> list[str]:
        """The command to kill."""
        return self.command_in(self.killed)

    def whole_command(self) -> list[str]:
        """The same command, in another folder, to run to its end."""
        return self.command_in(self.whole)

    def begin_anew(self) -> None:
        """Delete the results, so that the command has work to do."""
        shutil.rmtree(self.killed)
        self.killed.mkdir()

    def n_leftovers(self) -> int:
        """Temporary files that killed processes left."""
        return len(list(self.killed.glob(".*")))


class CacheScene(Scene):
    """`rank` fills the feature cache."""

    def prepare(self) -> None:
        """Folders of small JPEGs."""
        self.labelled = _jpegs(self.place / "labelled", 16, 1)
        self.pool = _jpegs(self.place / "pool", 60, 2)

    def command_in(self, folder: Path) -> list[str]:
        """Rank the pool."""
        outputs = ["--cache", str(folder), "--json", str(folder / "ranking.json")]
        # Most of the time goes into reading images, which fills the cache.
        quick = ["--resolution", "64", "--measure", "l2", "--no-probe"]
        return ["rank", str(self.labelled), f"pool={self.pool}", "-q", *quick, *outputs]

    def remember(self) -> None:
        """All rows, and the ranking."""
        self.rows = _rows(self.whole / FILE_NAME)
        self.ranking = (self.whole / "ranking.json").read_bytes()

    def problems(self) -> list[str]:
        """The database is sound, and every row in it is as it should be."""
        path = self.killed / FILE_NAME
        if not path.exists():
            return []
        with sqlite3.connect(path) as db:
            (state,) = db.execute("PRAGMA integrity_check").fetchone()
        db.close()
        found = [] if state == "ok" else [f"cache: {state}"]
        rows = _rows(path) if state == "ok" else {}
        if rows.items() - self.rows.items():
            found.append("cache: rows that an undisturbed run has not")
        if (self.killed / f"{FILE_NAME}.damaged").exists():
            found.append("cache: set aside as damaged")
        return found

    def problems_at_end(self) -> list[str]:
        """The ranking is the same to the byte, and no row is missing."""
        is_same = (self.killed / "ranking.json").read_bytes() == self.ranking
        found = [] if is_same else ["cache: another ranking than undisturbed"]
        return found if _rows(self.killed / FILE_NAME) == self.rows else [*found, "cache: no rows"]


class ReportScene(Scene):
    """`rank` writes three reports over those of an earlier run with another seed."""

    def prepare(self) -> None:
        """Folders of a few JPEGs; all features soon are in the cache."""
        self.labelled = _jpegs(self.place / "labelled", 12, 1)
        self.pool = _jpegs(self.place / "pool", 12, 2)
        self.seed = 0
        self.known: dict[str, set[bytes]] = {}

    def command_in(self, folder: Path) -> list[str]:
        """Rank with the next seed."""
        self.seed = 1 - self.seed
        return self._command(folder, self.seed)

    def _command(self, folder: Path, seed: int) -> list[str]:
        outputs = [f"--{kind}={folder / f'report.{kind}'}" for kind in ("json", "csv", "html")]
        options = ["--cache", str(self.place / "cache"), "--seed", str(seed), "-q"]
        options += ["--resolution", "64", "--measure", "l2", "--no-probe"]
        return ["rank", str(self.labelled), f"pool={self.pool}", *options, *outputs]

    def remember(self) -> None:
        """The reports of both seeds; what differs between two runs is not compared."""
        self._look()  # at the reports of the undisturbed command
        run_to_end(self._command(self.whole, 1 - self.seed))
        self._look()

    def _look(self) -> None:
        for path in self.whole.iterdir():
            self.known.setdefault(path.name, set()).add(_lasting(path))

    def problems(self) -> list[str]:
        """Every report is that of one seed or the other, from its first byte to its last."""
        return [
            f"report: {path.name} is neither the old nor the new one"
            for path in self.killed.glob("report.*")
            if _lasting(path) not in self.known[path.name]
        ]

    def problems_at_end(self) -> list[str]:
        """All three are there."""
        names = {path.name for path in self.killed.glob("report.*")}
        return [] if names == set(self.known) else [f"report: only {sorted(names)}"]

    def begin_anew(self) -> None:
        """Nothing is deleted: the next run replaces the files."""


class TrainScene(Scene):
    """`train --resume` goes on from its checkpoints."""

    def prepare(self) -> None:
        """Digits with labels, a pool and test images."""
        images, labels = digits()
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(images))
        for name, part in (("labelled", rows[:40]), ("test", rows[40:80])):
            np.savez(self.place / f"{name}.npz", images=images[part], labels=labels[part])
        np.savez(self.place / "pool.npz", images=images[rows[80:140]])
        self.n_done = 0

    def command_in(self, folder: Path) -> list[str]:
        """Train a very small network for many short epochs."""
        inputs = [
            f"--{option}={self.place / name}.npz"
            for option, name in (("labelled", "labelled"), ("unlabelled", "pool"), ("test", "test"))
        ]
        size = ["--model", "wrn-tiny:groups=1,first_filters=8", "--epochs", "4", "--updates", "8"]
        return ["train", *inputs, *size, "--out", str(folder), "--resume"]

    def remember(self) -> None:
        """Weights and record, but for the times."""
        self.expected = _trained(self.whole)

    def problems(self) -> list[str]:
        """Every file can be read, and no epoch that was finished is lost."""
        import torch

        found = []
        checkpoint = self.killed / "checkpoint.pt"
        n_done = 0
        if checkpoint.exists():
            n_done = torch.load(checkpoint, weights_only=True)["n_done"]
        if n_done < self.n_done:
            found.append(f"train: {self.n_done} updates were done, and now {n_done}")
        self.n_done = n_done
        halves = (path for path in self.killed.glob("[!.]*") if not _is_whole(path))
        return found + [f"train: half of {path.name}" for path in halves]

    def problems_at_end(self) -> list[str]:
        """The same weights and the same record."""
        found = [] if _trained(self.killed) == self.expected else ["train: another result"]
        n_leftovers = self.n_leftovers()
        return [*found, f"train: {n_leftovers} leftovers"] if n_leftovers else found

    def begin_anew(self) -> None:
        """Nothing is done."""
        super().begin_anew()
        self.n_done = 0


SCENES: dict[str, type[Scene]] = {"cache": CacheScene, "report": ReportScene, "train": TrainScene}


def _jpegs(folder: Path, n_images: int, seed: int) -> Path:
    folder.mkdir()
    for number, patch in enumerate(photo_patches(n_images, 64, np.random.default_rng(seed))):
        Image.fromarray(patch).save(folder / f"{number:04}.jpg")
    return folder


def _rows(path: Path) -> dict[bytes, bytes]:
    db = sqlite3.connect(path)
    try:
        return dict(db.execute("SELECT key, row FROM features"))
    finally:
        db.close()


def _lasting(path: Path) -> bytes:
    """A report without what differs from run to run: of a page, only that it is whole."""
    content = path.read_bytes()
    return content.rstrip()[-7:] if path.suffix == ".html" else content


def _trained(folder: Path) -> tuple[str, list[bytes]]:
    import torch

    record = json.loads((folder / "record.json").read_text())
    for part in (record, *record["epochs"]):
        for word in TIMES:
            part.pop(word, None)
    weights = torch.load(folder / "model.pt", weights_only=True)
    return json.dumps(record, sort_keys=True), [w.numpy().tobytes() for w in weights.values()]


def _is_whole(path: Path) -> bool:
    import onnx
    import torch

    readers = {
        ".pt": lambda: torch.load(path, weights_only=True),
        ".onnx": lambda: onnx.checker.check_model(onnx.load(path)),
        ".json": lambda: json.loads(path.read_text()),
        ".jsonl": lambda: [json.loads(line) for line in path.read_text().splitlines()],
        ".png": lambda: Image.open(path).load(),
    }
    try:
        readers[path.suffix]()
    except Exception:
        # Whatever a reader says of half a file, it is half a file.
        return False
    return True
