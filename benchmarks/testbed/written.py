"""Tables written into a page that people wrote."""

import re
from collections.abc import Callable


def filled(text: str, tables: dict[str, Callable[[], list[str]]]) -> str:
    """A page with its tables as the records have them now.

    A table is between `<!-- NAME -->` and `<!-- end -->`; the text around it is not changed.
    """

    def block(match: re.Match[str]) -> str:
        name = match[1]
        if name not in tables:
            return match[0]
        return "\n".join([f"<!-- {name} -->", "", *tables[name](), "", "<!-- end -->"])

    return re.sub(r"<!-- ([a-z0-9 -]+?) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)
