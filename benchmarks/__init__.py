"""How fast mixmood is, against what it should be compared with: `python -m benchmarks`."""
