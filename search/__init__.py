"""Alpha-beta and what surrounds it: table, ordering, quiescence, time, iterative deepening."""
