"""How the engine learns from its own games: data, tuning, networks. Nothing that plays imports this."""
