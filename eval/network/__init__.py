"""The network: its file, and its evaluation as kernels that follow the moves of a line."""
