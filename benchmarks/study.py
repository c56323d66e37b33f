"""The words that every study of features is started with."""

import argparse
from pathlib import Path


def study_parser(text: str | None) -> argparse.ArgumentParser:
    """Takes the folder of features and the file of rows; `text` says what is studied."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("features", type=Path)
    parser.add_argument("rows", type=Path)
    return parser
