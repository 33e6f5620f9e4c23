"""Chooses the tracing build of the kernels. Imports nothing heavy, because it must run before their import."""

from __future__ import annotations

import os
import sys

from engine.compiler import compiling

#: The environment variable that `engine.compiler.jit` reads.
VARIABLE = "SECATEUR_TRACING"


def choose_tracing() -> None:
    """Makes this process, and those that it starts, use the tracing build.

    Raises RuntimeError when the kernels of the playing build have been imported already.
    """
    jit = sys.modules.get("engine.compiler.jit")
    if jit is not None and not jit.TRACING:
        raise RuntimeError("the playing build is in use already; a process has only one")
    # A warmup compiles the playing build.
    compiling.without_advice()
    os.environ[VARIABLE] = "1"
