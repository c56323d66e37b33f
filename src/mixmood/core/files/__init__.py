"""Bounded reads, atomic writes, locks, and the directories of a user."""
