"""The presets: commented TOML files, each with its command, its time and what to expect."""

PRESETS = (
    "paper",
    "paper-frozen",
    "paper-tuned",
    "dose",
    "paper-small",
    "paper-small-labelled",
    "digits",
    "digits-labelled",
    "smoke",
)
