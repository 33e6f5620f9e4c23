"""Game tree search in plain, readable Python: what the kernels are held to."""
