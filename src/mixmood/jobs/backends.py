"""The names of the backends on which jobs run."""

from mixmood.core.suggest import unknown_name

LOCAL, RAY = "local", "ray"
BACKENDS = (LOCAL, RAY)


def check_backend(name: str) -> None:
    """Refuse an unknown backend."""
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
