"""What pools of named files have in common, be they folders, archives or lists."""

from functools import cached_property

from mixmood.data.files.names import Names, shown_bytes
from mixmood.data.labels.folder_names import labels_from_folders
from mixmood.data.pools.pool import ImageSource, Labels


class PathSource(ImageSource):
    """A pool whose images have paths; a kind of pool lists them and reads them.

    They are in the order of their names, the same in a folder and in an archive of its files, so
    that no result depends on the order of a listing. Only a list of paths keeps its own order.
    """

    _names: Names

    def __len__(self) -> int:
        """How many images were listed."""
        return len(self._names)

    def locate(self, index: int) -> str:
        """The path inside the pool."""
        return shown_bytes(self._names[index])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the paths; no image is read."""
        return self._names.digest()

    @cached_property
    def labels(self) -> Labels | None:
        """The classes by the names of folders; see `labels_from_folders`."""
        return labels_from_folders(self._names)
