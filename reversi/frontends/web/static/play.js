// The course of the game: moves and other games change it, and then it goes on by what its position asks for.

import { keep } from "/static/history.js";
import { Refusal, loadGame } from "/static/server.js";
import { PASS } from "/static/state.js";

const PASS_MS = 700; // a pass is shown for so long

export class Play {
  #passing = 0; // the timer of a pass
  #requests = 0; // how many games the server was asked for
  #taking = false; // whether the last of them has not come yet

  constructor(state, view, thinking) {
    this.state = state;
    this.view = view;
    this.thinking = thinking;
  }

  /** The person chose a square. */
  playAt(move) {
    const { position } = this.state;
    if (position.legal.includes(move) && this.state.isMine(position.side)) this.play(move);
  }

  /** Play a move in the position shown; later plies are taken back. */
  play(move) {
    const { game, ply } = this.state;
    return this.take({ start: game.start, moves: [...game.moves.slice(0, ply), move] }, ply + 1);
  }

  /** Begin a game between `players`. */
  newGame(players) {
    return this.take({ start: null, moves: [] }, 0, players);
  }

  /** Take back to the person's last decision. */
  undo() {
    const { game, lastDecision: at } = this.state;
    if (at >= 0) this.take({ start: game.start, moves: game.moves.slice(0, at) }, at);
  }

  /** Show another ply. */
  goTo(number) {
    const to = Math.max(0, Math.min(this.state.lastPly, number));
    if (to === this.state.ply) return;
    this.state.ply = to;
    this.goOn();
  }

  /** Let others play the game that is shown. */
  seat(players) {
    this.state.seat(players);
    keep(this.state);
    this.goOn();
  }

  /** Go on with what the server plays now: a game that has begun goes on against the same version of a model. */
  renew(info) {
    const { state, view } = this;
    if (info.game !== state.info.game) return location.reload();
    state.info = info;
    const begun = state.game !== null && (state.lastPly > 0 || state.choosing);
    if (!begun) state.seat({ opponent: state.offered(state.opponent.name) });
    view.showInfo();
    if (state.game !== null) view.showSides();
  }

  /** Begin a review, or end the one that runs. */
  review() {
    if (this.state.reviewing) return this.#endReview();
    this.#stop();
    this.thinking.review(() => this.#endReview());
  }

  /**
   * Replace the game by the one that the server makes of `request`, and go on.  Of several such requests the last one
   * counts, whichever answer comes last.
   * @param {object} request
   * @param {?number} at        the ply to show, null for the end
   * @param {?object} players   who plays it, if not the same as before
   * @returns {Promise<string>} "taken", "refused" if the server cannot read it, "failed" if there was no answer to the
   *   question, "outdated" if there was a later request
   */
  async take(request, at, players = null) {
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
    if (taken) {
      this.#stop();
      this.state.replace(taken, at, players);
      this.view.showPlayers();
    }
    const outcome = taken ? "taken" : wrong instanceof Refusal ? "refused" : "failed";
    if (this.state.game === null) return outcome;
    if (outcome !== "failed") keep(this.state); // a link that had no answer stays, to be loaded again
    this.view.show();
    this.#proceed();
    return outcome;
  }

  /** Show what the person has changed and go on. */
  goOn() {
    this.state.fault = "";
    this.view.show();
    this.#proceed();
  }

  /** Do what the position shown asks for: a pass, the opponent's move, or an evaluation; after a review that runs. */
  #proceed() {
    if (this.state.reviewing) return;
    this.#stop();
    if (this.#taking) return; // the game to come goes on by itself
    const { position, ply, lastPly } = this.state;
    const { side, legal, over } = position;
    if (over || ply < lastPly) return this.thinking.evaluate();
    if (legal[0] === PASS) {
      this.#passing = setTimeout(() => this.play(PASS), PASS_MS);
      return this.view.showStatus();
    }
    if (this.state.isMine(side)) return this.thinking.evaluate();
    this.thinking.choose((move) => this.play(move));
  }

  #endReview() {
    this.#stop();
    this.#proceed();
  }

  #stop() {
    clearTimeout(this.#passing);
    this.thinking.stop();
  }
}
