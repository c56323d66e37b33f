"""Records in, pages and tables out; computes nothing."""
