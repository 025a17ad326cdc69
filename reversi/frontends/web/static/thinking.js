// What the page has the server think about: the opponent's move, the position shown, the whole game; one at a time.

import { isExact } from "/static/review.js";
import { Thinker } from "/static/server.js";

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
    const { game, opponent } = this.state;
    this.state.choosing = true;
    this.view.showStatus();
    const { name, model } = opponent;
    this.#ask({ do: "choose", opponent: name, model, start: game.start, moves: game.moves }, (answer) => {
      if (!answer.analysis) return;
      this.state.choosing = false;
      if (answer.opponent.model !== model) {
        this.state.seat({ opponent: answer.opponent });
        this.state.gone = model;
      }
      onMove(answer.analysis.moves[0].move);
    });
  }

  /** Evaluate the position shown, if the person wants that and it is not solved. */
  evaluate() {
    const { game, ply, position, analysis } = this.state;
    this.view.showAnalysis();
    if (!this.view.evaluates || position.over || isExact(analysis)) return;
    this.#ask({ do: "analyse", start: game.start, moves: game.moves.slice(0, ply) }, ({ analysis: found }) => {
      if (!found) return;
      this.state.learn(ply, found, false);
      if (this.state.ply === ply) this.view.showAnalysis();
    });
  }

  /** Evaluate the positions of the game that are to be reviewed; `onEnd` is called after the last one. */
  review(onEnd) {
    const { game, pliesToReview: plies } = this.state;
    this.state.reviewing = true;
    this.view.showReview();
    this.view.showStatus();
    this.#ask({ do: "review", start: game.start, moves: game.moves, plies }, ({ ply, analysis, final }) => {
      if (analysis) {
        this.state.learn(ply, analysis, true);
        this.view.showAnalysis();
        this.view.showMoves();
      }
      if (final) onEnd();
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
