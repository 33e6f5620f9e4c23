// Moves in standard notation (SAN), and the positions after them.

import {Chess} from "./vendor/chess.js/chess.js";
import {Position} from "./vendor/cm-chessboard/src/model/Position.js";

// How a null move is written in recordings, and how the page shows it.
const NULL_MOVE = "0000", PASS = "pass";

/** Plays a legal move on a Position of the vendored library, which does not know the rules of chess. */
function play(board, move) {
  const from = move.slice(0, 2), to = move.slice(2, 4), piece = board.getPiece(from), taken = board.getPiece(to);
  if (!piece) return;
  const [colour, kind] = piece, files = to.charCodeAt(0) - from.charCodeAt(0), rank = from[1];
  board.movePiece(from, to);
  if (move[4]) board.setPiece(to, colour + move[4]);
  // A pawn that changes its file onto an empty square captures en passant.
  if (kind === "p" && files && !taken) board.setPiece(to[0] + rank, null);
  // Castling: in Chess960 the king takes its own rook; otherwise it moves two squares.
  if (kind === "k" && (taken === `${colour}r` || Math.abs(files) > 1)) {
    board.setPiece(to, null);
    if (!taken) board.setPiece((files > 0 ? "h" : "a") + rank, null);
    board.setPiece((files > 0 ? "g" : "c") + rank, piece);
    board.setPiece((files > 0 ? "f" : "d") + rank, `${colour}r`);
  }
}

/** Returns the first field of the FEN of the position after `moves` (UCI) from `fen`. */
export function placementAfter(fen, moves) {
  const board = new Position(fen.split(" ")[0]);
  for (const move of moves) if (move !== NULL_MOVE) play(board, move);
  return board.getFen();
}

/** The moves of a recording: plays each one once. */
export class Moves {
  constructor() {
    this.known = new Map();
  }

  /** Plays a move (UCI) after `fen`. Returns {san, fen}; for an illegal move, the move as it is, and "" as `fen`. */
  play(fen, move) {
    const key = `${fen} ${move}`;
    if (!this.known.has(key)) this.known.set(key, fen ? this.#played(fen, move) : {san: move, fen: ""});
    return this.known.get(key);
  }

  #played(fen, move) {
    const [placement, side, , , ...clocks] = fen.split(" "), other = side === "w" ? "b" : "w";
    if (move === NULL_MOVE) return {san: PASS, fen: [placement, other, fen.split(" ")[2], "-", ...clocks].join(" ")};
    const board = new Position(placement), from = move.slice(0, 2), to = move.slice(2, 4);
    try {
      if (board.getPiece(from) === `${side}k` && board.getPiece(to) === `${side}r`) {
        // Chess960 castling, which the library does not know.
        const after = [placementAfter(fen, [move]), other, "-", "-", ...clocks].join(" ");
        const game = new Chess(after, {skipValidation: true}), sign = game.isCheckmate() ? "#" : game.inCheck() ? "+" : "";
        return {san: (to > from ? "O-O" : "O-O-O") + sign, fen: after};
      }
      const game = new Chess(fen, {skipValidation: true});
      return {san: game.move({from, to, promotion: move[4]}).san, fen: game.fen()};
    } catch {
      return {san: move, fen: ""};
    }
  }
}
