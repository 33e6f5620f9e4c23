"""Training on the engine's own games: self-play, data files and networks. Playing does not import this package."""
