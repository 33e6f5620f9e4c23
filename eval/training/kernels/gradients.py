"""The float network and its gradient: sparse forward and backward passes over packed positions.

    accumulator  a[p] = bias + sum of the feature rows of perspective p, side to move first; float32[2][H]
    activation   c[p] = min(max(a[p], 0), 1)^2
    output       o = dot(c, output[bucket]) + output bias[bucket]; SCALE * o is the score in centipawns
    expected     e = 1 / (1 + exp(-SCALE * o / scale))
    target       t = share * result + (1 - share) * 1 / (1 + exp(-score / scale))
    loss         mean of (e - t)^2

H is the length of an accumulator. `result` is 0, 0.5 or 1; `share` and `scale` come from Blend. All values are from
the side to move's view. The feature rows are those of `eval.kernels.features`, ordered by side (own pieces first), then
piece type (pawn to king), then square: R = 768 rows, and those of threats, if the network has them. Both passes touch
only the rows of the position, about 23. The gradient of a batch is a sum, which `reduce_gradients` turns into a mean.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.board.bits import U0, lsb, without_lsb
from engine.board.position import BLACK, KING, PAWN, POSITION, ROOK, WHITE
from engine.compiler.jit import float_inlined, float_kernel, inlined, kernel
from engine.memory import allocate
from eval.kernels.features import output_bucket, position_threats, threat_rows
from eval.network.layout import BLOCK, FEATURES, MOST_PIECES, MOST_THREATS, ONE, QA, QB, SCALE, THREATS
from eval.training.kernels.blocks import activate, descend, gather, scatter
from eval.training.kernels.records import BLACK_PIECE, BLACK_TO_MOVE, CASTLING_ROOK, clear, piece_code, put_piece

Floats = npt.NDArray[np.float32]

#: Training reads positions from the pool in chunks of this many positions: 4096 bytes, usually a page of memory.
CHUNK: Final = 128

#: The largest number of rows of a view.
MOST_ROWS: Final = MOST_PIECES + MOST_THREATS

#: The number of features of a side's own pieces; the features of the opponent's pieces follow.
_SIDE: Final = FEATURES // 2
#: XOR with this mirrors a square or a feature left to right.
_MIRROR: Final = 7
#: XOR with this flips a square or a feature upside down.
_FLIP: Final = 56
#: This bit is set in the squares of the files e to h.
_RIGHT_HALF: Final = 4

# A literal 0.0 would be float64.
_ZERO: Final = np.float32(0.0)


class Layers(NamedTuple):
    """A network's parameters, or their gradient, as views of one float32 vector.

    `features` [H / BLOCK][R][BLOCK], so that training reads them in order (see `by_row`), `bias` [H], `output`
    [B][2 H] (side to move first), `output_bias` [B], for B buckets.
    """

    features: Floats
    bias: Floats
    output: Floats
    output_bias: Floats


class Integers(NamedTuple):
    """The arrays of a quantised network, as in `eval.network.format.Network`; threats follow the features as int16."""

    features: npt.NDArray[np.int16]
    bias: npt.NDArray[np.int16]
    output: npt.NDArray[np.int16]
    output_bias: npt.NDArray[np.int32]


class Blend(NamedTuple):
    """The parameters of the target: the share of the game's result, and the scale of the sigmoid in centipawns."""

    result_share: float
    scale: float


class Scratch(NamedTuple):
    """A thread's scratch memory for CHUNK positions, each with two views: the side to move's and the opponent's.

    `rows` int64[CHUNK][2][MOST_ROWS] are the feature rows of each view, `row_counts` int64[CHUNK] their numbers,
    `buckets` int64[CHUNK] the output layers, `outputs` and `slopes` float32[CHUNK] the network's outputs and the
    derivatives of the loss, `sums` float32[H / BLOCK][2 CHUNK][BLOCK] the accumulators of the views. `begins`
    int64[R + 2] and `views` int16[2 * MOST_ROWS * CHUNK] list the views by row. `board` POSITION[1] is for
    `sample_features`.
    """

    board: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    row_counts: npt.NDArray[np.int64]
    buckets: npt.NDArray[np.int64]
    outputs: Floats
    slopes: Floats
    sums: Floats
    begins: npt.NDArray[np.int64]
    views: npt.NDArray[np.int16]


def row_count(has_threats: bool) -> int:
    """Returns R, the number of rows of a network's first layer."""
    return FEATURES + (THREATS if has_threats else 0)


def part_sizes(hidden: int, buckets: int, has_threats: bool) -> list[int]:
    """Returns the sizes of the four arrays of Layers."""
    return [row_count(has_threats) * hidden, hidden, buckets * 2 * hidden, buckets]


