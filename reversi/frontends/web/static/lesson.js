// A lesson: a mistake of a reviewed game, whose position the person plays again.

import { discsText } from "./review.js";

export class Lesson {
  said = ""; // what is said of the last answer
  solved = false;

  /** The lesson with this index in the reviewed game, or null if it has no such mistake of the person's. */
  static of(state, index) {
    const { review, game, mine } = state;
    const all = mine === "both" || mine === "none";
    const isMistake = (at) => review.moves[at]?.mark && (all || state.isMine(game.positions[at].side));
    const plies = [...review.moves.keys()].filter(isMistake);
    return index < plies.length ? new Lesson(state, plies, index) : null;
  }

  constructor(state, plies, index) {
    this.ply = plies[index];
    this.number = index + 1;
    this.of = plies.length;
    this.played = state.review.moves[this.ply];
    this.moves = state.review.analyses[this.ply].moves;
    this.least = state.counts ? Math.max(this.played.discs_error ?? 0, ...state.info.marks.slice(-1).map(({ discs }) => discs)) : Infinity;
    this.counts = state.counts;
  }

  get text() {
    const { move, mark } = this.played;
    return this.said || `Mistake ${this.number} of ${this.of}: ${move}${mark} was played here. Find a better move.`;
  }

  /** The person tries a move. */
  answer(name) {
    const [best, tried] = [this.moves[0], this.moves.find(({ move }) => move === name)];
    const lost = this.#lost(best, tried);
    if (name === this.played.move) this.said = `${name} is the move of the game${costText(lost)}. Try another.`;
    else if (lost === null) this.said = `${name} was not searched: it looked worse than ${best.move}. Try another.`;
    else if (lost.discs >= this.least || lost.result >= 0.5) this.said = `${name} is no better${costText(lost)}. Try another.`;
    else {
      this.solved = true;
      this.said = tried === best || tried.same_as === best.move ? `${name} is the best move.` : `${name} is good; the best move is ${best.move}.`;
    }
  }

  /** Tell the best move. */
  tell() {
    this.solved = true;
    this.said = `The best move is ${this.moves[0].move}${costText(this.#lost(this.moves[0], this.moves.find(({ move }) => move === this.played.move)), `; ${this.played.move}`)}.`;
  }

  /** What a move loses against the best one, or null if it has no value. */
  #lost(best, tried) {
    if (tried === undefined || (tried.value === null && tried.score === null)) return null;
    const exact = best.score !== null && tried.score !== null;
    const discs = this.counts ? best.margin - tried.margin : 0;
    const proven = exact || (best.certain && tried.certain) || !this.counts;
    return { discs, exact, result: proven ? best.value - tried.value : 0 };
  }
}

function costText(lost, who = "") {
  if (lost === null || lost.discs <= 0) return "";
  return `${who} loses ${discsText(lost.discs, lost.exact)} discs`.replace(/^ /, who ? "" : ": it ");
}
