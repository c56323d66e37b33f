"""The problem that heads are fitted to, and how they are fitted."""
