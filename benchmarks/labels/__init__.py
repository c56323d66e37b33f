"""Evidence for `check` and `next`: wrong labels that are found, and images that are labelled."""
