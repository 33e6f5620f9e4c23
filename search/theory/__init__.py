"""Game tree search in plain, readable Python: what the kernels are held to, and what the explorer shows.

Read it in this order; every module is short and says what it adds to the one before.

1. From an early-stopping minimum to alpha-beta: `smallest_depth`.
2. The definition: `games` (what a game is), `minimax`, `negamax`.
3. Pruning: `alphabeta` (fail-hard and fail-soft), `pvs`, `aspiration`.
4. What an engine adds: `horizon` (a depth and a guess), `table`, `ordering`, `enhanced`, `deepening`.
5. Values that are no numbers: `lattices`, `finite_lattice`, `lattice_text` (by name), `lattice_search`.
6. Trees to look at: `trees`, `tree_text`, `json_text`, `generate`, `orders`; how little can be enough: `counting`.
7. Games to play: `tictactoe`, `connect_four`, `plain_chess`; `chess_game` and `exchange` are the kernels' own game.
8. Watching a search at work: `watch`, `events`, `recorder`; `algorithms` runs any of them on any tree, `run_text`
   prints what it did, `deep` makes room for trees of 2000 plies.

What all this saves is counted by `bench.claims`.
"""
