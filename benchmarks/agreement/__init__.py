"""Whether commands that say something about the same pool say the same."""
