"""What every page is made of: its frame, style, script and drawing macros."""
