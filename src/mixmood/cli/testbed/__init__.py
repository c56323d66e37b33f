"""`mixmood testbed` and its sub-commands."""
