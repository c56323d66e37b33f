"""Writes what `mixmood demo` prints into the pages that show it.

python scripts/write_demo_output.py
"""

import re
from pathlib import Path

from typer.testing import CliRunner

from mixmood.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "reading.md")
BLOCK = re.compile(r"(?<=^\$ mixmood demo\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run the demonstration once and write its output into every page."""
    result = CliRunner().invoke(app, ["demo"])
    if result.exit_code:
        raise SystemExit(result.output)
    shown = "\n".join(line.rstrip() for line in result.stdout.strip().splitlines()) + "\n"
    for page in PAGES:
        text, n_blocks = BLOCK.subn(lambda _: shown, page.read_text("utf-8"))
        if n_blocks != 1:
            raise SystemExit(f"{page.name} must show `$ mixmood demo` once; found {n_blocks}.")
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
