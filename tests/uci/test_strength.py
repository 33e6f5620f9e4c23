"""Limited strength: what the options weaken, and that a weakened engine still follows the protocol."""

from __future__ import annotations

import chess
import pytest

from search.strength import FULL_SKILL, LEVELS, MAX_ELO, MIN_ELO, level_at
from tests.uci.conftest import Engine

MIDDLEGAME = "position fen r2q1rk1/pp2bppp/2n1bn2/2pp4/3P4/1P2PN2/PB1NBPPP/R2Q1RK1 w - - 4 11"
CLOCK = "go wtime 600000 btime 600000"


def limit(engine: Engine, elo: int) -> None:
    engine.send("setoption name UCI_LimitStrength value true", f"setoption name UCI_Elo value {elo}")


def answer(engine: Engine, go: str = CLOCK) -> tuple[str, int]:
    """The move, with which the last line shown begins, and the nodes that were searched."""
    best = engine.best("debug on", go)
    first = [info for info in engine.infos() if info["multipv"] == "1"][-1]
    assert first["pv"].split()[0] == best
    (nodes,) = (line.split()[3] for line in engine.lines if line.endswith(" ms") and " nodes in " in line)
    return best, int(nodes)


def test_nodes_grow_with_the_rating_and_not_with_the_clock(engine: Engine) -> None:
    engine.send(MIDDLEGAME)
    taken = []
    for level in LEVELS:
        limit(engine, level.elo)
        taken.append(answer(engine)[1])
    engine.send("ucinewgame")
    assert answer(engine, "go wtime 9000000 btime 9000000")[1] == taken[-1] == LEVELS[-1].nodes
    assert taken == sorted(taken)


def test_the_rating_goes_before_the_skill_level(engine: Engine) -> None:
    engine.send(MIDDLEGAME, "setoption name Skill Level value 0")
    weak = answer(engine)[1]
    limit(engine, MAX_ELO)
    assert answer(engine)[1] == LEVELS[-1].nodes > weak
    engine.send("setoption name UCI_LimitStrength value false", "setoption name Skill Level value 19", "ucinewgame")
    assert answer(engine)[1] == LEVELS[-1].nodes


def test_without_them_the_search_is_the_usual_one(engine: Engine) -> None:
    engine.send(MIDDLEGAME)
    usual = answer(engine, "go depth 10")
    engine.send("setoption name Skill Level value 3")
    assert answer(engine)[1] < usual[1]
    engine.send(f"setoption name Skill Level value {FULL_SKILL}", f"setoption name UCI_Elo value {MAX_ELO}")
    engine.send("ucinewgame")
    assert answer(engine, "go depth 10") == usual


@pytest.mark.parametrize("go", ["go infinite", "go mate 3", "analyse"])
def test_analysis_has_full_strength(engine: Engine, go: str) -> None:
    limit(engine, MIN_ELO)
    engine.send(MIDDLEGAME)
    if go == "analyse":
        engine.send("setoption name UCI_AnalyseMode value true")
        go = "go nodes 50000"
    engine.send(go)
    engine.expect("info depth 9 ")
    engine.send("stop")
    engine.expect("bestmove")
    assert int(engine.infos()[-1]["nodes"]) > 4 * LEVELS[0].nodes


def test_pondering_is_silent_until_the_hit(engine: Engine) -> None:
    limit(engine, MIN_ELO)
    engine.send("debug on", "setoption name Ponder value true", "go ponder wtime 60000 btime 60000")
    engine.expect(f"info string debug: plays at a level {level_at(MIN_ELO).describe()}")
    while " nodes in " not in engine.expect("info"):
        pass  # until its nodes are searched
    assert not any(line.startswith("bestmove") for line in engine.said())
    engine.best("ponderhit")


@pytest.mark.parametrize("go", ["movetime 20", "wtime 1 btime 1", "nodes 1", "depth 1", "searchmoves a2a3 wtime 1000"])
def test_every_form_of_go_ends_in_a_move(engine: Engine, go: str) -> None:
    limit(engine, MIN_ELO)
    best, nodes = answer(engine, f"go {go}")
    assert chess.Move.from_uci(best) in chess.Board().legal_moves
    assert best == "a2a3" or "searchmoves" not in go
    assert nodes == 1 or "nodes" not in go


def test_games_of_the_weakest_vary(engine: Engine) -> None:
    limit(engine, MIN_ELO)
    played = set()
    for _ in range(15):
        engine.send("ucinewgame", "position startpos")
        played.add(answer(engine)[0])
    assert len(played) > 1
