"""Sets of images of one size, as uint8 tensors: in memory, or read when they are needed."""

from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mixmood.core.arrays import Rows
from mixmood.core.errors import ShapeError
from mixmood.ssl.input.pictures import PictureReader


class Images(ABC):
    """A set of images of one height, width and number of channels."""

    is_streamed: bool
    shape: tuple[int, int, int]
    """Channels, height, width."""

    @abstractmethod
    def __len__(self) -> int:
        """How many images there are."""

    @abstractmethod
    def batch(self, rows: Rows) -> Tensor:
        """The images asked for, uint8, (n, channels, height, width), channels last in memory."""

    @abstractmethod
    def fingerprint(self) -> bytes | memoryview:
        """Bytes that change when the images do."""

    def prefetch(self, rows: Rows) -> None:  # noqa: B027 - most sets have nothing to prepare
        """Say which images will be asked for next."""

    def to(self, device: torch.device) -> "Images":
        """The same images; those kept in memory are moved to the device."""
        return self


class MemoryImages(Images):
    """Images kept as one tensor."""

    is_streamed = False

    def __init__(self, pixels: Tensor) -> None:
        """Keep `pixels`, uint8, shape (n, height, width, channels)."""
        self._pixels = pixels
        n_images, height, width, channels = pixels.shape
        self._n_images = n_images
        self.shape = (channels, height, width)

    def __len__(self) -> int:
        """How many images there are."""
        return self._n_images

    def batch(self, rows: Rows) -> Tensor:
        """The images asked for, channels last in memory."""
        index = torch.from_numpy(rows).to(self._pixels.device)
        return self._pixels.index_select(0, index).permute(0, 3, 1, 2)

    def fingerprint(self) -> memoryview:
        """The pixels themselves, not copied: a pool may fill half of the memory."""
        return self._pixels.cpu().numpy().reshape(-1).data

    def to(self, device: torch.device) -> "MemoryImages":
        """The same images on a device."""
        return MemoryImages(self._pixels.to(device))


class StreamedImages(Images):
    """Images decoded when they are needed; the next batch is decoded during the current update."""

    is_streamed = True

    def __init__(self, reader: PictureReader) -> None:
        """Read pictures with `reader`, which resizes all of them to one size."""
        self._reader = reader
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-images")
        self._next: tuple[bytes, Future[NDArray[np.uint8]]] | None = None
        height, width = reader.size
        self.shape = (3, height, width)

    def __len__(self) -> int:
        """How many images there are."""
        return len(self._reader)

    def batch(self, rows: Rows) -> Tensor:
        """The images asked for; an unreadable one is replaced by the next readable one."""
        prefetched, self._next = self._next, None
        if prefetched is not None and prefetched[0] == rows.tobytes():
            pixels = prefetched[1].result()
        else:
            pixels = self._reader.stack(rows)
        return torch.from_numpy(pixels).permute(0, 3, 1, 2)

    def prefetch(self, rows: Rows) -> None:
        """Begin to read these images in the background."""
        self._next = (rows.tobytes(), self._worker.submit(self._reader.stack, rows))

    def fingerprint(self) -> bytes:
        """The digest of the pool and the size of the resized images."""
        return f"{self._reader.fingerprint} {self.shape}".encode()


def as_images(images: Images | NDArray[Any], what: str) -> Images:
    """`Images` unchanged, or those of a uint8 array of shape (n, h, w) or (n, h, w, 1 or 3)."""
    if isinstance(images, Images):
        return images
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ShapeError(
            f"{what} must be a uint8 array of shape (n, height, width) or (n, height, width, "
            f"channels); got {images.dtype} of shape {images.shape}. Convert the images first."
        )
    pixels = images if images.ndim == 4 else images[..., None]
    if pixels.shape[3] not in (1, 3):
        raise ShapeError(
            f"{what} must have 1 or 3 channels, in the last place; got shape {images.shape}. "
            "Move or convert the channels first."
        )
    return MemoryImages(torch.from_numpy(np.ascontiguousarray(pixels)))
