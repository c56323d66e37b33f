"""The code that is common to pools of named files: folders, archives and lists."""

from functools import cached_property

from mixmood.data.files.names import Names, shown_bytes
from mixmood.data.labels.folder_names import images_without_class_folder, labels_from_folders
from mixmood.data.pools.pool import ImageSource, Labels


class PathSource(ImageSource):
    """A pool whose images have paths; subclasses list and read the images.

    The images are sorted by name, in a folder and in an archive of its files alike, so that no
    result depends on the order of a listing. Only a list of paths keeps its own order.
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
        """The classes from the names of folders; see `labels_from_folders`."""
        return labels_from_folders(self._names)

    @property
    def why_unlabelled(self) -> str:
        """A sentence about images beside the class folders; empty if there are none."""
        return images_without_class_folder(self._names) if self.labels is None else ""
