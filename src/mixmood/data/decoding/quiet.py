"""Warnings of Pillow and pydicom, silenced while images are decoded."""

import logging
import threading
import warnings

LOG = logging.getLogger("pydicom")


class _Quiet:
    """Silences Pillow's and pydicom's warnings while any thread decodes.

    `warnings.catch_warnings` alone is not safe here: two threads leaving it in the wrong order
    would leave the filters of the whole process changed. The first one in sets the filter, the
    last one out restores; only warnings raised inside these packages are touched. Those of
    pydicom, and its log, quote headers, which hold names of patients. Setting the filter takes as
    long as opening a small image, so that code which decodes many stays inside.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._saved: warnings.catch_warnings[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._saved = warnings.catch_warnings()
                self._saved.__enter__()
                warnings.filterwarnings("ignore", module=r"(PIL|pydicom)(\.|$)")
                LOG.disabled = True

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._saved is not None:
                LOG.disabled = False
                self._saved.__exit__(None, None, None)
                self._saved = None


QUIET = _Quiet()
