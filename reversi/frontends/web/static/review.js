// The review: what the moves of a game gave away, as far as its analyses say.  The server says what the marks are
// (reversi/frontends/review.py): for each, worst first, its sign, its meaning, and the least loss that it is of, of the
// expected result or in discs, null for the other; an estimate counts as the nearest of none, a half and all of it.

/** The expected result of a move for the side to move, -1 to 1, or null. */
export function valueOf(move) {
  return move.score === null ? move.value : Math.sign(move.score);
}

/** Whether an analysis has the exact margin. */
export function isExact(analysis) {
  return analysis !== undefined && analysis.moves[0].score !== null;
}

/** The one of two analyses of a position that knows more, of equals the deeper one; `known` may be undefined. */
export function betterOf(known, found) {
  const isComplete = ({ moves }) => moves.every(({ certain }) => certain);
  const rank = (analysis) => (isExact(analysis) ? 3 : isComplete(analysis) ? 2 : analysis.proven ? 1 : 0);
  const visits = ({ moves }) => moves.reduce((sum, move) => sum + move.visits, 0);
  if (known === undefined || rank(found) > rank(known)) return found;
  return rank(found) === rank(known) && visits(found) >= visits(known) ? found : known;
}

/** Black's expected result at a ply, or null. */
export function blackValue(game, analyses, at) {
  const { over, margin, side } = game.positions[at];
  if (over) return Math.sign(margin);
  const value = analyses[at] ? valueOf(analyses[at].moves[0]) : null;
  return value === null ? null : side === "X" ? value : -value;
}

/**
 * What a move gave away, or null where that is not known.
 * @param {number} at  the ply before the move
 * @returns {?{result: number, discs: ?number, best: ?string}}  of the expected result, 0 to 2; of the exact margin, null
 *   where it is not known; the move that keeps both, null if the move played does
 */
export function lossOf(game, analyses, at) {
  if (!analyses[at]) return null;
  const [best, name] = [analyses[at].moves[0], game.moves[at]];
  const played = analyses[at].moves.find(({ move }) => move === name);
  if (isExact(analyses[at]) && typeof played?.score === "number") {
    const discs = best.score - played.score;
    return { result: valueOf(best) - valueOf(played), discs, best: discs > 0 ? best.move : null };
  }
  if (best.certain && played?.certain) {
    const result = valueOf(best) - valueOf(played);
    return { result, discs: null, best: result > 0 ? best.move : null };
  }
  const [before, after] = [blackValue(game, analyses, at), blackValue(game, analyses, at + 1)];
  if (before === null || after === null) return null;
  if (best.move === name) return { result: 0, discs: null, best: null }; // what comes after corrects the estimate
  const result = game.positions[at].side === "X" ? before - after : after - before;
  return { result: Math.max(0, result), discs: null, best: best.move };
}

/** The mark of a loss, one of `marks`, or null. */
export function markOf(loss, marks) {
  return marks.find(({ result, discs }) => (result === null ? loss.discs !== null && loss.discs >= discs : loss.result >= result)) ?? null;
}

/** A loss in discs, else that of a marked move in per cent, or "". */
export function lossText(loss, mark) {
  if (loss.discs !== null) return loss.discs > 0 ? `−${loss.discs}` : "";
  return mark ? `−${Math.round(50 * loss.result)} %` : "";
}

/**
 * What both players gave away in a game of which every move is judged.
 * @param {object[]} losses  by ply, as lossOf gives them
 * @param {object[]} marks   as the server sends them
 * @returns {Object<string, {marks: Object<string, number>, moves: number, exact: number, discs: ?number}>}  by side:
 *   how many moves have a mark, how many there are, of how many the discs are known, and their sum, null of none
 */
export function sumsOf(game, losses, marks) {
  const sums = {};
  for (const side of "XO") {
    const mine = losses.filter((_, at) => game.positions[at].side === side);
    const exact = mine.filter(({ discs }) => discs !== null);
    const count = (mark) => mine.filter((loss) => markOf(loss, marks) === mark).length;
    sums[side] = {
      marks: Object.fromEntries(marks.map((mark) => [mark.sign, count(mark)])),
      moves: mine.length,
      exact: exact.length,
      discs: exact.length ? exact.reduce((sum, { discs }) => sum + discs, 0) : null,
    };
  }
  return sums;
}
