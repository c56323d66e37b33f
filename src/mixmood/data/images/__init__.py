"""What an image of a pool is: interface, names, labels, decoding. It knows no reader."""
