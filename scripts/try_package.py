"""Install the wheel of dist/ alone, in an empty environment outside the checkout, and use it there.

    python scripts/try_package.py [PYTHON...]

For each Python (this one by default) it installs the wheel with the versions of constraints.txt,
prints its size, seconds and processor time, and checks that no extra (torch, onnx, mlflow, ...) was
installed. Then it runs `mixmood demo`; `rank`, `filter`, `train` and `predict` on small pictures;
the trained `model.onnx` in plain ONNX Runtime; the Python blocks of README.md; and `mypy --strict`
on a user's program (once, by this Python's mypy).
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IN_WHEEL = (
    "mixmood/py.typed",
    "mixmood/features/backbones/weights/efficientnet_lite0.onnx",
    "mixmood/testbed/presets/smoke.toml",
    "mixmood/testbed/paper/table1_accuracy.csv",
)
PREPARE = """
import pathlib, zipfile
from PIL import Image
from sklearn.datasets import load_digits
data = load_digits()
pixels = (data.images / 16 * 255).astype("uint8")
def save(folder, rows):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for row in rows:
        Image.fromarray(pixels[row]).resize((32, 32)).save(folder / f"{row}.png")
for digit in range(5):
    save(f"labelled/{digit}", (data.target == digit).nonzero()[0][:12])
save("scans", (data.target < 5).nonzero()[0][200:300])
save("crawl", (data.target > 4).nonzero()[0][:100])
with zipfile.ZipFile("crawl.zip", "w") as archive:
    for path in sorted(pathlib.Path("crawl").iterdir()):
        archive.write(path, path.name)
"""

EXTRAS = ("torch", "onnx", "mlflow", "ray", "datasets", "pyarrow", "transformers", "pydicom")
CORE_ALONE = f"""
from importlib.util import find_spec
found = [name for name in {EXTRAS} if find_spec(name)]
assert not found, found
"""
COMMANDS = (
    "rank labelled scans crawl.zip --json rank.json --html rank.html",
    "filter labelled crawl.zip --out kept.csv",
    "train --labelled labelled --unlabelled scans --out run",
    "predict --model run scans --csv classes.csv",
)
PLAIN_RUNTIME = """
import csv, json, sys
import numpy as np, onnxruntime
from PIL import Image
session = onnxruntime.InferenceSession("run/model.onnx", providers=["CPUExecutionProvider"])
known = json.loads(session.get_modelmeta().custom_metadata_map["mixmood"])
rows = list(csv.DictReader(open("classes.csv")))
size = known["width"], known["height"]
images = [Image.open("scans/" + row["image"]).convert("RGB") for row in rows]
pixels = np.stack([np.asarray(one.resize(size, Image.Resampling.BILINEAR)) for one in images])
ours = [[float(row["p_" + name]) for name in known["class_names"]] for row in rows]
worst = np.abs(session.run(["probabilities"], {"images": pixels})[0] - ours).max()
assert worst < 1e-4, worst
assert "mixmood" not in sys.modules
print(f"{len(rows)} images, probabilities differ from those of predict by at most {worst:.0e}")
"""


def main(pythons: list[str]) -> None:
    """Try the package; the first failure ends with its output."""
    wheel = _only("*.whl")
    _only("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in IN_WHEEL if name not in names]
    foreign = [n for n in names if not n.startswith(("mixmood/", "mixmood-"))]
    if missing or foreign:
        sys.exit(f"The wheel lacks {missing}, and has {foreign[:3]} that do not belong in it.")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(names)} files")
    for number, python in enumerate(pythons or [sys.executable]):
        with tempfile.TemporaryDirectory(prefix="mixmood-package-") as folder:
            _try(python, wheel, Path(folder), is_first=number == 0)


def _try(python: str, wheel: Path, folder: Path, *, is_first: bool) -> None:
    _run([python, "-m", "venv", folder / "env"], folder)
    own = folder / "env" / "bin" / "python"
    before, start, used = _size(folder / "env"), time.perf_counter(), _processor_s()
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "-c", ROOT / "constraints.txt", wheel], folder)
    took_s, used_s = time.perf_counter() - start, _processor_s() - used
    size = _size(folder / "env") - before
    version = _run([own, "-c", "import platform; print(platform.python_version())"], folder)
    print(
        f"Python {version.strip()}: installed in {took_s:.0f} s ({used_s:.0f} s of the processor, "
        f"load {os.getloadavg()[0]:.0f}), {size / 1e6:.0f} MB"
    )
    place = _run([own, "-c", "import mixmood; print(mixmood.__file__)"], folder)
    if not Path(place.strip()).is_relative_to(folder):
        sys.exit(f"Another mixmood was found: {place}")
    _run([own, "-c", CORE_ALONE], folder)
    start = time.perf_counter()
    answer = _run([folder / "env" / "bin" / "mixmood", "demo"], folder)
    print(f"  mixmood demo: {time.perf_counter() - start:.1f} s; {_verdict(answer)}")
    _run([own, "-c", PREPARE], folder)
    for words in COMMANDS:
        said = _run([folder / "env" / "bin" / "mixmood", *words.split()], folder)
        print(f"  mixmood {words.split()[0]}: {(said.strip().splitlines() or ['done'])[-1][:110]}")
    said = _run([own, "-c", PLAIN_RUNTIME], folder)
    print(f"  model.onnx in plain ONNX Runtime: {said.strip()}")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed = _run([own, "-c", "\n".join(blocks)], folder)
    print(f"  README: {len(blocks)} Python blocks; {printed.strip().splitlines()[-1]}")
    if is_first:
        _check_types(own, folder)


def _check_types(own: Path, folder: Path) -> None:
    sample = folder / "user_sample.py"
    sample.write_text((ROOT / "tests" / "package" / "user_sample.py").read_text())
    said = _run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", own, sample], folder
    )
    print(f"  mypy --strict on a user's program: {said.strip()}")


def _verdict(answer: str) -> str:
    """The first line behind the table."""
    return answer.partition("\n\n")[2].partition("\n")[0]


def _only(pattern: str) -> Path:
    found = list((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        sys.exit(f"dist/ must hold one {pattern}; it has {len(found)}. Run make dist.")
    return found[0]


def _run(words: list, folder: Path) -> str:
    """What a command prints; it sees nothing of the checkout and has caches of its own."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "MIXMOOD_CACHE")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**kept, "MIXMOOD_CACHE": str(folder / "cache"), "MYPY_CACHE_DIR": str(folder / "my")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))[:200]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main(sys.argv[1:])
