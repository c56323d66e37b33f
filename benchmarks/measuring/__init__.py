"""How a case is run in a process of its own, measured, and its outcome kept."""
