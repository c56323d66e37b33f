"""The presets: TOML files; comments give the command, the time and the expected numbers."""

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
