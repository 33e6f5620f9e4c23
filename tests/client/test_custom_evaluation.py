"""Custom evaluations: the search compiles them in, caches them apart, and refuses bad ones with a reason.

All tests use the documentation's evaluation, so the search is compiled with it only once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from engine.compiler.cache_folder import CACHE_VARIABLE
from eval.build import VARIABLE
from search.benchmark import run_benchmark
from tests.client.test_examples import evaluation_example
from tests.conftest import PROJECT
from tests.uci.conftest import Engine, start  # noqa: F401  # a fixture
from tests.uci.test_network_options import NO_POLICY

VALUES = {chess.PAWN: 100, chess.KNIGHT: 320, chess.BISHOP: 330, chess.ROOK: 500, chess.QUEEN: 900, chess.KING: 0}


@pytest.fixture(scope="module")
def centre(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation's evaluation as a file; the search with it is in the cache."""
    file = tmp_path_factory.mktemp("centre") / "centre.py"
    file.write_text(evaluation_example(), encoding="utf-8")
    assert secateur("--evaluation", str(file), "bench", "1").returncode == 0
    return file


def secateur(*arguments: str, cwd: Path = PROJECT, variable: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command; `variable` is the value of the environment variable that names an evaluation."""
    return subprocess.run(
        [sys.executable, str(PROJECT / "uci_main.py"), *arguments],
        cwd=cwd,
        env={**os.environ, VARIABLE: variable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


# -- it evaluates --


def plain_score(board: chess.Board) -> int:
    """The documentation's evaluation, written with python-chess."""
    score = 0
    for square, piece in board.piece_map().items():
        value = VALUES[piece.piece_type] + 20 * bool(chess.BB_CENTER & chess.BB_SQUARES[square])
        score += value if piece.color == board.turn else -value
    return score


SCORES = """
import json, sys
import chess
from engine import Engine
from chess.engine import Limit

file, fens = sys.argv[1], json.loads(sys.argv[2])
engine = Engine(evaluation=file)
from engine.board.convert import from_board
from eval.custom import custom_score
from search.kernels.aspiration import search_iteration

engine.analyse(chess.Board(), Limit(depth=4))
try:
    Engine(evaluation=lambda position: 1)
except RuntimeError as error:
    refusal = str(error)
print(json.dumps({
    "id": engine.id["name"],
    "scores": [int(custom_score(from_board(chess.Board(fen)))) for fen in fens],
    "hits": sum(search_iteration.stats.cache_hits.values()),
    "refusal": refusal,
}))
"""


def test_the_search_evaluates_with_it(run_python: Callable[..., str], centre: Path) -> None:
    fens = [
        "8/8/4k3/8/8/3P4/4K3/8 w - - 0 1",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
    ]
    found = json.loads(run_python(SCORES, str(centre), json.dumps(fens)))
    assert found["id"].endswith(" (centre.py:evaluate)")
    assert found["scores"] == [plain_score(chess.Board(fen)) for fen in fens]
    assert found["hits"] == 1, "a script and the command line share the compiled search"
    assert found["refusal"].startswith("this process already evaluates with centre.py:evaluate and cannot change to")


NO_FILE = """
with Engine(evaluation=evaluate) as engine:
    from search.kernels.aspiration import search_iteration
    print(engine.id["name"].split(" ", 2)[2])
    print(engine.analyse(chess.Board(), Limit(depth=1))["score"].relative)
    print(sum(search_iteration.stats.cache_hits.values()))
"""


@pytest.mark.usefixtures("centre")
def test_a_function_needs_no_file(run_python: Callable[..., str]) -> None:
    """As in a notebook: the name has no file, and the cache is used."""
    definition = evaluation_example().split("\nif __name__")[0]
    assert run_python(definition + NO_FILE).splitlines() == ["(evaluate)", "+20", "1"]


def test_it_plays_another_game_than_secateur(centre: Path) -> None:
    done = secateur("--evaluation", "centre.py", "bench", "4", "--json", cwd=centre.parent)
    assert "evaluation: centre.py:evaluate" in done.stderr.splitlines()
    usual = run_benchmark(4)
    assert usual is not None
    assert json.loads(done.stdout)["nodes"] != usual.nodes
    by_environment = secateur("bench", "4", "--json", variable=f"{centre}:evaluate")
    assert json.loads(by_environment.stdout)["nodes"] == json.loads(done.stdout)["nodes"]


def test_uci_says_what_evaluates(start: Callable[..., Engine], centre: Path, tmp_path: Path) -> None:  # noqa: F811
    engine = start(arguments=(f"--evaluation={centre}",))
    engine.send("uci")
    assert engine.expect("id name").endswith(" (centre.py:evaluate)")
    engine.send("position startpos moves e2e4", "eval")
    engine.expect("Evaluation by centre.py:evaluate")
    engine.expect("Evaluation +0.20 pawns from White's view")
    engine.send(f"setoption name EvalFile value {tmp_path / 'x.snet'}", "isready")
    engine.expect("readyok")
    assert any("not used: the custom evaluation centre.py:evaluate replaces it" in line for line in engine.lines)
    assert engine.said("setoption name UsePolicy value true") == [NO_POLICY]
    engine.best("go depth 5")
    engine.finish("quit")
    version = secateur(f"--evaluation={centre}", "--version").stdout
    assert " (centre.py:evaluate), kernels compiled here by Numba" in version


# -- it is none --

BAD = """
from eval.api import *

@subkernel
def helper(position):
    return position.nothing

def evaluate(position):
    return 10**6 if position.turn == WHITE else -(10**6)

def floats(position):
    return material(position, position.turn) / 2

def two(position, workspace):
    return 1

def field(position):
    return helper(position) + 1
"""
#: Function: (line and message)
REFUSED = {
    "floats": "11: floats must return whole centipawns (int64), not float64: divide with //",
    "two": "14: two(position, workspace) must take one argument, the position",
    "field": "17: field cannot be compiled: position has no field 'nothing'; it has pieces, colors, castling, ",
    "absent": " there is no function 'absent'",
}
#: File: (its text, what is wrong with it)
FILES = {
    "syntax.py": ("def evaluate(position:\n    return 1\n", "1: '(' was never closed"),
    "import.py": ("\nimport no_such_module\ndef evaluate(position): return 1\n", "2: ModuleNotFoundError: No module"),
}

REFUSE = """
import json, sys
from engine.board.convert import from_board
from eval.build import EvaluationError, choose_evaluation
import chess

said = {}
for text in json.loads(sys.argv[1]):
    try:
        choose_evaluation(text)
        import eval.custom
        said[text] = [int(eval.custom.custom_evaluation(from_board(chess.Board(fen)))) for fen in (
            chess.STARTING_FEN, chess.STARTING_FEN.replace(" w ", " b "))]
    except EvaluationError as error:
        said[text] = str(error)
print(json.dumps(said))
"""


def test_what_is_no_evaluation_is_refused_with_file_and_line(run_python: Callable[..., str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(BAD, encoding="utf-8")
    for name, (text, _) in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    asked = [*(f"{bad}:{name}" for name in REFUSED), *(str(tmp_path / name) for name in FILES)]
    # After all that was refused, a good one can still be had; what it says is cut off below mate scores.
    said = json.loads(run_python(REFUSE, json.dumps([*asked, str(bad)]), **{CACHE_VARIABLE: str(tmp_path / "kernels")}))
    for name, message in REFUSED.items():
        assert said[f"{bad}:{name}"].startswith(f"{bad}:{message}")
    for name, (_, message) in FILES.items():
        assert said[str(tmp_path / name)].startswith(f"{tmp_path / name}:{message}")
    assert all("\n" not in message for message in said.values() if isinstance(message, str))
    assert said[str(bad)] == [30_000, -30_000]


@pytest.mark.parametrize(
    ("arguments", "variable", "message"),
    [
        (("--evaluation",), "", "--evaluation needs FILE.py or FILE.py:FUNCTION"),
        (("--evaluation", "nowhere.py", "bench"), "", "nowhere.py: No such file or directory"),
        (("bench", "1"), "nowhere.py:f", "nowhere.py: No such file or directory"),
    ],
)
def test_the_command_line_refuses_at_once(arguments: tuple[str, ...], variable: str, message: str) -> None:
    done = secateur(*arguments, variable=variable)
    # A flag without its file is wrong usage; a file that is missing is a failure.
    assert (done.returncode, done.stdout) == (2 if "needs FILE.py" in message else 1, "")
    assert done.stderr.startswith("secateur: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_cannot_be_compiled_ends_a_command(tmp_path: Path) -> None:
    file = tmp_path / "half.py"
    file.write_text("def evaluate(position):\n    return position.halfmoves / 2\n", encoding="utf-8")
    done = secateur("--evaluation", str(file), "bench", "1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"secateur bench: {file}:1: evaluate must return whole")


# -- its machine code is kept apart --

KEPT = """
from eval.custom import custom_score
from engine.compiler import jit
from engine.board.convert import from_board
from engine.board.make import complete_position
import chess
assert complete_position._cache.cache_path != str(jit.CACHE_FOLDER), "all evaluations share the board's kernels"
print(int(custom_score(from_board(chess.Board()))), sum(custom_score.stats.cache_hits.values()), jit.CACHE_FOLDER)
"""


def test_each_evaluation_has_a_cache_folder_of_its_own(run_python: Callable[..., str], tmp_path: Path) -> None:
    file, helper = tmp_path / "mine.py", tmp_path / "weights_of_mine.py"
    file.write_text("from weights_of_mine import total\ndef evaluate(position):\n    return total(position)\n")

    def run(weight: int, remark: str = "") -> list[str]:
        helper.write_text(
            f"from eval.api import subkernel\nWEIGHT = {weight}\n@subkernel\n"
            f"def total(position):{remark}\n    return WEIGHT + position.turn\n"
        )
        environment = {VARIABLE: str(file), CACHE_VARIABLE: str(tmp_path / "kernels"), "PYTHONDONTWRITEBYTECODE": "1"}
        return run_python(KEPT, **environment).split(maxsplit=2)

    first, again, other = run(10), run(10, "  # a remark"), run(20)
    assert first[:2] == ["11", "0"]
    assert again == ["11", "1", first[2]]
    assert other[:2] == ["21", "0"]
    assert other[2] != first[2]
