"""Contents of the site: an entry that is a folder becomes all pages in it, `index.md` first."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Called by mkdocs with its configuration."""
    config["nav"] = [_filled(entry, Path(config["docs_dir"])) for entry in config["nav"]]
    return config


def _filled(entry: dict[str, Any], docs: Path) -> dict[str, Any]:
    ((title, place),) = entry.items()
    if not isinstance(place, str) or not place.endswith("/"):
        return entry
    return {title: [{f"All {title.lower()}": f"{place}index.md"}, *pages_in(docs, place)]}


def pages_in(docs: Path, place: str) -> list[dict[str, str]]:
    """The pages of a folder but for its index, by name."""
    names = sorted(path.stem for path in (docs / place).glob("*.md") if path.stem != "index")
    return [{name: f"{place}{name}.md"} for name in names]
