"""The games: rules as kernels over two 64-bit masks, and `Position` with colours and names.  See README.md."""
