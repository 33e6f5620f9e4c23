// Positions for the board: a FEN and moves give the FEN to show. Legality is not the page's business.

const FILES = "abcdefgh";

/** Squares by name, from the placement of a FEN. */
function squaresOf(placement) {
  const squares = new Map();
  placement.split("/").forEach((row, index) => {
    let file = 0;
    for (const sign of row) {
      if (/\d/.test(sign)) file += Number(sign);
      else squares.set(`${FILES[file++]}${8 - index}`, sign);
    }
  });
  return squares;
}

function placementOf(squares) {
  const rows = [];
  for (let rank = 8; rank >= 1; rank--) {
    let row = "", empty = 0;
    for (const file of FILES) {
      const piece = squares.get(`${file}${rank}`);
      if (!piece) {
        empty++;
        continue;
      }
      row += (empty || "") + piece;
      empty = 0;
    }
    rows.push(row + (empty || ""));
  }
  return rows.join("/");
}

function castle(squares, from, to, king) {
  // King takes rook in Chess960, two steps of the king otherwise.
  const rank = from[1], toKingSide = to[0] > from[0];
  let rook = to;
  if (squares.get(to)?.toLowerCase() !== "r") {
    const files = toKingSide ? [...FILES].reverse() : [...FILES];
    rook = `${files.find((file) => squares.get(file + rank)?.toLowerCase() === "r")}${rank}`;
  }
  const tower = squares.get(rook);
  squares.delete(from);
  squares.delete(rook);
  squares.set(`${toKingSide ? "g" : "c"}${rank}`, king);
  squares.set(`${toKingSide ? "f" : "d"}${rank}`, tower);
}

/** The placement (first field of a FEN) after moves in UCI notation; "0000" passes. */
export function placementAfter(fen, moves) {
  const squares = squaresOf(fen.split(" ")[0]);
  for (const move of moves) {
    if (move === "0000") continue;
    const from = move.slice(0, 2), to = move.slice(2, 4), promoted = move[4];
    const piece = squares.get(from);
    if (!piece) continue;
    const own = squares.get(to) && (squares.get(to) === squares.get(to).toUpperCase()) === (piece === piece.toUpperCase());
    const twoSteps = Math.abs(FILES.indexOf(from[0]) - FILES.indexOf(to[0])) > 1 && from[1] === to[1];
    if (piece.toLowerCase() === "k" && (own || (twoSteps && "18".includes(from[1])))) {
      castle(squares, from, to, piece);
      continue;
    }
    // A pawn that changes its file onto an empty square has captured in passing.
    if (piece.toLowerCase() === "p" && from[0] !== to[0] && !squares.get(to)) squares.delete(to[0] + from[1]);
    squares.delete(from);
    squares.set(to, promoted ? (piece === "P" ? promoted.toUpperCase() : promoted.toLowerCase()) : piece);
  }
  return placementOf(squares);
}
