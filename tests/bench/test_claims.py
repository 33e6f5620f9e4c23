"""The counts of `secateur claims` are what they are called, and the documentation has them."""

from __future__ import annotations

import math
from pathlib import Path

import chess
import pytest

from bench.commands import claims
from bench.commands.claims import (
    ORDERS,
    Column,
    Subject,
    deep_subjects,
    measure,
    measure_orders,
    orders_table,
    subjects,
    table,
    uniform_subject,
)
from search.theory.connect_four import START, ConnectFour
from search.theory.plain_chess import PlainChess

PAGE = Path(__file__).parents[2] / "docs" / "explorer.md"
POLICY_PAGE = PAGE.with_name("policy.md")


@pytest.fixture(scope="module")
def columns() -> list[Column]:
    return [
        measure(uniform_subject(3, 5)),
        measure(Subject("small Connect Four", ConnectFour(4, 4, 3), START, 5)),
        measure(Subject("chess", PlainChess(), chess.Board("8/5k2/8/3p4/3P4/2K5/5B2/8 w - - 0 1"), 3)),
    ]


def test_the_first_row_is_everything_and_the_orders_come_as_they_should(columns: list[Column]) -> None:
    for _, found in columns:
        minimax = found["minimax, b^d"]
        best, least = found["alpha-beta, best first"], found["smallest proof, no table"]
        assert minimax >= found["alpha-beta, every side's worst move first"] >= best == least
        assert minimax > found["alpha-beta, shuffled (mean of 5)"] > best
        assert all(leaves >= least for name, leaves in found.items() if name.startswith("alpha-beta"))
    uniform, plain = columns[0][1], columns[1][1]["alpha-beta, the game's order"]
    assert uniform["minimax, b^d"] == 3**5
    assert uniform[claims.BOUND] == uniform["alpha-beta, best first"] == 27 + 9 - 1
    for technique in ("+ transposition table", "+ order by static evaluation"):
        assert columns[1][1][technique] < plain


def test_the_documentation_has_the_counts_of_today() -> None:
    """The first column stands for all: to count the others takes minutes."""
    page = PAGE.read_text(encoding="utf-8").partition("<!-- claims: begin -->")[2].partition("<!--")[0]

    def first_column(text: str) -> list[list[str]]:
        rows = text.strip().partition("\n\n")[0].splitlines()
        return [[cell.strip() for cell in row.split("|")[1:3]] for row in rows]

    assert first_column(page) == first_column(table([measure(subjects()[0])]))


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| leaves valued | uniform, b = 3, d = 5 |"
    assert lines[2] == "| minimax, b^d | 243 |"
    assert "| 35 (14.4 %) |" in lines[5]


def test_the_documentation_has_the_orders_of_today() -> None:
    """Of the subjects whose searches take seconds, with the orders that need no stored tree."""
    page = POLICY_PAGE.read_text(encoding="utf-8").partition("<!-- orders: begin -->")[2].partition("<!--")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in page.strip().splitlines()]
    subjects_of = {f"{subject.name}, d = {subject.depth}": subject for subject in (*subjects(), *deep_subjects())}
    for name in ("tic-tac-toe, d = 9", "Connect Four, d = 6", "Connect Four, d = 8"):
        column = rows[0].index(name)
        counts = dict(claims._techniques(subjects_of[name]))
        for order in ("history", "learned policy"):
            (quoted,) = [row[column].split()[0] for row in rows if row[0] == order]
            assert quoted == f"{counts[ORDERS[order]]():,.0f}"


def test_the_share_of_the_way_is_that_of_the_leaves_saved() -> None:
    subject = Subject("small Connect Four", ConnectFour(4, 4, 3), START, 5)
    found = measure_orders(subject)[1]
    stored = measure(subject)[1]
    assert found.keys() == set(ORDERS.values())
    # The same, whether the tree is stored or not, but for the random orders.
    assert {name: stored[name] for name in found if "shuffled" not in name} == pytest.approx(
        {name: found[name] for name in found if "shuffled" not in name}, nan_ok=True
    )
    assert found[ORDERS["best"]] < found[ORDERS["random"]] < stored["minimax, b^d"]
    made = dict.fromkeys(ORDERS.values(), 60.0) | {
        ORDERS["random"]: 100.0,
        ORDERS["best"]: 20.0,
        ORDERS["killers"]: 120.0,
    }
    lines = orders_table([("made up, d = 1", made | {ORDERS["learned policy"]: math.nan})]).splitlines()
    cells = dict(line.strip("| ").split(" | ") for line in lines[2:])
    assert cells["random"] == "100 (0 %)"
    assert cells["history"] == "60 (50 %)"
    assert cells["killers"] == "120 (-25 %)"
    assert cells["best"] == "20 (100 %)"
    assert cells["learned policy"] == "-"


def test_the_orders_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert claims.main(["--quick", "--plot", str(tmp_path / "orders.svg")]) == 0
    assert "learned policy" in capsys.readouterr().out
    assert (tmp_path / "orders.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert claims.main(["--quick", "--plot", str(tmp_path / "orders.txt")]) == 1
    assert "must end with .png or .svg" in capsys.readouterr().err
