"""The network: its file format, and the kernels that evaluate with it and update it move by move."""
