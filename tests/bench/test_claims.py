"""The counts of the table are what they are called, and the command writes them where it should."""

from __future__ import annotations

import json
from pathlib import Path

import chess
import pytest
from bench.claims import Column, Subject, curves, lattice_shares, measure, subjects, table, uniform_subject

from bench.commands import claims
from bench.markdown import markers
from search.theory.connect_four import START, ConnectFour
from search.theory.plain_chess import PlainChess

PAGE = Path(__file__).parents[2] / "docs" / "explorer.md"

BEGIN, END = markers("claims")

UNIFORM = "bound of Knuth and Moore"


@pytest.fixture(scope="module")
def columns() -> list[Column]:
    return [
        measure(uniform_subject(3, 5)),
        measure(Subject("small Connect Four", ConnectFour(4, 4, 3), START, 5)),
        measure(Subject("chess", PlainChess(), chess.Board("8/5k2/8/3p4/3P4/2K5/5B2/8 w - - 0 1"), 3)),
    ]


def test_the_first_row_is_everything_and_the_orders_come_as_they_should(columns: list[Column]) -> None:
    for column in columns:
        found = column.leaves
        minimax = found["minimax, b^d"]
        best, least = found["alpha-beta, best first"], found["smallest proof, no table"]
        assert minimax >= found["alpha-beta, worst first"] >= best == least
        assert minimax > found["alpha-beta, shuffled (mean of 5)"] > best
        assert all(leaves >= least for name, leaves in found.items() if name.startswith("alpha-beta"))
    assert columns[0].leaves["minimax, b^d"] == 3**5
    assert columns[0].leaves[UNIFORM] == columns[0].leaves["alpha-beta, best first"] == 27 + 9 - 1


def test_what_is_remembered_or_ordered_saves_work(columns: list[Column]) -> None:
    found = columns[1].leaves
    plain = found["alpha-beta, the game's order"]
    for technique in ("+ transposition table", "+ order by guesses"):
        assert found[technique] < plain


def test_the_table_has_a_row_a_technique(columns: list[Column]) -> None:
    lines = table(columns).splitlines()
    assert len(lines) == 2 + len(columns[0].leaves)
    assert lines[0] == "| leaves valued | uniform, b = 3, d = 5 | small Connect Four, d = 5 | chess, d = 3 |"
    assert lines[2].startswith("| minimax, b^d | 243 | ")
    assert "| 35 (14.4 %) |" in lines[5]


def test_the_documentation_has_the_counts_of_today() -> None:
    """Of the subjects, the first stands for all: counting the others takes minutes."""
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text
    current = text.partition(BEGIN)[2].partition(END)[0].strip()
    first = [line.split(" | ")[:2] for line in current.partition("\n\n")[0].splitlines()]
    assert [cells for cells in first if "---" not in cells[0]] == [
        line.rstrip("| ").split(" | ") for line in table([measure(subjects()[0])]).splitlines() if "---" not in line
    ]


def test_curves_are_the_formulas_where_they_have_one() -> None:
    minimax, worst, shuffled, best, bound, root = curves(3, 5).values()
    assert minimax == worst == (3, 9, 27, 81, 243)
    assert best == bound == (3, 5, 11, 17, 35)
    assert all(low <= middle <= high for low, middle, high in zip(best, shuffled, minimax, strict=True))
    assert root[1] == 3


def test_lattices_are_as_known() -> None:
    """Measured before with another program, on other random trees: shallow, weak and strong, for b = 3 and d = 6."""
    known = {"0..1 x 0..1": (0.189, 0.183, 0.173), "0..2 x 0..2": (0.425, 0.365, 0.334)}
    for spec, expected in known.items():
        found = lattice_shares(spec, 30)
        assert found["naive"] == 1
        assert found["shallow"] > found["deep"] > found["weak"] > found["strong"]
        assert (found["shallow"], found["weak"], found["strong"]) == pytest.approx(expected, abs=0.03)


def test_the_command_writes_table_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    readme, picture = tmp_path / "README.md", tmp_path / "claims.svg"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert claims.main(["--quick", "--readme", str(readme), "--plot", str(picture)]) == 0
    text = readme.read_text()
    table = capsys.readouterr().out.strip()
    assert text == f"before\n{BEGIN}\n{table}\n{END}\nafter\n"
    assert picture.stat().st_size > 1000


def test_the_command_prints_json_and_refuses_what_it_cannot_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert claims.main(["--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (column,) = found["subjects"]
    assert column["leaves"]["minimax, b^d"] == 243
    assert found["lattices"]["0..1 x 0..1"]["naive"] == 1
    assert claims.main(["--readme", str(tmp_path / "none")]) == 1
    assert "there is no file" in capsys.readouterr().err
