"""What Python users call: one module per command."""
