"""Scores every image of a pool of any size; finished parts are kept if the process is killed."""
