"""The static evaluations: the classical one, networks and their training, and custom functions."""
