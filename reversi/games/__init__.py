"""The games: rules as kernels over two 64-bit masks, and `Position` for people.  See README.md for the map."""
