"""Makes the checkout's modules available as one package `secateur`. An installed Secateur omits this folder."""
