// The course of the game: moves and other games change it, and then it goes on by what its position asks for.

import { elsewhere } from "./address.js";
import { keepGame } from "./games.js";
import { keep } from "./history.js";
import { Lesson } from "./lesson.js";
import { Refusal, loadGame } from "./server.js";
import { PASS, samePlies } from "./state.js";

const LEAST_MS = 400; // an opponent's move comes no sooner after the move before it
const PASS_MS = 900; // a pass is shown for so long
const WATCHED_MS = { slow: 2500, normal: 1200, fast: LEAST_MS }; // from move to move of a game that is watched

export class Play {
  speed = "normal"; // of a game that is watched
  #timer = 0; // of a move that waits for its time
  #requests = 0; // how many games the server was asked for
  #taking = false; // whether the last of them has not come yet
  #freeAt = 0; // when the discs have turned

  constructor(state, view, thinking) {
    this.state = state;
    this.view = view;
    this.thinking = thinking;
  }

  /** The person chose a square. */
  playAt(move) {
    const { position, lesson } = this.state;
    if (!position.legal.includes(move)) return;
    if (lesson) {
      lesson.answer(move);
      this.view.show();
    } else if (this.state.isMine(position.side)) this.play(move);
  }

  /** Play a move in the position shown; later plies are taken back. */
  play(move) {
    const { game, ply } = this.state;
    return this.take({ start: game.start, moves: [...game.moves.slice(0, ply), move] }, ply + 1);
  }

  /** Begin a game between `players`. */
  newGame(players) {
    this.state.paused = false;
    return this.take({ start: null, moves: [] }, 0, players);
  }

  /** Begin a game between the same players; `change` exchanges their sides. */
  rematch(change) {
    const { mine, opponent, second } = this.state;
    const other = { X: "O", O: "X" }[mine] ?? mine;
    const sides = change ? { mine: other, opponent: mine === "none" ? second : opponent, second: opponent } : { mine, opponent, second };
    return this.newGame({
      ...sides,
      opponent: this.state.offered(sides.opponent.name),
      second: this.state.offered(sides.second.name),
    });
  }

  /** Take back to the person's last decision. */
  undo() {
    const { game, lastDecision: at } = this.state;
    if (at >= 0) this.take({ start: game.start, moves: game.moves.slice(0, at) }, at);
  }

  /** Show another ply. */
  goTo(number) {
    const to = Math.max(0, Math.min(this.state.lastPly, number));
    if (to === this.state.ply && this.state.lesson === null) return;
    this.state.lesson = null;
    this.state.ply = to;
    this.goOn();
  }

  /** Let others play the game that is shown. */
  seat(players) {
    this.state.seat(players);
    keep(this.state, false);
    this.goOn();
  }

  /** Go on with what the server plays now: a game that has begun goes on against the same version of a model. */
  renew(info) {
    const { state, view } = this;
    if (info.game !== state.info.game) return location.reload();
    state.info = info;
    const begun = state.game !== null && (state.lastPly > 0 || state.choosing);
    if (!begun) state.seat({ opponent: state.offered(state.opponent.name), second: state.offered(state.second.name) });
    view.showInfo();
    if (state.game !== null) view.showSides();
  }

