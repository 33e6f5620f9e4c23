"""Game tree search in plain, readable Python: the reference for the kernels, and the algorithms of the explorer.

Read the modules in this order. They are short, and later ideas build on earlier ones.

1. From an early-stopping minimum to alpha-beta: `smallest_depth`.
2. The definition: `games` (what a game is), `minimax`, `negamax`.
3. Pruning: `alphabeta` (fail-hard and fail-soft), `pvs`, `aspiration`.
4. What an engine adds: `horizon` (a limit on the depth), `table`, `ordering`, `enhanced`, `deepening`.
5. Values other than numbers: `lattices`, `finite_lattice`, `lattice_text` (lattices by name), `lattice_search`.
6. Explicit trees: `trees`, `tree_text`, `generate`, `orders`; the fewest leaves in a proof: `counting`.
7. Games: `tictactoe`, `connect_four`, `plain_chess`; `chess_game` and `exchange` define the kernels' game. An order
   that is learned before the search: `policy`.
8. Watching a search: `watch`, `events`, `recorder`; `algorithms` runs algorithms on trees; `run_text` formats a run.

`bench.commands.claims` counts the leaves that minimax and several forms of alpha-beta evaluate.
"""
