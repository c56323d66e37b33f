"""Where jobs run, by the names of the command line."""

from mixmood.core.suggest import unknown_name

LOCAL, RAY = "local", "ray"
BACKENDS = (LOCAL, RAY)


def check_backend(name: str) -> None:
    """Refuse a backend that is not there."""
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
