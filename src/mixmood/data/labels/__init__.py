"""The classes of images, from where people have them."""
