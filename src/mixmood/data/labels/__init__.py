"""The classes of images, from folder names, tables and annotations."""
