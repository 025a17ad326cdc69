// The state of the page: the game shown, who plays it, what is known of its positions, and what is under way.  Every
// other module reads it here; nothing here draws or asks the server.

import { betterOf, blackValue, isExact, lossOf } from "/static/review.js";

export const PASS = "pass";
export const NAMES = { X: "Black", O: "White" };

export class State {
  game = null; // as the server sends it
  ply = 0; // the ply that is shown
  mine = "X"; // the sides that the person plays: X, O, both or none
  gone = null; // the version of the model that played this game and that the server does not have any more
  online = false; // whether the server is connected
  fault = ""; // what went wrong last
  choosing = false; // whether the opponent is thinking
  reviewing = false; // whether a review runs
  #analyses = []; // the best analysis so far by ply
  #reviewed = new Set(); // the plies that reviews have analysed

  /** @param {object} info  what the server plays */
  constructor(info) {
    this.info = info;
    this.opponent = this.offered(info.opponent); // as it was offered when it was chosen: with that version of its model
  }

  /** Whether discs decide the game. */
  get counts() {
    return this.info.game !== "tictactoe";
  }

  get position() {
    return this.game.positions[this.ply];
  }

  get lastPly() {
    return this.game.moves.length;
  }

  /** The best analysis so far of the position shown, or undefined. */
  get analysis() {
    return this.#analyses[this.ply];
  }

  /** Black's expected result by ply, null where it is not known. */
  get values() {
    return this.game.positions.map((_, at) => blackValue(this.game, this.#analyses, at));
  }

  /** What every move of the game gave away, null where that is not known. */
  get losses() {
    return this.game.moves.map((_, at) => lossOf(this.game, this.#analyses, at));
  }

  /** The ply before the person's last decision, -1 if there was none. */
  get lastDecision() {
    const isDecision = (at) => this.isMine(this.game.positions[at].side) && this.game.moves[at] !== PASS;
    return [...Array(this.ply).keys()].findLastIndex(isDecision);
  }

  /** The plies that a review looks at: those that none has reached and whose score is not known, or, if there are none,
   * all whose score is not known. */
  get pliesToReview() {
    const { positions } = this.game;
    const open = [...positions.keys()].filter((at) => !positions[at].over && !isExact(this.#analyses[at]));
    const left = open.filter((at) => !this.#reviewed.has(at));
    return left.length ? left : open;
  }

  isMine(side) {
    return this.mine === "both" || this.mine === side;
  }

  /** The opponent of that name as the server offers it now, or the default if there is none. */
  offered(name) {
    const { opponents, opponent } = this.info;
    return opponents.find((each) => each.name === name) ?? opponents.find((each) => each.name === opponent);
  }

  /** Keep an analysis of a ply unless a better one is known; `byReview` is whether a review made it. */
  learn(at, analysis, byReview) {
    this.#analyses[at] = betterOf(this.#analyses[at], analysis);
    if (byReview) this.#reviewed.add(at);
  }

  /** Let others play: the sides of the person, an opponent, or both. */
  seat({ mine = this.mine, opponent = this.opponent }) {
    [this.mine, this.opponent, this.gone] = [mine, opponent, null];
  }

  /** Show another game at a ply, null for its end; what is known of the positions that are the same as before stays
   * unless others play it: `players`, if not null. */
  replace(game, at, players) {
    const same = this.game && !players ? samePlies(this.game.moves, game.moves) + 1 : 0;
    this.#analyses.length = Math.min(this.#analyses.length, same);
    this.#reviewed = new Set([...this.#reviewed].filter((ply) => ply < same));
    if (players) this.seat(players);
    this.game = game;
    this.ply = at ?? this.lastPly;
  }
}

/** How many moves at the beginning of `moves` are those of `others`. */
function samePlies(others, moves) {
  const differs = moves.findIndex((move, index) => move !== others[index]);
  return differs < 0 ? moves.length : differs;
}
