"""`Engine` with kernels that were compiled ahead of time, and evaluations that no library has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compiler.library import FOLDER_VARIABLE, KERNELS_VARIABLE
from tests.client.test_examples import evaluation_example

Run = Callable[..., str]


@pytest.fixture
def run_beside(built: Path, run_python: Run) -> Run:
    """Runs a script where there are built kernels, which it may use or not."""

    def run(script: str, *arguments: str) -> str:
        return run_python(script, *arguments, **{KERNELS_VARIABLE: None, FOLDER_VARIABLE: str(built)})

    return run


def test_it_plays_and_analyses_without_numba(run_built: Run) -> None:
    script = """
import chess
from chess.engine import Limit
from engine import Engine
board = chess.Board("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
with Engine({"Threads": 2}) as engine:
    print(engine.play(board, Limit(depth=4)).move, engine.analyse(board, Limit(depth=4))["score"].white())
"""
    assert run_built(script) == "d1d8 #+1\n"


@pytest.mark.parametrize(
    "choice",
    [
        "from eval.api import material",
        "from eval.build import choose_evaluation; choose_evaluation(lambda position: 0)",
        "from eval.build import choose_evaluation; choose_evaluation(sys.argv[1])",
    ],
)
def test_an_evaluation_of_one_s_own_takes_the_compiler(run_beside: Run, tmp_path: Path, choice: str) -> None:
    file = tmp_path / "centre.py"
    file.write_text(evaluation_example(), encoding="utf-8")
    script = "import sys\n{}\nfrom engine.compiler import jit\nprint(jit.AHEAD_OF_TIME, jit.remarks())"
    assert run_beside(script.format(""), str(file)) == "True []\n"
    assert run_beside(script.format(choice), str(file)) == "False []\n"


@pytest.mark.parametrize(
    ("late", "message"),
    [
        ("import eval.api", "this process already uses kernels compiled ahead of time"),
        ("Engine(evaluation=lambda position: 0)", "this process already evaluates with Secateur's own evaluation"),
    ],
)
def test_it_has_to_be_known_before_the_kernels_are_there(run_beside: Run, late: str, message: str) -> None:
    script = f"""
from engine import Engine
Engine().close()
try:
    {late}
except RuntimeError as error:
    print(error)
"""
    assert run_beside(script).startswith(message)
