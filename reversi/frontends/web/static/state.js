// The state of the page: the game shown, who plays it, what is known of its positions, and what is under way.  Every
// other module reads it here; nothing here draws or asks the server.

import { betterOf, blackValue, reviewOf } from "./review.js";

export const PASS = "pass";
export const NAMES = { X: "Black", O: "White" };

export class State {
  game = null; // as the server sends it
  ply = 0; // the ply that is shown
  mine = "X"; // the sides that the person plays: X, O, both or none
  gone = null; // the version of the model that played this game and that the server does not have any more
  online = false; // whether the server is connected
  fault = ""; // what went wrong last
  elsewhere = null; // the page that plays the game which was refused: its size and address
  choosing = false; // whether an opponent is thinking
  shortened = false; // whether its last move was searched less for the sake of other games
  reviewing = false; // whether a review runs
  paused = false; // whether a game that is watched stands still
  dropped = false; // whether the last change took moves away, which the browser's Back brings again
  lesson = null; // the mistake that is looked at again: see lesson.js
  #analyses = []; // the best analysis so far by ply

  /** @param {object} info  what the server plays */
  constructor(info) {
    this.info = info;
    this.opponent = this.offered(info.opponent); // as it was offered when it was chosen: with that version of its model
    this.second = this.opponent; // who plays Black where the person watches
    this.review = reviewOf([]);
  }

  /** Whether discs decide the game. */
  get counts() {
    return this.info.game !== "tictactoe";
  }

  get position() {
    return this.game.positions[this.ply];
  }

  get lastPly() {
    return this.game?.moves.length ?? 0;
  }

  /** Whether the game has moves and is not over. */
  get isUnfinished() {
    return this.game !== null && this.lastPly > 0 && !this.game.positions.at(-1).over;
  }

  /** The best analysis so far of the position shown, or undefined. */
  get analysis() {
    return betterOf(this.#analyses[this.ply], this.review.analyses[this.ply]);
  }

  /** Black's expected result in the position shown, or null. */
  get value() {
    return blackValue(this.position, this.analysis);
  }

  /** The ply before the person's last decision, -1 if there was none. */
  get lastDecision() {
    const isDecision = (at) => this.isMine(this.game.positions[at].side) && this.game.moves[at] !== PASS;
    return [...Array(this.ply).keys()].findLastIndex(isDecision);
  }

  isMine(side) {
    return this.mine === "both" || this.mine === side;
  }

  /** Who plays a side that is not the person's. */
  playerOf(side) {
    return this.mine === "none" && side === "X" ? this.second : this.opponent;
  }

  /** The opponent of that name as the server offers it now, or the default if there is none. */
  offered(name) {
    const { opponents, opponent } = this.info;
    return opponents.find((each) => each.name === name) ?? opponents.find((each) => each.name === opponent);
  }

  /** Keep an analysis of a ply unless a better one is known. */
  learn(at, analysis) {
    this.#analyses[at] = betterOf(this.#analyses[at], analysis);
  }

  /** Let others play: the sides of the person, an opponent, the second one, or all. */
  seat({ mine = this.mine, opponent = this.opponent, second = this.second }) {
    [this.mine, this.opponent, this.second, this.gone] = [mine, opponent, second, null];
  }

  /** Show another game at a ply, null for its end; what is known of the positions that are the same as before stays
   * unless others play it: `players`, if not null. */
  replace(game, at, players) {
    const same = this.game && !players && this.game.start === game.start ? samePlies(this.game.moves, game.moves) : -1;
    this.#analyses.length = Math.min(this.#analyses.length, same + 1);
    if (same < game.moves.length || same < this.lastPly) this.review = this.review.upTo(Math.max(0, same));
    if (players) this.seat(players);
    this.shortened = false;
    this.game = game;
    this.ply = at ?? this.lastPly;
    this.lesson = null;
  }
}

/** How many moves at the beginning of `moves` are those of `others`. */
export function samePlies(others, moves) {
  const differs = moves.findIndex((move, index) => move !== others[index]);
  return differs < 0 ? moves.length : differs;
}
