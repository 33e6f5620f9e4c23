import codecs
import io
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import pytest

from bench.pgn import (
    PgnLog,
    format_game,
    is_cut_game,
    is_pgn,
    read_games,
    split_games,
    termination_of,
)
from bench.results import GameResult, MoveRecord, Termination
from engine.files import Output
from tests.bench.fakes import room_for

RECORDED = Path(__file__).with_name("recorded")

GAME = GameResult(
    game=3,
    pair=1,
    white='W "quoted"',
    black="B",
    result="1-0",
    termination=Termination.CHECKMATE,
    plies=7,
    start_fen=chess.STARTING_FEN,
    opening="Scholar's mate",
    moves=(
        MoveRecord("e2e4", book=True),
        MoveRecord("e7e5", book=True),
        MoveRecord("d1h5", 0.1054, 12, 35, None, 4711),
        MoveRecord("b8c6", 61.5, 8, -20),
        MoveRecord("f1c4", 0.5),
        MoveRecord("g8f6", 0.25, 3, None, -1, 9),
        MoveRecord("h5f7", 0.001, 1, None, 1),
    ),
    date="2026.11.20",
)


def write(path: Path, *games: GameResult) -> None:
    path.write_text("".join(format_game(game, "Test", ("10+0.1", "10+0.1"), "abc") for game in games), encoding="utf-8")


def test_python_chess_reads_what_is_written() -> None:
    game = chess.pgn.read_game(io.StringIO(format_game(GAME, "Test", ("10+0.1", "nodes=5"), "abc", "2.2")))
    assert game is not None
    assert not game.errors
    assert (game.headers["Round"], game.headers["PlyCount"]) == ("2.2", "7")
    assert (game.headers["WhiteTimeControl"], game.headers["BlackTimeControl"]) == ("10+0.1", "nodes=5")
    assert game.end().board().is_checkmate()
    nodes = list(game.mainline())
    assert nodes[0].comment == "book"
    evaluation = nodes[2].eval()
    assert evaluation is not None
    assert (evaluation.white(), nodes[2].eval_depth()) == (chess.engine.Cp(35), 12)
    assert nodes[2].emt() == pytest.approx(0.105)
    # Black's scores are white's point of view in the tag and the mover's own in the text.
    assert nodes[3].eval() == chess.engine.PovScore(chess.engine.Cp(20), chess.WHITE)
    assert nodes[3].comment.startswith("-0.20/8 61.500s")
    assert nodes[3].emt() == pytest.approx(61.5)
    assert nodes[5].eval() == chess.engine.PovScore(chess.engine.Mate(1), chess.WHITE)


def test_a_game_survives_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    write(path, GAME)
    (back,) = read_games(path)
    assert (back.white, back.result, back.termination) == (GAME.white, "1-0", Termination.CHECKMATE)
    assert (back.opening, back.date, back.start_fen) == (GAME.opening, GAME.date, GAME.start_fen)


def test_a_broken_game_is_reported_by_line_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    write(path, GAME)
    good = path.read_text(encoding="utf-8")
    no_name = good.replace('[White "', "[White ")
    mismatch = good.replace('[Result "1-0"]', '[Result "0-1"]')
    cut = good[: good.index("Bc4")]
    path.write_text(good + no_name + mismatch + cut + good, encoding="utf-8")
    problems: list[str] = []
    assert len(list(read_games(path, problems))) == 2
    lines = path.read_text(encoding="utf-8").splitlines()
    for problem, why in zip(
        problems,
        ("the White tag is missing", "the Result tag is 0-1, but the moves end with 1-0", "cut short"),
        strict=True,
    ):
        assert problem.startswith(f"{path}:")
        assert why in problem
        assert lines[int(problem.split(":")[1]) - 1].startswith("[Event ")


def test_a_bracket_inside_a_comment_starts_no_game(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 {a\n[%eval 0.3] comment} e5 1-0\n', encoding="utf-8"
    )
    assert len(list(read_games(path))) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("White mates", Termination.CHECKMATE),
        ("Black loses on time", Termination.TIME_FORFEIT),
        ("White loses on time (130ms overrun)", Termination.TIME_FORFEIT),
        ("Black makes an illegal move: e1e5", Termination.ILLEGAL_MOVE),
        ("White disconnects", Termination.CRASH),
        ("Black's connection stalls", Termination.HANG),
        ("Draw by 3-fold repetition", Termination.REPETITION),
        ("Draw by fifty moves rule", Termination.FIFTY_MOVES),
        ("Draw by stalemate", Termination.STALEMATE),
        ("Draw by insufficient mating material", Termination.MATERIAL),
        ("Draw by adjudication", Termination.DRAW_RULE),
        ("Draw by adjudication: maximal game length", Termination.MAX_MOVES),
        ("White wins by adjudication", Termination.RESIGN_RULE),
        ("White wins by adjudication: SyzygyTB", Termination.TABLEBASE),
        ("something new", Termination.OTHER),
        *[(str(reason), reason) for reason in Termination],
    ],
)
def test_understands_why_games_ended(text: str, reason: Termination) -> None:
    assert termination_of(text) == reason


#: A game as short as one can be, without the empty line behind it.
SHORT = '[Event "match"]\n\n*\n'


def test_a_full_disk_keeps_games_waiting_and_takes_half_of_one_back(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    log = PgnLog(Output(path, is_pgn, "PGN file"))
    assert log.append(SHORT)
    with room_for(len(SHORT) + 2):
        assert not log.append("one\n")
        assert path.read_text(encoding="utf-8") == SHORT
        assert not log.append("two\n")
        assert log.problem == f"{path}: cannot save a game: File too large"
    assert log.append("three\n")
    assert path.read_text(encoding="utf-8") == SHORT + "one\ntwo\nthree\n"


def test_a_mark_of_the_byte_order_is_no_move(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(2 * (codecs.BOM_UTF8 + b'[White "A"]\n[Black "\xe9"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'))
    games = list(split_games(path))
    assert [game.tags["White"] for game in games] == ["A", "A"]
    assert [(game.white, game.black, game.result) for game in read_games(path)] == 2 * [("A", "é", "1-0")]
    assert [game.line for game in games] == [1, 7]


def test_a_game_cut_short_anywhere_is_known_as_ours() -> None:
    data = format_game(replace(GAME, white="öld"), 'The "event"', ("1+0.1", "nodes=10"), "abc", "1.1").encode()
    for end in range(1, len(data.rstrip()) - len("1-0")):
        (raw,) = split_games(data[:end])
        assert is_cut_game(raw, 'The "event"', "abc"), data[:end]
    cut = data[: data.index(b" Qh5") + 4]
    foreign_id = cut.replace(b'"abc"', b'"abd"')
    for foreign in (data.rstrip() + b" { my notes", b"my notes", cut.replace(b"The", b"A"), foreign_id):
        (raw,) = split_games(foreign)
        assert not is_cut_game(raw, 'The "event"', "abc")


@pytest.mark.parametrize("name", ["A", "resign-fix", "repetition"])
@pytest.mark.parametrize("fault", [Termination.TIME_FORFEIT, Termination.CRASH, Termination.ILLEGAL_MOVE])
def test_a_fault_stays_a_fault_whatever_the_engine_is_called_and_says(
    tmp_path: Path, name: str, fault: Termination
) -> None:
    detail = f"{name} failed; its last line on stderr: insufficient memory for the tablebase"
    path = tmp_path / "games.pgn"
    write(path, replace(GAME, black=name, termination=fault, detail=detail))
    (back,) = read_games(path)
    assert (back.faulty_engine, back.termination) == (name, fault)
