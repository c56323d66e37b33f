"""Controlled contamination: which images are labelled, unlabelled and tested on."""
