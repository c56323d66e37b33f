"""Charts, marks and number formats that pages and tables share."""
