"""What makes one package `secateur` of the checkout's modules. Not part of an installed Secateur."""
