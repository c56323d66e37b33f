"""The runs of docs/replication.md."""
