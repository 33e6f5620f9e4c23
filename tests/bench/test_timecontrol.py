import pytest

from bench.game import Clock
from bench.timecontrol import TimeControl, TimeControlError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10+0.1", TimeControl(base=10, increment=0.1)),
        ("40/60+0.6", TimeControl(base=60, increment=0.6, moves=40)),
        ("1:30+1", TimeControl(base=90, increment=1)),
        (".5", TimeControl(base=0.5)),
        ("movetime=0.05", TimeControl(movetime=0.05)),
        ("st=2", TimeControl(movetime=2)),
        ("nodes=1e4", TimeControl(nodes=10000)),
        ("depth=8", TimeControl(depth=8)),
        ("10+0.1, nodes=5", TimeControl(base=10, increment=0.1, nodes=5)),
    ],
)
def test_reads_time_controls_and_writes_them_back(text: str, expected: TimeControl) -> None:
    assert TimeControl.parse(text) == expected
    assert TimeControl.parse(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "fast", "10+", "0", "0+0.1", "-3", "nodes=0", "nodes=1.5", "depth=", "movetime=nan", "10+0.1,st=1", "foo=3"],
)
def test_refuses_what_is_no_time_control(text: str) -> None:
    with pytest.raises(TimeControlError, match="time"):
        TimeControl.parse(text)


def test_a_clock_counts_down_and_gains_its_increment() -> None:
    clock = Clock(TimeControl.parse("1+0.5"), 0.0)
    assert clock.spend(0.7) is None
    assert clock.left == pytest.approx(0.8)
    assert clock.spend(0.85) == pytest.approx(0.05)


def test_a_time_period_is_renewed() -> None:
    clock = Clock(TimeControl.parse("2/10"), 0.0)
    clock.spend(6)
    assert clock.left == pytest.approx(4)
    assert clock.moves_to_go == 1
    clock.spend(3)
    assert clock.left == pytest.approx(11)
    assert clock.moves_to_go == 2


def test_whole_milliseconds_beyond_the_margin_lose() -> None:
    assert Clock(TimeControl.parse("movetime=0.01"), 0.0).spend(0.0109) is None
    assert Clock(TimeControl.parse("movetime=0.01"), 0.0).spend(0.0111) is not None
    assert Clock(TimeControl.parse("movetime=0.01"), 0.005).spend(0.0159) is None
    assert Clock(TimeControl.parse("movetime=0.01"), 0.005).spend(0.0161) == pytest.approx(0.0061)
