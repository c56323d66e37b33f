"""Independent calls spread over the cores of one machine, or over a Ray cluster."""
