"""The kernels that evaluate a position: the classical evaluation, the network, and the choice between them."""
