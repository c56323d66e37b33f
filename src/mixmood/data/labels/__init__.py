"""The classes of images: from folders, tables and annotations."""
