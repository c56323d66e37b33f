"""The errors of mixmood. A message says what was wanted, what came, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager


class MixmoodError(Exception):
    """Base of all errors that a user can cause; the command line prints it without a traceback."""

    exit_code = 1


class OptionError(MixmoodError):
    """An option, name or value that a command or function does not take."""

    exit_code = 2


class InputError(MixmoodError):
    """A pool, file or array that cannot be used as it is."""


class ShapeError(InputError):
    """Arrays whose shapes or types do not fit together."""


class UnreadableImageError(InputError):
    """One image that cannot be read; readers count it, name it and go on."""


class BackboneError(MixmoodError):
    """A feature extractor that cannot be loaded or does not fit."""


class TrainingError(MixmoodError):
    """A training run that cannot start or cannot go on."""


class OutputError(MixmoodError):
    """A result that cannot be written where it was asked for."""


class MissingExtraError(MixmoodError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        """Say which extra brings the feature, and how to install it."""
        super().__init__(
            f"{feature} needs packages that are not installed. "
            f"Install them with: pip install 'mixmood[{extra}]'"
        )


@contextmanager
def needing(feature: str, extra: str) -> Iterator[None]:
    """Within, a package that is not installed is a MissingExtraError."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(feature, extra) from None


def reason(error: BaseException) -> str:
    """The cause in one line: the system's text for a system error, else the error's text."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:300].rstrip(". ")


@contextmanager
def errors_as(
    kind: type[MixmoodError], start: str, advice: str = "", names_class: bool = False
) -> Iterator[None]:
    """Turn any error within into one of ours: `start`, then the reason, then `advice`.

    Damaged files raise many kinds of errors in the libraries that read them. Errors of mixmood
    stay as they are. With `names_class` the message names the class, as for errors of a network.
    """
    try:
        yield
    except MixmoodError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {reason(error)}" if names_class else reason(error)
        raise kind(f"{start}: {why}. {advice}".rstrip()) from error
