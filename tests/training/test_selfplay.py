"""Self-play: legal moves, endings and results as python-chess sees them, and the engine's own search."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import decode, write_board
from eval.training.generation import Player, Settings
from eval.training.kernels.records import ENDINGS, STANDARD, VARIANTS
from search.deepening import Deepening, Root, set_root
from search.kernels.transposition import allocate_table
from search.kernels.worker import new_worker
from search.limits import MAX_DEPTH
from search.searcher import Game
from tests.training.conftest import QUICK, Record, play, replayed, start_of

LONG = (1 << 15) - 1


def ending_of(record: Record) -> str:
    return ENDINGS[int(record.game[0]["ending"])]


def streak(scores: Any, holds: Callable[[int], bool]) -> int:
    """How many of the last scores in a row satisfy a condition."""
    count = 0
    for score in reversed(scores.tolist()):
        if not holds(score):
            break
        count += 1
    return count


def test_every_game_ends_by_the_rules_or_by_adjudication(records: list[Record], lines: list[list[chess.Board]]) -> None:
    """python-chess plays every game through: legal moves, no end before the end, and the right result."""
    seen = set()
    for record, boards in zip(records, lines, strict=True):
        for board in boards[:-1]:
            assert any(board.generate_legal_moves())
            assert not board.is_insufficient_material()
            assert board.halfmove_clock < 100
        assert max(Counter(board._transposition_key() for board in boards[:-1]).values()) < 3
        last, scores = boards[-1], record.plies["score"]
        result = int(record.game[0]["result"])
        ending = ending_of(record)
        seen.add(ending)
        if ending == "checkmate":
            assert last.is_checkmate()
            assert result == (0 if last.turn == chess.WHITE else 2)
        elif ending == "won by score":
            sign = 1 if result == 2 else -1
            assert result != 1
            assert streak(scores * sign, lambda score: score >= QUICK.win_score) == QUICK.win_plies
        else:
            assert result == 1
        if ending == "stalemate":
            assert last.is_stalemate()
        elif ending == "repetition":
            assert [board._transposition_key() for board in boards].count(last._transposition_key()) == 3
        elif ending == "fifty-move rule":
            assert last.halfmove_clock >= 100
            assert any(last.legal_moves)
        elif ending == "insufficient material":
            assert last.is_insufficient_material()
        elif ending == "drawn by score":
            level = streak(scores, lambda score: abs(score) <= QUICK.draw_score)
            assert level >= QUICK.draw_plies
            assert int(record.game[0]["opening"]) + len(scores) >= QUICK.draw_from + QUICK.draw_plies
        elif ending == "length":
            assert len(scores) == QUICK.max_plies
    assert {"won by score", "repetition"} <= seen


BY_THE_RULES = {"checkmate", "stalemate", "repetition", "fifty-move rule", "insufficient material", "length"}


@pytest.mark.parametrize(
    ("changed", "ending"),
    [
        ({"win_score": 40_000, "draw_score": -1}, BY_THE_RULES),
        ({"max_plies": 10}, {"length"}),
        ({"win_score": 100, "win_plies": 1}, {"won by score", "repetition", "drawn by score", "insufficient material"}),
        ({"draw_score": 1000, "draw_plies": 1, "draw_from": 0}, {"drawn by score"}),
    ],
)
def test_rules_can_be_set(changed: dict[str, int], ending: set[str]) -> None:
    games = play(replace(QUICK, **changed), 8)  # type: ignore[arg-type]
    assert {ending_of(record) for record in games} <= ending
    if "max_plies" in changed:
        assert {len(record.plies) for record in games} == {10}


def test_openings_are_random_and_not_decided(records: list[Record]) -> None:
    standard = [record for record in records if int(record.game[0]["variant"]) == STANDARD]
    assert {int(record.game[0]["opening"]) for record in records} == {8, 9}
    for record in records:
        board = start_of(record.game)
        # Eight plies: White to move; nine: Black. Either side may begin an endgame.
        is_endgame = VARIANTS[int(record.game[0]["variant"])] == "endgame"
        assert is_endgame or board.turn == (int(record.game[0]["opening"]) % 2 == 0)
        assert board.status() == chess.STATUS_VALID
        assert abs(int(record.plies[0]["score"])) <= QUICK.opening_score
    assert len({start_of(record.game).epd() for record in standard}) == len(standard)


def test_openings_with_a_decisive_score_are_dropped() -> None:
    wild = replace(QUICK, opening_least=20, opening_most=30)
    before = [abs(int(record.plies[0]["score"])) for record in play(replace(wild, opening_score=40_000), 30)]
    after = [abs(int(record.plies[0]["score"])) for record in play(replace(wild, opening_score=200), 30)]
    assert max(before) > 1000
    assert max(after) <= 200


def test_random_moves_replace_only_quiet_best_moves() -> None:
    """Games with and without random moves part where both moves are quiet and the side to move is not in check."""
    best, other = play(QUICK, 12), play(replace(QUICK, random_percent=100), 12)
    for record, again in zip(best, other, strict=True):
        assert record.game["start"] == again.game["start"]
        boards, moves = replayed(record), record.plies["move"].tolist()
        changed = again.plies["move"].tolist()
        parting = next(ply for ply, pair in enumerate(zip(moves, changed, strict=False)) if pair[0] != pair[1])
        assert record.plies["score"][: parting + 1].tolist() == again.plies["score"][: parting + 1].tolist()
        board = boards[parting]
        assert not board.is_check()
        for move in (decode(moves[parting]), decode(changed[parting])):
            assert not board.is_capture(move)
            assert move.promotion is None
        replayed(again)


def test_chess960_starts() -> None:
    """A game of no random plies starts where Chess960 starts; dfrc gives the sides arrays of their own."""
    for variant, alike in (("standard", True), ("chess960", True), ("dfrc", False)):
        games = play(replace(QUICK, variant=variant, opening_least=0, opening_most=0, max_plies=1), 12)
        boards = [start_of(record.game) for record in games]
        ranks = {(board.fen().split("/")[0], board.fen().split()[0].split("/")[7].lower()) for board in boards}
        assert all(board.status() == chess.STATUS_VALID for board in boards)
        assert all(board.castling_rights.bit_count() == 4 for board in boards)
        assert all(VARIANTS[int(record.game[0]["variant"])] == variant for record in games)
        assert (len(ranks) == 1) == (variant == "standard")
        assert all(black == white for black, white in ranks) == alike
        if variant == "chess960":
            assert all(board.chess960_pos() is not None for board in boards)


def test_endgame_starts() -> None:
    """They have few pieces, often balanced, and neither king is in check."""
    games = play(replace(QUICK, variant="endgame", opening_least=0, opening_most=0, max_plies=1), 40)
    boards = [start_of(record.game) for record in games]
    for board, record in zip(boards, games, strict=True):
        assert board.status() == chess.STATUS_VALID
        assert not board.is_check()
        assert 4 <= len(board.piece_map()) <= 10
        assert not board.castling_rights
        assert VARIANTS[int(record.game[0]["variant"])] == "endgame"
    assert {board.turn for board in boards} == {chess.WHITE, chess.BLACK}
    assert len({board.epd() for board in boards}) == 40


def test_a_game_depends_on_nothing_but_its_number() -> None:
    one, other = Player(QUICK), Player(QUICK)
    forward = [one.play(index) for index in range(6)]
    backward = [other.play(index) for index in reversed(range(6))]
    for (game, plies), (game_again, plies_again) in zip(forward, reversed(backward), strict=True):
        assert game.tobytes() == game_again.tobytes()
        assert plies.tobytes() == plies_again.tobytes()
    assert len({game.tobytes() for game, _ in forward}) == 6
    reseeded = Player(replace(QUICK, seed=2)).play(0)
    assert reseeded[0].tobytes() != forward[0][0].tobytes()


def test_positions_of_trees_are_quiet_and_mostly_off_the_game() -> None:
    player = Player(replace(QUICK, tree_nodes=300))
    trees, of_games, off = 0, set(), 0
    for index in range(3):
        games, plies = player.play(index)
        again = Player(replace(QUICK, tree_nodes=300)).play(index)
        assert (games.tobytes(), plies.tobytes()) == (again[0].tobytes(), again[1].tobytes())
        count = int(games[0]["plies"])
        of_games |= {board.epd() for board in replayed(Record(games[:1], plies[:count]))}
        assert ENDINGS[int(games[0]["ending"])] != "tree"
        assert len(games) - 1 == len(plies) - count <= count
        for head, ply in zip(games[1:], plies[count:], strict=True):
            assert (int(head["plies"]), int(head["result"])) == (1, int(games[0]["result"]))
            assert ENDINGS[int(head["ending"])] == "tree"
            record = Record(np.array([head]), np.array([ply]))
            board, after = replayed(record)
            move = after.piece_map().keys() - board.piece_map().keys()
            assert len(after.piece_map()) == len(board.piece_map())
            assert len(move) == 1 or board.castling_rights != after.castling_rights
            assert not board.is_check()
            assert int(head["opening"]) >= int(games[0]["opening"])
            trees, off = trees + 1, off + (board.epd() not in of_games)
    assert trees > 100
    assert off > trees // 2


# --------------------------------------------------------------------------------------------------------------
# The search in it
# --------------------------------------------------------------------------------------------------------------


def worker_of(player: Player) -> Any:
    """The worker of a player, as its last search left it."""
    return player._worker


def settings_for(plies: int, soft: int, hard: int) -> Settings:
    """Settings for one search after so many random plies."""
    quick = replace(QUICK, soft_nodes=soft, hard_nodes=hard, max_plies=1)
    return replace(quick, opening_least=plies, opening_most=plies, opening_score=40_000)


@pytest.mark.parametrize("plies", [0, 9, 30, 80])
@pytest.mark.parametrize("nodes", [2000, 33_333])
def test_it_thinks_as_the_engine_does(plies: int, nodes: int) -> None:
    """Same nodes, same move, same score as the engine's own iterative deepening, cut off where it would be."""
    # The first iteration looks at the root moves in the order in which the engine has to get them.
    first = Player(settings_for(plies, 1, 1 << 39))
    start, _ = first.play(0)
    frame = worker_of(first)["stack"][0]
    moves = frame["tried"][: int(frame["tried_count"])].tolist()
    assert len(moves) == worker_of(first)["root_count"]
    player = Player(settings_for(plies, nodes, nodes))
    game, (ply,) = player.play(0)
    assert game["start"] == start["start"]

    board = start_of(game)
    root = Root(Game(board).keys, moves, 1, MAX_DEPTH)
    expected = new_worker()
    write_board(board, expected["stack"][0]["position"])
    expected["keys"][0] = root.keys[0]
    set_root(expected, root, nodes)
    for found in Deepening(expected, allocate_table(1), root).iterations():  # noqa: B007 - the last one is compared
        if expected["nodes"] >= nodes:
            break
    assert int(worker_of(player)["nodes"]) == int(expected["nodes"])
    assert (int(ply["move"]), int(ply["score"]) * (1 if board.turn else -1)) == (found.line[0], found.score)


