"""Makes one package `secateur` of the checkout's modules. It is not part of an installed Secateur."""
