"""The search as plain Python: the same nodes, moves and scores as compiled, and no overflow on the way."""

from collections.abc import Callable

SCRIPT = """
import warnings
warnings.simplefilter("error")
import chess
from engine.compiler.jit import INTERPRETED
from search.limits import Limits
from search.searcher import Game, Searcher
searcher = Searcher(1)
# What is for deeper searches runs as well.
for name in ("nmp_depth", "nmp_verify_depth", "probcut_depth", "singular_depth", "iir_depth"):
    searcher.set_tunable(name, 2)
for fen in (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k3/1P6/8/3pP3/8/8/8/4K2R w Kq d6 0 1",
):
    searcher.new_game()
    result = searcher.search(Game(chess.Board(fen)), Limits(depth=3))
    print(result.nodes, result.best, result.info.score, *result.info.pv)
print(INTERPRETED)
"""


def test_the_interpreted_search_is_the_compiled_one(run_python: Callable[..., str]) -> None:
    compiled = run_python(SCRIPT).splitlines()
    interpreted = run_python(SCRIPT, NUMBA_DISABLE_JIT="1").splitlines()
    assert compiled[-1] == "False"
    assert interpreted[-1] == "True"
    assert interpreted[:-1] == compiled[:-1]
    assert len(compiled) == 5
