"""The compiled search: kernels, and the records that they work on."""
