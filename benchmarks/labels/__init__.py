"""How well wrong labels are found, and how good the images to label next are."""
