"""Training on the engine's own games: self-play, data files and networks. The playing engine never imports it."""
