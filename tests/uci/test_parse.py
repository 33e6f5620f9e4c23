import pytest

from engine.uci.options import OptionValues
from engine.uci.parse import parse_go, parse_position, parse_setoption
from search.limits import Clock


def test_position_forms() -> None:
    assert parse_position(["startpos"]).fen is None
    assert parse_position(["startpos", "moves"]).moves == ()
    assert parse_position("startpos moves e2e4 e7e5".split()).moves == ("e2e4", "e7e5")
    command = parse_position("fen 8/8/8/8/8/8/8/K1k5 w - - 0 1 moves a1a2".split())
    assert command.fen == "8/8/8/8/8/8/8/K1k5 w - - 0 1"
    assert command.moves == ("a1a2",)


@pytest.mark.parametrize("words", [[], ["fen"], ["fen", "moves", "e2e4"], ["middle"], ["startpos", "e2e4"]])
def test_position_complains(words: list[str]) -> None:
    with pytest.raises(ValueError, match="position"):
        parse_position(words)


def test_go_clocks() -> None:
    command, complaints = parse_go("wtime 1000 btime 2000 winc 10 binc 20 movestogo 5".split())
    assert complaints == []
    assert command.limits(True).clock == Clock(1000, 10, 5)
    assert command.limits(False).clock == Clock(2000, 20, 5)
    # One clock serves both sides.
    assert parse_go(["wtime", "100"])[0].limits(False).clock == Clock(100, 0, None)


def test_negative_and_zero_clocks_are_still_clocks() -> None:
    assert parse_go("wtime 9 movestogo -5".split())[0].limits(True).clock == Clock(9, 0, None)
    assert parse_go("mate 0".split())[0].limits(True).mate == 1
    command, _ = parse_go("wtime -50 btime 0 winc -1 movestogo 0".split())
    assert command.limits(True).clock == Clock(1, 0, None)
    assert command.limits(False).clock == Clock(1, 0, None)


def test_go_restrictions() -> None:
    command, complaints = parse_go("searchmoves e2e4 e7e8q depth 7 nodes 10 movetime 5 mate 2 infinite".split())
    assert complaints == []
    limits = command.limits(True)
    assert limits.search_moves == ("e2e4", "e7e8q")
    assert (limits.depth, limits.nodes, limits.move_time, limits.mate, limits.infinite) == (7, 10, 5, 2, True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("depth", "depth: a number is missing"),
        ("depth nodes 5", "depth: a number is missing"),
        ("depth five", "depth: expected a whole number, got 'five'"),
        ("wtime 1e3", "wtime: expected a whole number"),
        ("rapidly", "unknown parameter 'rapidly'"),
        ("searchmoves", "searchmoves: no moves given"),
    ],
)
def test_go_complains_and_goes_on(text: str, complaint: str) -> None:
    command, complaints = parse_go([*text.split(), "movetime", "7"])
    assert len(complaints) == 1
    assert complaint in complaints[0]
    assert command.numbers["movetime"] == 7


def test_setoption_names_and_values_may_have_spaces() -> None:
    assert parse_setoption("name Clear  Hash ") == ("Clear Hash", None)
    assert parse_setoption(" name Move Overhead value 20") == ("Move Overhead", "20")
    assert parse_setoption("NAME x VALUE  a  value b ") == ("x", "a  value b")
    assert parse_setoption("name values value") == ("values", "")
    assert parse_setoption("name value 3") == ("", "3")
    for text in ("", "value 3", "names Hash"):
        with pytest.raises(ValueError, match="expected 'name'"):
            parse_setoption(text)


def test_options_are_set_in_any_case_and_checked() -> None:
    values = OptionValues()
    assert values.set("move  OVERHEAD", "33") == "Move Overhead"
    assert values.number("Move Overhead") == 33
    for name, text, message in [
        ("Move Overhead", "5001", r"must be 0 to 5000 \(got '5001'\)"),
        ("Move Overhead", "x", r"must be a whole number \(got 'x'\)"),
        ("Move Overhead", None, "needs a value"),
        ("UCI_Chess960", "maybe", r"must be true or false \(got 'maybe'\)"),
        ("Contempt", "3", "unknown option 'Contempt'$"),
        ("Hsh", "3", r"unknown option 'Hsh'; did you mean 'Hash'\?"),
        ("MULTI-PV", "3", r"unknown option 'MULTI-PV'; did you mean 'MultiPV'\?"),
    ]:
        with pytest.raises(ValueError, match=message):
            values.set(name, text)
    assert values.number("Move Overhead") == 33
