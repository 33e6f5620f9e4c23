"""How the engine learns from its own games: data, tuning, networks. The playing engine never imports this package."""
