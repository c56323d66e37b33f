"""Write docs/cli.md from the help of every command: .venv/bin/python scripts/write_cli_page.py"""

import os
import re
import textwrap
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
WIDTH = 80

HEAD = """\
# Commands

This page is what `--help` prints, without examples and types; `scripts/write_cli_page.py` writes
it, a test keeps it true. An option that was described for a command above is only named.
`mixmood --debug COMMAND` shows the traceback of an error.

Results go to stdout, progress and warnings to stderr. The exit code is 0 (done), 1 (failed),
2 (misused) or 130 (ended by Ctrl-C). On a terminal the table has colours, unless `NO_COLOR` is set;
elsewhere it is plain text.

| variable | what it sets |
|---|---|
| `MIXMOOD_CACHE` | the directory of the feature cache; `none` for no cache |
| `MIXMOOD_CACHE_MB` | how large the cache may grow; 2048 if not set |
| `MIXMOOD_DATA` | the folder of the paper's data sets |
"""


def all_helps(command: Any, name: str = "") -> dict[str, str]:
    """The help of a command and of all commands below it, by name; the program's is ''."""
    info = f"mixmood {name}".strip()
    # The width of help must not depend on who asks.
    os.environ["TERMINAL_WIDTH"] = str(WIDTH)
    with command.make_context(info, [], resilient_parsing=True, max_content_width=WIDTH) as context:
        context.terminal_width = WIDTH
        helps = {name: command.get_help(context)}
    for word, child in getattr(command, "commands", {}).items():
        helps |= all_helps(child, f"{name} {word}".strip())
    return helps


def page() -> str:
    """The page as it should be."""
    import typer

    from mixmood.cli.main import app

    parts = [HEAD]
    known: set[str] = set()
    for name, text in all_helps(typer.main.get_command(app)).items():
        if name and "Commands:" in text:
            continue  # what the commands of a group do stands in their own parts
        if name:
            text = re.sub(r"  Example: .*?\n\n", "", text, flags=re.DOTALL)
        else:
            text = re.sub(r"Options:\n.*?\n\n", "", text, flags=re.DOTALL)
        # The default shows of which type a value is.
        text = re.sub(r" <(str|int|float|path|list\[str\])>", lambda m: " " * len(m[0]), text)
        lines = "\n".join(line.rstrip() for line in new_options(text, known).splitlines()).strip()
        parts.append(f"## mixmood {name}".rstrip() + f"\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def new_options(text: str, known: set[str]) -> str:
    """The help of a command with only the names of options that are `known`; learns the others."""
    before, heading, options = text.partition("Options:\n")
    shown, repeated = [], []
    for option in re.split(r"\n(?=  -)", options):
        words = " ".join(option.split()).replace("- ", "-")  # words broken at hyphens
        if words in known:
            repeated.append(re.findall(r"--[\w-]+", words)[0])
        else:
            known.add(words)
            shown.append(option)
    if repeated:
        named = textwrap.wrap(f"As above: {', '.join(repeated)}", WIDTH - 2, break_on_hyphens=False)
        shown.append("\n".join(f"  {line}" for line in named))
    return before + heading + "\n".join(shown)


if __name__ == "__main__":
    PAGE.write_text(page())
