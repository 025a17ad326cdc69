// What the page has the server think about: an opponent's move, the position shown, the whole game; one at a time.

import { isExact, reviewOf } from "./review.js";
import { Thinker } from "./server.js";

export class Thinking {
  #thinker;

  /** @param {(info: object) => void} onInfo  called with what the server plays, at once and when that changes */
  constructor(state, view, onInfo) {
    this.state = state;
    this.view = view;
    this.#thinker = new Thinker((connected) => {
      state.online = connected;
      view.showStatus();
    }, onInfo);
  }

  /** Stop what is under way. */
  stop() {
    this.state.choosing = this.state.reviewing = false;
    this.view.showReview();
    this.#thinker.stop();
  }

  /** Ask the opponent for its move at the end of the game; `onMove` gets it. */
  choose(onMove) {
    const { game, position } = this.state;
    const player = this.state.playerOf(position.side);
    this.state.choosing = true;
    this.view.showStatus();
    const { name, model } = player;
    this.#ask({ do: "choose", opponent: name, model, start: game.start, moves: game.moves }, (answer) => {
      if (!answer.analysis) return;
      this.state.choosing = false;
      if (answer.opponent.model !== model) {
        this.state.seat({ [player === this.state.opponent ? "opponent" : "second"]: answer.opponent });
        this.state.gone = model;
      }
      onMove(answer.analysis.moves[0].move, answer.shortened);
    });
  }

  /** Evaluate the position shown, if the person wants that and it is not solved. */
  evaluate() {
    const { game, ply, position, analysis } = this.state;
    this.view.showAnalysis();
    if (!this.view.evaluates || position.over || isExact(analysis)) return;
    this.#ask({ do: "analyse", start: game.start, moves: game.moves.slice(0, ply) }, ({ analysis: found }) => {
      if (!found) return;
      this.state.learn(ply, found);
      if (this.state.ply === ply) this.view.showAnalysis();
    });
  }

  /** Review the game; `onEnd` is called at its end. */
  review(onEnd) {
    const { game } = this.state;
    this.state.review = reviewOf(game.moves);
    this.state.reviewing = true;
    this.view.showReview();
    this.view.showStatus();
    this.#ask({ do: "review", start: game.start, moves: game.moves }, (answer) => {
      if (answer.analysis) this.state.review.learn(answer);
      if (answer.review) this.state.review.whole = answer.review;
      if (answer.final) return onEnd();
      this.view.showAnalysis();
      this.view.showMoves();
    });
  }

  /** Send a request; `onAnswer` gets its answers, of which one may say what was wrong. */
  #ask(request, onAnswer) {
    this.#thinker.ask(request, (answer) => {
      if (answer.error) {
        this.state.fault = answer.error;
        this.state.choosing = false;
        this.view.showStatus();
      }
      onAnswer(answer);
    });
  }
}
