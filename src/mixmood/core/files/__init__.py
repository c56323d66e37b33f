"""Reading without trust, writing without halves, locks, and where a user keeps things."""