  /** Begin a review, or end the one that runs. */
  review() {
    if (this.state.reviewing) return this.#endReview();
    this.#stop();
    this.state.lesson = null;
    this.thinking.review(() => this.#endReview());
  }

  /** Look at the person's mistakes again, from the first one on, or at that with this index. */
  learn(index = 0) {
    this.state.lesson = Lesson.of(this.state, index);
    if (this.state.lesson) this.state.ply = this.state.lesson.ply;
    this.goOn();
  }

  /** Let a game that is watched stand still, or go on. */
  pause() {
    this.state.paused = !this.state.paused;
    this.goOn();
  }

  /** Play one move of a game that is watched and stands still. */
  step() {
    this.state.paused = true;
    if (this.state.ply < this.state.lastPly) return this.goTo(this.state.ply + 1);
    this.goOn(true);
  }

  /**
   * Replace the game by the one that the server makes of `request`, and go on.  Of several such requests the last one
   * counts, whichever answer comes last.  What is dropped of the game before, the browser's Back brings again.
   * @param {object} request
   * @param {?number} at        the ply to show, null for the end
   * @param {?object} players   who plays it, if not the same as before
   * @returns {Promise<string>} "taken", "refused" if the server cannot read it, "failed" if there was no answer to the
   *   question, "outdated" if there was a later request
   */
  async take(request, at, players = null, isKept = false) {
    if (!this.state.reviewing) this.#stop();
    const number = ++this.#requests;
    this.#taking = true;
    let [taken, wrong] = [null, null];
    try {
      taken = await loadGame(request);
    } catch (error) {
      wrong = error;
    }
    if (number !== this.#requests) return "outdated";
    this.#taking = false;
    this.state.fault = wrong?.message ?? "";
    this.state.elsewhere = this.state.info.sizes.includes(wrong?.size) ? { size: wrong.size, href: elsewhere(wrong.size, request) } : null;
    const before = this.state.game;
    if (taken) {
      this.#stop();
      this.state.replace(taken, at, players);
      this.view.showPlayers();
    }
    const outcome = taken ? "taken" : wrong instanceof Refusal ? "refused" : "failed";
    if (this.state.game === null) return outcome;
    if (taken) this.state.dropped = !isKept && isDropped(before, taken);
    if (outcome !== "failed") keep(this.state, taken !== null && this.state.dropped); // a link without an answer stays
    this.#show();
    if (taken && !players && this.state.position.over && this.state.mine !== "both") keepGame(this.state);
    this.#proceed();
    return outcome;
  }

  /** Show what the person has changed and go on; `once` lets a game that stands still go one move. */
  goOn(once = false) {
    this.state.fault = "";
    this.state.elsewhere = null;
    this.#show();
    this.#proceed(once);
  }

  #show() {
    this.#freeAt = performance.now() + Math.max(LEAST_MS, this.view.show());
  }

  /** Do what the position shown asks for: a pass, the opponent's move, or an evaluation; after a review that runs. */
  #proceed(once = false) {
    if (this.state.reviewing) return;
    this.#stop();
    if (this.#taking) return; // the game to come goes on by itself
    const { position, ply, lastPly, mine, paused, lesson } = this.state;
    const { side, legal, over } = position;
    if (over || ply < lastPly || lesson) return this.thinking.evaluate();
    if (mine === "none" && paused && !once) return this.thinking.evaluate();
    if (legal[0] === PASS) {
      this.#timer = setTimeout(() => this.play(PASS), PASS_MS);
      return this.view.showStatus();
    }
    if (this.state.isMine(side)) return this.thinking.evaluate();
    const begun = performance.now();
    this.thinking.choose((move, shortened) => {
      const least = mine === "none" && !once ? begun + WATCHED_MS[this.speed] : this.#freeAt;
      this.#timer = setTimeout(() => this.#reply(move, shortened), Math.max(0, least - performance.now()));
    });
  }

  /** Play an opponent's move, and say if it was searched less than usual. */
  async #reply(move, shortened) {
    const outcome = await this.play(move);
    if (outcome !== "taken" || !shortened) return;
    this.state.shortened = true;
    this.view.showSides();
  }

  #endReview() {
    this.#stop();
    this.view.show();
    this.#proceed();
  }

  #stop() {
    clearTimeout(this.#timer);
    this.thinking.stop();
  }
}

/** Whether a game replaces moves of the one before. */
function isDropped(before, game) {
  if (before === null || before.moves.length === 0) return false;
  return before.start !== game.start || samePlies(before.moves, game.moves) < before.moves.length;
}
