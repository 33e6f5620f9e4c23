"""Work for the cluster tests: functions that workers can import."""

import os
import signal
import time
from pathlib import Path


def fail_on_three(number: int) -> int:
    if number == 3:
        raise ValueError("three\nis bad")
    return number


def slow_pid(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def die_once(marker: str) -> str:
    """Kills its worker the first time it meets `marker`."""
    path = Path(marker)
    if path.name.startswith("deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    if path.name.startswith("once") and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name
