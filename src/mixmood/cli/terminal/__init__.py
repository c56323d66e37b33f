"""Code that commands share: options, output files, progress bars and streams."""
