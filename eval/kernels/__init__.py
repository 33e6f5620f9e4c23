"""The kernels that evaluate a position: the classical evaluation, the network, and which of the two counts."""
