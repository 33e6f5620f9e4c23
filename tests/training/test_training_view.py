"""What a training run shows: lines, the picture on a terminal, and the plot of its losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.training.trainer import Entry, Moment
from eval.training.training_view import TrainingView, plot_losses

LOG = [Entry(n, 1000, 0.1 / n, 0.12 / n, 0.001 / n, 1e6) for n in range(1, 6)]


def test_what_a_run_shows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingView, "line_seconds", 60.0)
    with TrainingView(5, 10, 2) as view:
        assert view.line() == "starting (kernels may have to be compiled)"
        view.step(Moment(3, 4, 10, 0.05, 123456.0))
        view.print_line()
        view.superbatch(LOG[2])
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("superbatch 3 of 5, step 4 of 10, training error 0.050000, 123,456 positions/s")
    assert second.startswith(
        "superbatch 3 of 5: error 0.033333, validation 0.040000, rate 3.33e-04, 1,000,000 positions/s"
    )


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_curves_are_drawn(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    picture = tmp_path / f"curve.{ending}"
    plot_losses(LOG, picture, "title")
    assert picture.stat().st_size > 5000
