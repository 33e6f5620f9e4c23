"""From games to a network to the next generation's games, by the command lines that a user would type."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import chess
import pytest

from eval.network.format import network_digest, read_network_file
from eval.training.generation import Settings, generate
from eval.training.shards import ShardError, read_shard
from eval.training.statistics import verify
from tests.conftest import PROJECT
from tests.uci.conftest import Engine

GAMES = ["--nodes", "100", "--workers", "1"]
RECIPE = ["--hidden", "32", "--superbatches", "4", "--batch-size", "256", "--threads", "1", "--validation", "0.1"]


def run(*arguments: str | Path) -> str:
    """What a command says on stdout."""
    command = [sys.executable, str(PROJECT / "uci_main.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_generation(tmp_path: Path) -> None:
    first, network, second = tmp_path / "first", tmp_path / "first.snet", tmp_path / "second"

    run("datagen", first, "--games", "48", *GAMES)
    told = json.loads(run("train", first, "--output", network, *RECIPE, "--quiet", "--json"))
    engine = Engine()
    try:
        engine.send("uci", f"setoption name EvalFile value {network}", "isready", "go nodes 3000")
        said = engine.expect("info string network ")
        best = engine.expect("bestmove ")
        engine.send("quit")
        engine.finish(timeout=30)
    finally:
        engine.kill()
    run("datagen", second, "--games", "16", *GAMES, "--network", network)

    assert told["data"]["games"] == 48
    log = [json.loads(line) for line in (tmp_path / "first.training" / "log.jsonl").read_text().splitlines()]
    assert log[-1]["training"] < 0.9 * log[0]["training"]
    data, made = read_network_file(network)
    # Where the path is long, it is cut short.
    assert said.endswith(f": {made.describe()}")
    assert chess.Move.from_uci(best.split()[1]) in chess.Board().legal_moves
    shards = [read_shard(folder / "shard-000000.games") for folder in (first, second)]
    assert [(len(shard.games), shard.settings["network"]) for shard in shards] == [(48, ""), (16, network_digest(data))]
    for shard in shards:
        verify(shard)
    # The folder is that network's from now on.
    with pytest.raises(ShardError, match="was made with network "):
        generate(second, Settings(soft_nodes=100, hard_nodes=800), games=32)
