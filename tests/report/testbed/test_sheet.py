"""Sheets in every form, and names that try to leave their cell."""

import pytest

from mixmood.core.errors import OptionError
from mixmood.report.testbed.sheets import Sheet, Word, render_sheet, to_csv

SHEET = Sheet("T & t", ["a_b", "c"], [[Word("x|y"), Word("1 %", True, True)]], ["note"])


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("text", "T & t\n\na_b  c\n---  -----\nx|y  1 %*~\n\nnote\n"),
        ("markdown", "**T & t**\n\n| a_b | c |\n| --- | --- |\n| x\\|y | _**1 %**_ |\n\nnote\n"),
    ],
)
def test_a_sheet_is_written_in_every_form(form, text):
    assert render_sheet(SHEET, form) == text


def test_latex_is_escaped():
    text = render_sheet(SHEET, "latex")
    assert r"T \& t" in text
    assert r"a\_b & c \\" in text
    assert r"\textit{\textbf{1 \%}}" in text


EVIL = "a\\b{c}$d^e~f<g>|h\n\\input{x}\r`*![i](http://j)"


def test_a_name_can_neither_leave_its_cell_nor_command_latex():
    text = render_sheet(Sheet("T", ["a"], [[Word(EVIL)]]), "latex")
    row = next(line for line in text.splitlines() if line.startswith("a\\textbackslash"))
    assert row == (
        r"a\textbackslash{}b\{c\}\$d\textasciicircum{}e\textasciitilde{}f\textless{}g"
        r"\textgreater{}\textbar{}h \textbackslash{}input\{x\} `*![i](http://j) \\"
    )


def test_a_name_can_neither_leave_its_cell_nor_be_markup_in_markdown():
    text = render_sheet(Sheet("T", ["a", "b"], [[Word(EVIL), Word("x")]]), "markdown")
    row = text.splitlines()[4]
    assert row == r"| a\\b{c}$d^e~f&lt;g>\|h \\input{x} \`\*![i]\(http://j) | x |"


def test_a_name_stays_on_its_line_in_text():
    assert render_sheet(Sheet("T", ["a"], [[Word("b\nc")]]), "text").splitlines()[-1] == "b c"


def test_an_unknown_form_is_refused():
    with pytest.raises(OptionError, match="Unknown format 'pdf'"):
        render_sheet(SHEET, "pdf")


def test_an_interval_has_two_columns_in_csv():
    rows = [{"measure": "js", "r_interval": (-0.5, 0.25)}, {"measure": "l1", "r_interval": None}]
    assert to_csv(rows).splitlines() == ["measure,r_low,r_high", "js,-0.5,0.25", "l1,,"]
