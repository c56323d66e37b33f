"""Features and archive indexes, kept between runs for all processes of a user."""
