"""What the tests' fake engines have in common: as much of UCI as it takes to play, on python-chess alone."""

import sys

import chess

VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 300, chess.ROOK: 500, chess.QUEEN: 900, chess.KING: 0}


def send(*lines: str) -> None:
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


def material(board: chess.Board) -> int:
    """Centipawns that the side to move is ahead."""
    return sum(
        value * (len(board.pieces(piece, board.turn)) - len(board.pieces(piece, not board.turn)))
        for piece, value in VALUES.items()
    )


class FakeEngine:
    """The loop over stdin, and the position. A subclass answers `go`, and overrides what it has to say besides."""

    name = "Fake"
    #: The options as `option` lines describe them, less that word.
    options: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.board = chess.Board()

    def introduce(self) -> None:
        """Answers `uci`."""
        send(f"id name {self.name}", *(f"option {option}" for option in self.options), "uciok")

    def set_option(self, name: str, value: str) -> None:
        pass

    def new_game(self) -> None:
        pass

    def go(self, words: list[str]) -> None:
        """Answers `go`, whose words these are."""
        raise NotImplementedError

    def run(self) -> None:
        """Listens until `quit` or the end of the input."""
        for line in sys.stdin:
            words = line.split()
            command = words[0] if words else ""
            if command == "uci":
                self.introduce()
            elif command == "isready":
                send("readyok")
            elif command == "setoption":
                name, _, value = line.strip().removeprefix("setoption name ").partition(" value ")
                self.set_option(name, value)
            elif command == "ucinewgame":
                self.new_game()
            elif command == "position":
                self._set_position(words)
            elif command == "go":
                self.go(words)
            elif command == "quit":
                return

    def _set_position(self, words: list[str]) -> None:
        end = words.index("moves") if "moves" in words else len(words)
        self.board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:end]))
        for move in words[end + 1 :]:
            self.board.push_uci(move)