def parameter_count(hidden: int, buckets: int, has_threats: bool = False) -> int:
    """Returns the number of a network's parameters, rounded up to whole cache lines; the padding stays 0."""
    return -(-sum(part_sizes(hidden, buckets, has_threats)) // 16) * 16


def layers_of(vector: Floats, hidden: int, buckets: int, has_threats: bool = False) -> Layers:
    """Splits a vector of `parameter_count` floats into Layers, which share its memory."""
    sizes = part_sizes(hidden, buckets, has_threats)
    parts = [vector[end - size : end] for end, size in zip(np.cumsum(sizes), sizes, strict=True)]
    features = parts[0].reshape(hidden // BLOCK, row_count(has_threats), BLOCK)
    return Layers(features, parts[1], parts[2].reshape(buckets, 2 * hidden), parts[3])


def by_block(features: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns feature weights [R][H] in the order of `Layers.features`, [H / BLOCK][R][BLOCK]."""
    return features.reshape(len(features), -1, BLOCK).transpose(1, 0, 2)


def by_row(features: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns feature weights in the order of `Layers.features` as [R][H]; reverses `by_block`."""
    return features.transpose(1, 0, 2).reshape(features.shape[1], -1)


def new_vector(size: int) -> Floats:
    """Returns zeros, float32[size], in cache lines that contain nothing else."""
    vector: Floats = allocate(np.dtype(np.float32), size)
    return vector


def new_scratch(hidden: int, has_threats: bool = False) -> Scratch:
    """Allocates the scratch memory of one thread."""

    def integers(count: int) -> npt.NDArray[np.int64]:
        array: npt.NDArray[np.int64] = allocate(np.dtype(np.int64), count)
        return array

    return Scratch(
        board=allocate(POSITION, 1),
        rows=integers(CHUNK * 2 * MOST_ROWS).reshape(CHUNK, 2, MOST_ROWS),
        row_counts=integers(CHUNK),
        buckets=integers(CHUNK),
        outputs=new_vector(CHUNK),
        slopes=new_vector(CHUNK),
        sums=new_vector(CHUNK * 2 * hidden).reshape(hidden // BLOCK, 2 * CHUNK, BLOCK),
        begins=integers(row_count(has_threats) + 2),
        views=allocate(np.dtype(np.int16), CHUNK * 2 * MOST_ROWS),
    )


@inlined
def _add_threat_rows(packed, count, board, white, rows):
    """Appends the rows of threats to the first `count` rows of `rows`, one for each piece. White's are rows[white].

    Returns the number of rows, int64. Mutates `board` (POSITION) and `rows`.
    """
    clear(board)
    remaining = packed.occupied
    for index in range(count):
        code = piece_code(packed, index)
        piece = np.int64(ROOK) if code & 7 == CASTLING_ROOK else max(code & 7, np.int64(PAWN))
        put_piece(board, lsb(remaining), np.int64(BLACK if code & BLACK_PIECE != 0 else WHITE), piece)
        remaining = without_lsb(remaining)
    # An invalid position may lack a king.
    if board.pieces[KING] & board.colors[WHITE] == U0 or board.pieces[KING] & board.colors[BLACK] == U0:
        return count
    hanging, checks = position_threats(board)
    total = count + threat_rows(board, hanging, checks, rows[white][count:], rows[1 - white][count:])
    for side in range(2):
        for index in range(count, total):
            rows[side, index] += FEATURES
    return total


@inlined
def sample_features(packed, has_threats, board, rows):
    """Writes the feature rows of a PACKED position into `rows` int64[2][MOST_ROWS] (mutated), side to move first.

    `has_threats` says whether the network has rows for threats. Mutates `board` (POSITION), too. Returns the
    numbers of pieces, 2 to 32, and of rows, both int64. An invalid position can give wrong rows, but none outside the
    network's.
    """
    white = np.int64(1) if np.int64(packed.state) & BLACK_TO_MOVE != 0 else np.int64(0)
    white_mirror = np.int64(0)
    black_mirror = np.int64(0)
    count = np.int64(0)
    remaining = packed.occupied
    while remaining != U0 and count < MOST_PIECES:
        square = lsb(remaining)
        code = piece_code(packed, count)
        is_black = code >> 3
        piece = code & 7
        if piece == CASTLING_ROOK:
            piece = np.int64(ROOK)
        if piece == KING:
            mirror = np.int64(_MIRROR if square & _RIGHT_HALF != 0 else 0)
            if is_black != 0:
                black_mirror = mirror
            else:
                white_mirror = mirror
        plane = (max(piece, 1) - 1) * 64
        rows[white, count] = is_black * _SIDE + plane + square
        rows[1 - white, count] = (1 - is_black) * _SIDE + plane + (square ^ _FLIP)
        count += 1
        remaining = without_lsb(remaining)
    for index in range(count):
        rows[white, index] ^= white_mirror
        rows[1 - white, index] ^= black_mirror
    total = _add_threat_rows(packed, count, board, white, rows) if has_threats else count
    # An invalid position may have fewer than two pieces.
    return max(count, np.int64(2)), max(total, np.int64(2))


@inlined
def _sigmoid(value):
    return 1.0 / (1.0 + math.exp(-value))


@inlined
def _target(sample, blend):
    """Returns the target of a SAMPLE: an expected result for the side to move, 0 to 1, float64."""
    score = np.float64(sample.score)
    result = 0.5 * np.float64(sample.result)
    if np.int64(sample.position.state) & BLACK_TO_MOVE != 0:
        score = -score
        result = 1.0 - result
    return blend.result_share * result + (1.0 - blend.result_share) * _sigmoid(score / blend.scale)


@inlined
def _sort_views(scratch, count):
    """Lists the views of `count` positions by feature row. Mutates `scratch`.

    The views with row r are views[begins[r]:begins[r + 1]]; view 2 * i + s is that of side s in position i.
    """
    begins, views = scratch.begins, scratch.views
    begins[:] = 0
    for index in range(count):
        for side in range(2):
            for number in range(scratch.row_counts[index]):
                begins[scratch.rows[index, side, number] + 2] += 1
    for row in range(2, begins.size):
        begins[row] += begins[row - 1]
    for index in range(count):
        for side in range(2):
            for number in range(scratch.row_counts[index]):
                row = scratch.rows[index, side, number] + 1
                views[begins[row]] = 2 * index + side
                begins[row] += 1


@float_inlined
def _forward(layers, samples, first, count, scratch):
    """Writes the network's outputs for `count` positions, at most CHUNK, from index `first` on into `scratch.outputs`.

    Leaves the sums, clipped to 0 to 1, in `scratch.sums`; their squares are the activations. Mutates `scratch`.
    """
    hidden, rows = layers.bias.size, layers.features.shape[1]
    features, weights, sums = layers.features.reshape(-1), layers.output.reshape(-1), scratch.sums.reshape(-1)
    for index in range(count):
        pieces, active = sample_features(
            samples[first + index].position, rows > FEATURES, scratch.board[0], scratch.rows[index]
        )
        scratch.row_counts[index] = active
        scratch.buckets[index] = output_bucket(pieces, layers.output_bias.size)
        scratch.outputs[index] = layers.output_bias[scratch.buckets[index]]
    _sort_views(scratch, count)
    for column in range(0, hidden, BLOCK):
        begin = column * 2 * CHUNK
        sums[begin : begin + 2 * count * BLOCK] = _ZERO
        for row in range(rows):
            start, end = scratch.begins[row], scratch.begins[row + 1]
            if start != end:
                scatter(sums, begin, scratch.views, start, end - start, features, column * rows + row * BLOCK)
        for index in range(count):
            place = begin + 2 * index * BLOCK
            start = scratch.buckets[index] * 2 * hidden + column
            own = activate(sums, place, layers.bias, column, weights, start)
            other = activate(sums, place + BLOCK, layers.bias, column, weights, start + hidden)
            scratch.outputs[index] += own + other


@float_inlined
def _backward(layers, scratch, gradient):
    """Adds the outputs' derivatives times `scratch.slopes` (d loss / d output) to `gradient` (Layers, mutated).

    `scratch` must be as `_forward` left it for CHUNK positions; its sums are mutated.
    """
    hidden, rows = layers.bias.size, layers.features.shape[1]
    weights, changes = layers.output.reshape(-1), gradient.output.reshape(-1)
    features, sums = gradient.features.reshape(-1), scratch.sums.reshape(-1)
    for index in range(CHUNK):
        gradient.output_bias[scratch.buckets[index]] += scratch.slopes[index]
    for column in range(0, hidden, BLOCK):
        begin = column * 2 * CHUNK
        for index in range(CHUNK):
            place, slope = begin + 2 * index * BLOCK, scratch.slopes[index]
            start = scratch.buckets[index] * 2 * hidden + column
            descend(sums, place, slope, weights, changes, start, gradient.bias, column)
            descend(sums, place + BLOCK, slope, weights, changes, start + hidden, gradient.bias, column)
        for row in range(rows):
            start, end = scratch.begins[row], scratch.begins[row + 1]
            if start != end:
                gather(features, column * rows + row * BLOCK, sums, begin, scratch.views, start, end - start)


@float_kernel
def add_gradients(layers, samples, chunks, blend, scratch, gradient):
    """Returns the sum of the squared errors, float64, over some chunks of `samples` (SAMPLE[n]).

    `chunks` (int64[k]) contains the numbers of these chunks; chunk c begins at position CHUNK * c. Adds the
    derivatives of the sum to `gradient` (Layers, mutated). Mutates `scratch` (Scratch).
    """
    factor = SCALE / blend.scale
    loss = 0.0
    for number in range(chunks.size):
        first = chunks[number] * CHUNK
        _forward(layers, samples, first, CHUNK, scratch)
        for index in range(CHUNK):
            expected = _sigmoid(factor * scratch.outputs[index])
            error = expected - _target(samples[first + index], blend)
            loss += error * error
            scratch.slopes[index] = np.float32(2.0 * error * expected * (1.0 - expected) * factor)
        _backward(layers, scratch, gradient)
    return loss


@float_kernel
def outputs(layers, samples, blend, scratch, out):
    """Writes the network's output for SAMPLE[n] into `out` float32[n] (mutated), in units of SCALE centipawns.

    Returns the sum of the squared errors, float64. Mutates `scratch` (Scratch).
    """
    factor = SCALE / blend.scale
    loss = 0.0
    for first in range(0, samples.size, CHUNK):
        count = min(np.int64(CHUNK), samples.size - first)
        _forward(layers, samples, first, count, scratch)
        for index in range(count):
            out[first + index] = scratch.outputs[index]
            error = _sigmoid(factor * scratch.outputs[index]) - _target(samples[first + index], blend)
            loss += error * error
    return loss


@float_kernel
def network_inputs(samples, chunks, blend, buckets, filler, scratch, inputs):
    """Writes the inputs and targets of some chunks of `samples` (SAMPLE[n]), as a device needs them.

    `chunks` (int64[k]) contains the numbers of these chunks; `buckets` is the network's, `filler` is its R. Mutates
    `scratch`, POSITION and int64[2][MOST_ROWS], and `inputs`: int16[k * CHUNK][2][MOST_ROWS], the feature rows, side to
    move first, then `filler`; int32[k * CHUNK], the output layers; float32[k * CHUNK], the targets.
    """
    board, found = scratch
    rows, bucket, targets = inputs
    for number in range(chunks.size):
        for index in range(CHUNK):
            place = number * CHUNK + index
            sample = samples[chunks[number] * CHUNK + index]
            pieces, active = sample_features(sample.position, filler > FEATURES, board, found)
            bucket[place] = output_bucket(pieces, buckets)
            targets[place] = _target(sample, blend)
            for side in range(2):
                for entry in range(MOST_ROWS):
                    rows[place, side, entry] = found[side, entry] if entry < active else filler


@kernel
def integer_scores(network, scale, samples, board, rows, accumulator, out):
    """Writes the evaluation of SAMPLE[n] in centipawns, as `eval.network.layout` defines it, into `out` int64[n].

    `network` is Integers. Mutates `board` (POSITION), `rows` int64[2][MOST_ROWS], `accumulator` int64[H] and `out`.
    """
    has_threats = network.features.shape[0] > FEATURES
    for index in range(samples.size):
        pieces, active = sample_features(samples[index].position, has_threats, board, rows)
        bucket = output_bucket(pieces, network.output_bias.size)
        total = np.int64(0)
        for side in range(2):
            for unit in range(accumulator.size):
                accumulator[unit] = network.bias[unit]
            for number in range(active):
                for unit in range(accumulator.size):
                    accumulator[unit] += network.features[rows[side, number], unit]
            for unit in range(accumulator.size):
                clipped = min(max(accumulator[unit], 0), QA)
                total += ((clipped * clipped + 256) >> 9) * np.int64(network.output[bucket, side, unit])
        out[index] = (total + np.int64(network.output_bias[bucket])) * scale // (ONE * QB)


@kernel
def count_invalid(samples):
    """Returns how many of SAMPLE[n] have a wrong number of kings, an invalid piece or over 32 pieces, as int64."""
    invalid = np.int64(0)
    for index in range(samples.size):
        packed = samples[index].position
        white_kings = np.int64(0)
        black_kings = np.int64(0)
        invalid_pieces = np.int64(0)
        pieces = np.int64(0)
        remaining = packed.occupied
        while remaining != U0:
            code = piece_code(packed, pieces)
            white_kings += code == KING
            black_kings += code == KING + BLACK_PIECE
            invalid_pieces += code & 7 == 0
            pieces += 1
            remaining = without_lsb(remaining)
        if white_kings != 1 or black_kings != 1 or invalid_pieces != 0 or pieces > MOST_PIECES:
            invalid += 1
    return invalid
