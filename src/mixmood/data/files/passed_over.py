"""Files of a pool that are skipped because they are not images, counted by suffix."""

from collections import Counter

from mixmood.data.decoding.avif import CONVERT_HEIC
from mixmood.data.files.names import is_foreign_folder, is_image_name, shown_bytes

COMPANIONS = frozenset(
    b"csv db htm html ini json jsonl lst md md5 names pdf py sha256 toml tsv txt url xml yaml "
    b"yml".split()
)
"""Suffixes of texts that are often stored beside images; they are not counted."""

ARCHIVES = frozenset(b"7z bz2 gz rar tar tgz xz zip zst".split())
ADVICE = {
    b"heic": CONVERT_HEIC,
    b"heif": CONVERT_HEIC.replace("heic", "heif"),
    b"svg": "a drawing: render it to PNG first",
    **dict.fromkeys(
        ARCHIVES, "an archive inside a pool is not opened: unpack it or give it as a pool"
    ),
}
"""Advice about some kinds of files, by their suffix without the dot."""

MOST_KINDS = 1000
N_NAMED = 5
LONGEST_SUFFIX = 12


class PassedOver:
    """The number of files that are not images, without hidden files and plain texts."""

    def __init__(self) -> None:
        """Start with no files."""
        self._counts: Counter[bytes] = Counter()

    def add(self, name: bytes) -> None:
        """Count a file by its name without its folder.

        Images, plain texts, hidden files (their names start with a dot) and files without a suffix
        are not counted.
        """
        stem, dot, suffix = name.rpartition(b".")
        suffix = suffix.lower()
        if not dot or not stem or name.startswith(b".") or suffix in COMPANIONS:
            return
        if not is_image_name(name) and (suffix in self._counts or len(self._counts) < MOST_KINDS):
            self._counts[suffix] += 1

    def add_path(self, path: bytes) -> None:
        """Count a path inside an archive, unless it is in a foreign folder."""
        *folders, name = path.split(b"/")
        if name and not any(map(is_foreign_folder, folders)):
            self.add(name)

    def counts(self) -> dict[str, int]:
        """The number of files by suffix, the most frequent first."""
        order = sorted(self._counts.items(), key=lambda found: (-found[1], found[0]))
        return {shown_bytes(suffix[:LONGEST_SUFFIX]): count for suffix, count in order}

    def notes(self) -> tuple[str, ...]:
        """One sentence about the files that were passed over; empty if there are none."""
        return passed_over_notes(self.counts())


def passed_over_notes(counts: dict[str, int]) -> tuple[str, ...]:
    """One sentence about the files that were passed over; empty if there are none.

    >>> passed_over_notes({"svg": 2, "xyz": 1})[0]
    '3 files were passed over: 2 .svg (a drawing: render it to PNG first), 1 .xyz.'
    """
    if not counts:
        return ()
    named = []
    for suffix, count in list(counts.items())[:N_NAMED]:
        advice = ADVICE.get(suffix.encode())
        named.append(f"{count} .{suffix}" + (f" ({advice})" if advice else ""))
    total, n_more = sum(counts.values()), len(counts) - N_NAMED
    more = f" and {n_more} other kinds" if n_more > 0 else ""
    files = "file was" if total == 1 else "files were"
    return (f"{total} {files} passed over: {', '.join(named)}{more}.",)
