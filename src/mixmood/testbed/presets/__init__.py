"""The presets: commented TOML files, each with its command, its time and what to expect."""

PRESETS = ("paper", "paper-frozen", "dose", "paper-small", "digits", "smoke")
