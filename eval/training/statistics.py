"""Counts the positions, results, endings, scores and phases of training data, and checks its games."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

import numpy as np

from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.memory import allocate
from eval.kernels.classical import FULL_PHASE
from eval.training.generation import Settings
from eval.training.kernels.checking import PROBLEMS, SOUND, check_games
from eval.training.kernels.records import ENDINGS, TREE, VARIANTS
from eval.training.samples import ALL, ANY_HALFMOVES, Filter, shard_samples
from eval.training.shards import Shard, ShardError, present_path

#: `statistics` counts the positions whose scores have an absolute value below each of these, in centipawns.
SCORE_EDGES: Final = (50, 100, 200, 400, 800, 1600)

#: The contribution of each piece code of a packed position to the game phase; code 7 is a rook that may castle.
_CODE_PHASE: Final = np.array([0, 0, 1, 1, 2, 4, 0, 2], np.int64)
#: The ranges of phases in the text of `statistics_text`.
_PHASES: Final = ((24, 24), (18, 23), (12, 17), (6, 11), (1, 5), (0, 0))

#: The length of the buffer of keys: enough for all positions of the longest game.
_MOST_KEYS: Final = 65_537


def statistics(shards: Iterable[Shard]) -> dict[str, Any]:
    """Returns a dictionary of counts over all shards: `shards`, `bytes`, `games`, `positions` and the following.

    `trees` counts the positions of search trees; `games`, `results`, `endings` and `variants` leave them out. `quiet`
    counts the positions that pass the default filter without its limit on the halfmove clock. `results`, `endings` and
    `variants` count games by name. `below` counts positions with |score| below each of SCORE_EDGES. `phases` lists the
    number of positions in each game phase, 0 to FULL_PHASE.
    """
    found = dict.fromkeys(("shards", "bytes", "games", "positions", "trees", "quiet"), 0)
    results, endings, variants = (np.zeros(size, np.int64) for size in (3, len(ENDINGS), len(VARIANTS)))
    below, phases = np.zeros(len(SCORE_EDGES), np.int64), np.zeros(FULL_PHASE + 1, np.int64)
    for shard in shards:
        games, samples = shard.games[shard.games["ending"] != TREE], shard_samples(shard, ALL)
        pieces = samples["position"]["pieces"]
        phase = (_CODE_PHASE[pieces & 7] + _CODE_PHASE[pieces >> 4 & 7]).sum(axis=1)
        scores = np.abs(samples["score"].astype(np.int64))
        found["shards"] += 1
        found["bytes"] += present_path(shard.path).stat().st_size
        found["games"] += len(games)
        found["positions"] += len(samples)
        found["trees"] += len(shard.games) - len(games)
        found["quiet"] += len(shard_samples(shard, Filter(halfmoves=ANY_HALFMOVES)))
        results += np.bincount(games["result"], minlength=len(results))
        endings += np.bincount(games["ending"], minlength=len(endings))
        variants += np.bincount(games["variant"], minlength=len(variants))
        below += np.array([np.count_nonzero(scores < edge) for edge in SCORE_EDGES])
        phases += np.bincount(np.minimum(phase, FULL_PHASE), minlength=len(phases))
    return {
        **found,
        "results": dict(zip(("black", "draw", "white"), results.tolist(), strict=True)),
        "endings": dict(zip(ENDINGS, endings.tolist(), strict=True)),
        "variants": dict(zip(VARIANTS, variants.tolist(), strict=True)),
        "below": dict(zip(SCORE_EDGES, below.tolist(), strict=True)),
        "phases": phases.tolist(),
    }


def statistics_text(found: dict[str, Any]) -> list[str]:
    """Formats the counts of `statistics` as lines of text."""
    positions, games = max(found["positions"], 1), max(found["games"], 1)
    size = f"{found['bytes'] / 1e6:.1f} MB, {found['bytes'] / positions:.2f} bytes a position"
    results = {"won by White": "white", "drawn": "draw", "won by Black": "black"}
    phases = [
        f"{sum(found['phases'][low : high + 1]) / positions:.1%} {low if low == high else f'{low}-{high}'}"
        for low, high in _PHASES
    ]
    return [
        f"shards     {found['shards']} ({size})",
        f"games      {found['games']}, {(found['positions'] - found['trees']) / games:.1f} plies each",
        f"positions  {found['positions']}, {found['quiet']} quiet ({found['quiet'] / positions:.1%}), "
        f"{found['trees']} of search trees",
        "results    " + _shares({name: found["results"][key] for name, key in results.items()}, games),
        "endings    " + _shares(found["endings"], games),
        "starts     " + _shares(found["variants"], games),
        "|scores|   " + ", ".join(f"{count / positions:.1%} < {edge}" for edge, count in found["below"].items()),
        "phases     " + ", ".join(phases) + "  (24: all pieces, 0: pawns only)",
    ]


def _shares(counts: dict[str, int], total: int) -> str:
    return ", ".join(f"{name} {count / total:.1%}" for name, count in counts.items() if count)


def verify(shard: Shard) -> None:
    """Replays every game and checks it by the shard's settings. Raises ShardError if a game or a setting is invalid."""
    try:
        # Older versions lack these settings. They made no random moves, and recorded positions of no tree or of all.
        found = {"random_percent": 0, "tree_nodes": 0, "tree_percent": 100, **shard.settings}
        settings = Settings(**{entry.name: found[entry.name] for entry in fields(Settings)})
    except KeyError as error:
        raise ShardError(f"{shard.path}: the setting {error.args[0]} is missing") from None
    except (TypeError, ValueError) as error:
        raise ShardError(f"{shard.path}: invalid settings: {error}") from None
    scratch = (
        allocate(POSITION, 2),
        np.zeros(MAX_MOVES, np.int32),
        np.zeros(_MOST_KEYS, np.uint64),
        np.zeros(3, np.int64),
    )
    place = np.zeros(2, np.int64)
    problem = int(check_games(shard.games, shard.plies, shard.first, settings.as_rules(), scratch, place))
    if problem != SOUND:
        raise ShardError(f"{shard.path}: game {place[0]}, ply {place[1]}: {PROBLEMS[problem]}")
