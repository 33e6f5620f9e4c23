"""`secateur warmup`: compiles and caches the kernels that are needed to play."""

from __future__ import annotations

import sys
import time

from engine.arguments import Parser, command


@command("secateur warmup")
def main(arguments: list[str]) -> int:
    """Compiles and caches the kernels that are not cached yet. Returns 1 if they cannot be cached, else 0."""
    parser = Parser(
        prog="secateur warmup",
        description="Compiles the kernels that are needed to play, once for each version and machine, and caches them. "
        "Afterwards the engine starts in about a second. Other kernels, such as perft's, are compiled at their first "
        "call. Kernels compiled ahead of time need no warmup.",
    )
    parser.parse_args(arguments)
    start = time.perf_counter()
    print("secateur: loading the kernels", file=sys.stderr, flush=True)
    from engine.compiler import compiling, jit
    from search.warmup import load_kernels

    if jit.AHEAD_OF_TIME:
        print(f"secateur: nothing to compile. {jit.compiler_report()}", file=sys.stderr)
        return 0

    compiling.without_advice()

    def step(index: int, count: int, name: str) -> None:
        seconds = time.perf_counter() - start
        print(f"secateur: {name} kernels, {index + 1} of {count} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    compiled = load_kernels(on_step=step)
    seconds = time.perf_counter() - start
    problem = jit.cache_problem()
    if problem is not None:
        print(f"secateur: {problem}", file=sys.stderr)
        return 1
    word = f"{compiled} compiled" if compiled else "all cached"
    print(f"secateur: {word} in {seconds:.1f} s, kept in {jit.CACHE_FOLDER}", file=sys.stderr)
    return 0
