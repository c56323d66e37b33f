"""The runs of docs/replication.md as files of the repository: published from stores, and restored.

    python -m benchmarks.replication.records publish STORES [NAME]
    python -m benchmarks.replication.records restore STORES [NAME]

A test bed NAME has its store in STORES/NAME and its finished runs in results/replication/NAME, one
row of `records.csv.gz` each, with all arms. Unfinished stores are published as far as they are, and
a store that does not exist is restored: runs go on where they ended, on any machine. Both need the
image packs (MIXMOOD_DATA), because runs with other data or settings are not the same runs.
"""

import argparse
from pathlib import Path

from benchmarks.testbed.restore import keys_of, records_in, restore
from mixmood.core.errors import OutputError
from mixmood.core.files import make_folder, write_atomic
from mixmood.core.text import counted
from mixmood.report.testbed.export import records_csv_gz
from mixmood.testbed.cells import runs
from mixmood.testbed.config import Config, load_config
from mixmood.testbed.record import RunRecord
from mixmood.testbed.store import HEAD, Store

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "results" / "replication"
CENTRAL = "paper-code-small"


def beds() -> dict[str, Config]:
    """All test beds of the page, by name: the preset of the central table, and the files here."""
    files = sorted(HERE.glob("*.toml"))
    return {CENTRAL: load_config(CENTRAL)} | {path.stem: load_config(str(path)) for path in files}


def published(name: str, results: Path = RESULTS) -> list[RunRecord]:
    """The published runs of a test bed; none if it has no file."""
    folder = results / name
    return records_in(folder) if (folder / "records.csv.gz").exists() else []


def publish(name: str, config: Config, store: Store, results: Path = RESULTS) -> str:
    """Write the finished runs of a store; returns how many there are.

    Runs of another protocol or of other data are left out. A store that lacks published runs is
    refused: they would be lost.
    """
    keys = keys_of(config)
    found = [record for record in store.records() if record.key in keys]
    before = {record.key for record in published(name, results)} & keys
    n_lost = len(before - {record.key for record in found})
    if n_lost:
        raise OutputError(
            f"{store.folder} lacks {counted(n_lost, 'run')} of {results / name}. Move it "
            "elsewhere, restore, and run the test bed again."
        )
    if found:
        make_folder(results / name)
        write_atomic(results / name / "records.csv.gz", records_csv_gz(found))
    n_failed = len(store.failures())
    return f"{name}: {len(found)} of {counted(len(runs(config)), 'run')}; {n_failed} failed."


def main() -> None:
    """Publish or restore one test bed, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("publish", "restore"))
    parser.add_argument("stores", type=Path)
    parser.add_argument("name", nargs="?", choices=list(beds()))
    given = parser.parse_args()
    for name, config in beds().items():
        if given.name not in (None, name):
            continue
        place = given.stores / name
        has_store = (place / HEAD).exists()
        if given.verb == "publish" and has_store:
            print(publish(name, config, Store(place)))
        elif given.verb == "restore" and not has_store and (RESULTS / name).exists():
            n_made, n_rows = restore(RESULTS / name, place, config)
            print(f"{name}: {n_made} of {n_rows} published runs restored.")


if __name__ == "__main__":
    main()
