"""`python -m mixmood` is `mixmood`."""

from mixmood.cli.main import main

main()
