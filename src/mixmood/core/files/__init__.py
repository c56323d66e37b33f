"""Bounded reads, atomic writes, locks, and the directories of the user."""
