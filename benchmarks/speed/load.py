"""How time and memory of `rank` grow with its input: `python -m benchmarks.speed.load`.

    python -m benchmarks.speed.load                  all cases, up to a million files
    python -m benchmarks.speed.load pools zip        these alone
    python -m benchmarks.speed.load --most 10000     no case larger than this

Every row is one process, without a cache; its peak memory is that of the operating system. Growth
is relative to the row above: the size, the processor time and the memory, each as a factor.
Processor time is the sum over threads, and is the same on a busy and on an idle machine.
"""

import argparse
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measuring.material import LOOKS, small_jpegs
from benchmarks.measuring.processes import Cost, cost, rank_command
from benchmarks.speed.commands import linked_pool

N_LABELLED, N_IMAGES = 160, 160


class Material:
    """A few images on disk, from which large sets are made."""

    def __init__(self, root: Path) -> None:
        """Make the images that all cases share."""
        self.root = root
        self.labelled = small_jpegs(root / "labelled", N_LABELLED, seed=1)
        self.base = small_jpegs(root / "base", 500)

    def files(self, n_files: int) -> list[str]:
        """One pool of so many files in folders."""
        pool = linked_pool(self.root / f"files{n_files}", self.base, n_files)
        return rank_command(self.labelled, {"pool": pool}, "none")

    def pools(self, n_pools: int) -> list[str]:
        """So many pools of 160 files at once."""
        looks = [small_jpegs(self.root / f"{n_pools}{look}", 500, look) for look in LOOKS]
        pools = {
            f"pool{number}": linked_pool(
                self.root / f"pools{n_pools}" / str(number), looks[number % len(looks)], N_IMAGES
            )
            for number in range(n_pools)
        }
        return rank_command(self.labelled, pools, "none")

    def features(self, n_pools: int) -> list[str]:
        """So many pools of 160 rows of features: the statistics alone, of all measures."""
        folder = self.root / f"features{n_pools}"
        folder.mkdir()
        rng = np.random.default_rng(0)
        for number in range(n_pools + 1):
            rows = rng.normal(0.01 * number, 1, (N_IMAGES, 1280)).astype(np.float32)
            np.save(folder / f"pool{number}.npy", rows)
        pools = {f"pool{n}": folder / f"pool{n}.npy" for n in range(1, n_pools + 1)}
        command = rank_command(folder / "pool0.npy", pools, "none")
        return [*command, "--measure", "all"]

    def zip(self, n_images: int) -> list[str]:
        """One zip archive of so many images."""
        path = self.root / f"{n_images}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in self._members(n_images):
                archive.writestr(name, content)
        return rank_command(self.labelled, {"pool": path}, "none")

    def tar(self, n_images: int) -> list[str]:
        """One tar archive of so many images."""
        import io
        import tarfile

        path = self.root / f"{n_images}.tar"
        with tarfile.open(path, "w") as archive:
            for name, content in self._members(n_images):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return rank_command(self.labelled, {"pool": path}, "none")

    def labels(self, n_labelled: int) -> list[str]:
        """A labelled set of so many files against the same pool."""
        labelled = linked_pool(self.root / f"labelled{n_labelled}", self.base, n_labelled)
        pool = self.root / "against"
        if not pool.exists():
            linked_pool(pool, self.base, 500)
        return rank_command(labelled, {"pool": pool}, "none")

    def _members(self, n_images: int) -> Iterator[tuple[str, bytes]]:
        contents = [path.read_bytes() for path in sorted(self.base.iterdir())]
        for number in range(n_images):
            content = contents[number % len(contents)]
            yield f"{number // 1000:03}/{number:06}.jpg", content


CASES: dict[str, tuple[str, Callable[[Material, int], list[str]], tuple[int, ...]]] = {
    "files": ("files in the pool", Material.files, (10_000, 100_000, 1_000_000)),
    "pools": ("pools at once, of 160 files", Material.pools, (1, 20, 200)),
    "features": ("pools at once, of features", Material.features, (1, 20, 200)),
    "zip": ("images in a zip", Material.zip, (1_000, 100_000)),
    "tar": ("images in a tar", Material.tar, (1_000, 100_000)),
    "labels": ("labelled images", Material.labels, (10, 1_000, 100_000)),
}


def growth(size: int, now: Cost, before: tuple[int, Cost] | None) -> str:
    """The factors against the smaller case; nothing for the first one."""
    if before is None:
        return ""
    n_before, then = before
    time, memory = now.cpu_s / then.cpu_s, now.peak_mb / then.peak_mb
    return f"size x {size / n_before:g}, time x {time:.2f}, memory x {memory:.2f}"


def main() -> None:
    """Print one row for each size of each case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.load")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(CASES)}")
    parser.add_argument("--most", type=int, default=10**9, help="leave out larger cases")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(CASES))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    print("| what | size | time | processor | peak memory | growth |", flush=True)
    print("|---|---:|---:|---:|---:|---|", flush=True)
    for name in asked.names or CASES:
        what, command_for, sizes = CASES[name]
        before = None
        with tempfile.TemporaryDirectory(prefix="mixmood-load-") as folder:
            material = Material(Path(folder))
            for size in (size for size in sizes if size <= asked.most):
                now = cost(command_for(material, size))
                grown = growth(size, now, before)
                times = f"{now.elapsed_s:.1f} s | {now.cpu_s:.1f} s"
                print(
                    f"| {what} | {size:,} | {times} | {now.peak_mb:.0f} MB | {grown} |", flush=True
                )
                before = size, now


if __name__ == "__main__":
    sys.exit(main())
