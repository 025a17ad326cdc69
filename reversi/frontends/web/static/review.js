// What is known of positions and moves.  The server judges the moves of a review (reversi/analysis/review.py); what was
// searched deeper meanwhile, for the evaluation that is shown, does not change its marks.

/** The expected result of a move for the side to move, -1 to 1, or null. */
export function valueOf(move) {
  return move.score === null ? move.value : Math.sign(move.score);
}

/** Whether an analysis has the exact margin. */
export function isExact(analysis) {
  return analysis !== undefined && analysis.moves[0].score !== null;
}

/** The one of two analyses of a position that knows more, of equals the deeper one; either may be undefined. */
export function betterOf(known, found) {
  const isComplete = ({ moves }) => moves.every(({ certain }) => certain);
  const rank = (analysis) => (isExact(analysis) ? 3 : isComplete(analysis) ? 2 : analysis.proven ? 1 : 0);
  const visits = ({ moves }) => moves.reduce((sum, move) => sum + move.visits, 0);
  if (known === undefined || found === undefined) return known ?? found;
  if (rank(found) !== rank(known)) return rank(found) > rank(known) ? found : known;
  return visits(found) >= visits(known) ? found : known;
}

/** Black's expected result of a position, whose analysis may be undefined, or null. */
export function blackValue({ over, margin, side }, analysis) {
  if (over) return Math.sign(margin);
  const value = analysis ? valueOf(analysis.moves[0]) : null;
  return value === null ? null : side === "X" ? value : -value;
}

/** Black's expected margin of a position, or null. */
export function blackMargin({ over, margin, side }, analysis) {
  if (over) return margin;
  const best = analysis?.moves[0];
  if (best === undefined || best.margin === null || (best.certain && best.score === null)) return null;
  return side === "X" ? best.margin : -best.margin;
}

/** What a review has found of a game with these moves: nothing yet. */
export function reviewOf(moves) {
  return new Review(Array(moves.length).fill(null), [], [], null);
}

class Review {
  /**
   * @param {?object[]} moves    as the server judges them, null where it has not come
   * @param {object[]} analyses  by ply
   * @param {?number[]} errors   standard errors of the margins in discs by ply, null where they are exact or unknown
   * @param {?object} whole      what is said of the whole game at the end: sums by side, decided
   */
  constructor(moves, analyses, errors, whole) {
    Object.assign(this, { moves, analyses, errors, whole });
  }

  get isEmpty() {
    return this.analyses.length === 0;
  }

  learn({ ply, analysis, move, discs_error }) {
    this.analyses[ply] = analysis;
    this.errors[ply] = discs_error;
    if (move) this.moves[ply] = move;
  }

  /** The same for a game of which only so many plies are left. */
  upTo(plies) {
    return new Review(this.moves.slice(0, plies), this.analyses.slice(0, plies + 1), this.errors.slice(0, plies + 1), null);
  }

  /** Black's expected margin by ply, in tic-tac-toe Black's result; null where it is not known. */
  margins(game, counts) {
    if (this.isEmpty) return game.positions.map(() => null);
    return game.positions.map((position, at) => {
      const { over, margin, side } = position;
      if (over || !counts) return over ? (counts ? margin : Math.sign(margin)) : blackValue(position, this.analyses[at]);
      const best = this.analyses[at]?.moves[0].margin ?? null;
      return best === null ? null : side === "X" ? best : -best;
    });
  }
}

/** What a judged move lost: in discs, with a decimal and maybe its error if that is estimated, else in per cent of a win;
 * "" if nothing. */
export function lossText({ lost_discs, lost_result, exact, mark, discs_error }) {
  if (lost_discs !== null) {
    const text = lost_discs >= (exact ? 1 : 0.5) ? `−${discsText(lost_discs, exact)}` : "";
    return text && mark && discs_error !== null ? `${text} ±${discsText(discs_error, false)}` : text;
  }
  return mark ? `−${Math.round(50 * lost_result)} %` : "";
}

/** Discs as a whole number if they are exact, else with a decimal. */
export function discsText(discs, exact) {
  return exact ? `${Math.round(discs)}` : discs.toFixed(1);
}

/** A margin with its sign. */
export function marginText(margin, exact) {
  const text = discsText(Math.abs(margin), exact);
  return `${margin > 0 && Number(text) !== 0 ? "+" : margin < 0 && Number(text) !== 0 ? "−" : ""}${text}`;
}
