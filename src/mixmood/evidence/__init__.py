"""What labelled images tell about a pool: its gain, its useful share, and what to do with it."""