def test_soft_and_hard_limits() -> None:
    def nodes(soft: int, hard: int) -> int:
        player = Player(settings_for(9, soft, hard))
        player.play(0)
        return int(worker_of(player)["nodes"])

    assert nodes(5000, 5000) == 5000
    assert 5000 <= nodes(5000, 40_000) < 40_000
    assert nodes(5000, 6000) <= 6000
    # The first iteration is always finished: there must be a move and a score.
    assert nodes(1, 1) > 1


INTERPRETED = """
import json, sys, warnings
warnings.simplefilter("error")
from engine.compiler.jit import INTERPRETED
from tests.training.test_selfplay import short_games
assert INTERPRETED
print(json.dumps(short_games()))
"""


def short_games() -> list[list[str]]:
    """The bytes of two games of a few plies and nodes."""
    quick = Settings(soft_nodes=1, hard_nodes=60, max_plies=3)
    games = [Player(replace(quick, variant=variant)).play(0) for variant in ("standard", "dfrc")]
    return [[game.tobytes().hex(), plies.tobytes().hex()] for game, plies in games]


def test_interpreted_games_are_the_compiled_ones(run_python: Callable[..., str]) -> None:
    assert json.loads(run_python(INTERPRETED, NUMBA_DISABLE_JIT="1")) == short_games()
