"""What pools of named files have in common, be they folders or archives."""

from functools import cached_property

from mixmood.core.arrays import Rows
from mixmood.data.names import Names, labels_from_folders, printable
from mixmood.data.source import ImageSource, Labels


class PathSource(ImageSource):
    """A pool whose images have paths; a kind of pool lists them and reads them."""

    _names: Names

    def __len__(self) -> int:
        """How many images were listed."""
        return len(self._names)

    def locate(self, index: int) -> str:
        """The path inside the pool."""
        return printable(self._names[index])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the paths; no image is read."""
        return self._names.digest()

    @cached_property
    def labels(self) -> Labels | None:
        """The classes that the folders tell; see `labels_from_folders`."""
        return labels_from_folders(self._names)


class PackedSource(PathSource):
    """The images of an archive: they have the order in which someone happened to pack them."""

    def by_name(self) -> Rows | None:
        """The order that the same files have in a folder."""
        return self._names.order()

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the paths, that of a folder with the same files."""
        return Names.sorted(self._names).digest()
