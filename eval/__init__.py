"""The static evaluation: kernels, the network's file format, and custom evaluations."""
