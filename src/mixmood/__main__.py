"""The entry point of the command line; `python -m mixmood` is `mixmood`."""

import signal


def main() -> None:
    """Run the command.

    The commands are imported here and not above, so that Ctrl-C ends the process without a word
    while they are: Python would print a traceback of its importer.
    """
    is_python = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_python:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from mixmood.cli.main import main as run

    if is_python:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
