"""Thousands of FENs, good and bad: the engine accepts what python-chess accepts and refuses the rest with a reason."""

from __future__ import annotations

import itertools

import pytest

from engine.uci.positions import PositionKeeper
from search.limits import Limits
from search.searcher import Searcher
from tests.uci.fuzz.fens import check, fens
from tests.uci.fuzz.model import judged

COUNT = 2000


def test_verdicts_are_those_of_python_chess() -> None:
    """The engine also searches some of the FENs that it accepts."""
    keeper, searcher = PositionKeeper(), Searcher(1)
    taken = refused = 0
    for fen, chess960 in itertools.islice(fens(seed=1), COUNT):
        if not check(keeper, fen, chess960):
            refused += 1
            continue
        taken += 1
        if taken % 20 == 0:
            best = searcher.search(keeper.game, Limits(nodes=50)).best
            legal = set(keeper.game.board.legal_moves)
            assert best in legal if legal else best is None, fen
    searcher.close()
    assert min(taken, refused) > COUNT // 6


@pytest.mark.parametrize(
    ("fen", "chess960", "is_good"),
    [
        # What is tolerated: three checkers, a check that no move can have given, rights and squares that do not fit.
        ("4k3/8/8/8/1b5b/8/4r3/4K3 w - - 0 1", False, True),
        ("4k3/8/8/8/1b5b/8/8/4K3 w - - 0 1", False, True),
        ("4k3/8/8/8/8/8/8/4K3 w KQkq - 0 1", False, True),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", False, True),
        # A clock beyond any game, and beyond what a machine word holds.
        ("4k3/8/8/8/8/8/8/4K2R w K - 300 400", False, True),
        (f"4k3/8/8/8/8/8/8/4K2R w K - {10**30} {10**30}", False, True),
        # Fields that are missing at the end have their usual values.
        ("4k3/8/8/8/8/8/8/4K2R w K", False, True),
        # Marks of promoted pieces mean nothing, on a king either.
        ("4k~3/8/8/8/8/8/8/4K~2Q~ w - - 0 1", False, True),
        ("~4k3/8/8/8/8/8/8/4K3 w - - 0 1", False, False),
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1 more", False, False),
        ("4k3/8/8/8/8/8/8/4K2R w K - 1e1 1", False, False),
        ("4k3/9/8/8/8/8/8/4K2R w K - 0 1", False, False),
        ("PPPPPPPP/PPPPPPPP/8/8/8/8/k7/7K w - - 0 1", False, False),
        ("4k3/8/8/8/8/8/8/4K1R1 w G - 0 1", True, True),
        ("4k3/8/8/8/8/8/8/4K1R1 w GG - 0 1", True, True),
        ("4k3/8/8/8/8/8/8/4K1R1 w GFE - 0 1", True, False),
    ],
)
def test_edges(fen: str, chess960: bool, is_good: bool) -> None:
    assert (judged(fen, chess960) is not None) == is_good
    keeper = PositionKeeper()
    assert check(keeper, fen, chess960) == is_good
    if is_good and any(keeper.game.board.legal_moves):
        searcher = Searcher(1)
        result = searcher.search(keeper.game, Limits(depth=4))
        searcher.close()
        assert result.best in set(keeper.game.board.legal_moves)
        assert result.info is not None
        assert abs(result.info.score) < 15_000
