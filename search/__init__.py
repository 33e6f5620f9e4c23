"""The search: alpha-beta, transposition table, move ordering, quiescence, time management, iterative deepening."""
