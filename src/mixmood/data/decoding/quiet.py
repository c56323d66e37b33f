"""Warnings of Pillow and pydicom, silenced while images are decoded."""

import logging
import threading
import warnings

LOG = logging.getLogger("pydicom")


class _Quiet:
    """Silences Pillow's and pydicom's warnings while any thread decodes.

    `warnings.catch_warnings` alone is not thread-safe: if two threads left it in the wrong order,
    the filters of the process would stay changed. Here the first thread that enters sets the
    filter, and the last thread that leaves restores it. Only warnings raised inside these packages
    are silenced. Warnings and log messages of pydicom quote headers, which contain names of
    patients. Setting the filter takes as long as opening a small image: code that decodes many
    images should enter once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._saved: warnings.catch_warnings[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._n_inside += 1
            if self._n_inside == 1:
                self._saved = warnings.catch_warnings()
                self._saved.__enter__()
                warnings.filterwarnings("ignore", module=r"(PIL|pydicom)(\.|$)")
                LOG.disabled = True

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._saved is not None:
                LOG.disabled = False
                self._saved.__exit__(None, None, None)
                self._saved = None


QUIET = _Quiet()
