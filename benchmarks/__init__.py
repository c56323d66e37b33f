"""Speed and memory of mixmood compared with other tools and with limits: `python -m benchmarks`."""
