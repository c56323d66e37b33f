"""What commands share: options, progress bars and streams."""
