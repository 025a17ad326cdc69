// The view: draws the state on the page.

import { Board } from "/static/board.js";
import { Evaluation } from "/static/evaluation.js";
import { Graph } from "/static/graph.js";
import { Moves } from "/static/moves.js";
import { markOf } from "/static/review.js";
import { NAMES, PASS } from "/static/state.js";

const $ = (id) => document.getElementById(id);
const other = (side) => (side === "X" ? "O" : "X");

export class View {
  /**
   * @param {State} state
   * @param {(move: string) => void} onMove  called with the name of a move that was chosen
   * @param {(ply: number) => void} onPly    called with the ply that was chosen
   */
  constructor(state, onMove, onPly) {
    const { info, counts } = state;
    this.state = state;
    this.board = new Board(info.size, onMove);
    this.evaluation = new Evaluation(this.board, onMove);
    this.graph = new Graph(onPly);
    this.moves = new Moves(onPly, counts, info.marks);
    const title = counts ? "Reversi" : "Tic-tac-toe";
    document.title = `${title} ${info.size} × ${info.size}`;
    document.querySelector("h1").textContent = title;
    $("analysis-card").hidden = true;
    if (!info.analysis) $("hints").closest("label").hidden = $("review").hidden = true;
    this.showInfo();
  }

  /** Whether the person wants the evaluation of the position shown, and there is any. */
  get evaluates() {
    return $("hints").checked && this.state.info.analysis;
  }

  /** Draw what the server plays now. */
  showInfo() {
    const { info } = this.state;
    $("about").textContent = `${info.size} × ${info.size}, ${info.name}`;
    $("opponent").replaceChildren(...info.opponents.map(({ name, label }) => new Option(label, name)));
    this.showPlayers();
  }

  /** Draw everything; there is a game. */
  show() {
    const { game, ply, position, lastPly, info } = this.state;
    document.querySelector("main").inert = false;
    this.board.show(position, ply > 0 ? game.moves[ply - 1] : null, !position.over && this.state.isMine(position.side));
    this.showSides();
    $("first").disabled = $("back").disabled = ply === 0;
    $("last").disabled = $("forward").disabled = ply === lastPly;
    $("undo").disabled = this.state.lastDecision < 0;
    $("review").disabled = !info.analysis || lastPly === 0;
    $("copy").hidden = game.start !== null; // a transcript has no start
    $("copy-ggf").hidden = game.ggf === null;
    this.showStatus();
    this.showMoves();
    this.showAnalysis();
  }

  /** Draw who plays, and with how many discs. */
  showSides() {
    const bottom = this.state.mine === "O" ? "O" : "X";
    this.#showSide($("top-side"), other(bottom));
    this.#showSide($("bottom-side"), bottom);
    $("bar").classList.toggle("flip", bottom === "O");
    $("version").textContent = this.#versionText();
  }

  /** Set the fields of the form to who plays. */
  showPlayers() {
    $("color").value = this.state.mine;
    $("opponent").value = this.state.opponent.name;
  }

  /** Draw the line below the board, also if there is no game yet. */
  showStatus() {
    const { online, fault, game } = this.state;
    $("status").classList.toggle("error", fault !== "" || !online);
    const wrong = online ? fault : "The server does not answer; trying again…";
    $("status").textContent = wrong || (game && this.#stateText());
  }

  /** Draw the button of the review. */
  showReview() {
    const { reviewing } = this.state;
    $("review").textContent = reviewing ? "Reviewing…" : "Review";
    $("review").title = reviewing ? "Stop" : "";
  }

  /** Draw the list of moves. */
  showMoves() {
    const { game, ply, losses } = this.state;
    this.moves.show(game, ply, losses);
  }

  /** Draw what is known of the position shown, and the curve. */
  showAnalysis() {
    const { ply, lastPly, position, analysis, losses, values, info } = this.state;
    const on = this.evaluates;
    const pending = on && !position.over;
    const marks = losses.map((loss, at) => [at + 1, loss && markOf(loss, info.marks)]);
    $("graph").toggleAttribute("hidden", !info.analysis);
    this.graph.draw(values, lastPly, ply, new Map(marks.filter(([, mark]) => mark)));
    $("analysis-card").hidden = !on;
    this.evaluation.showBar(on ? values[ply] : null);
    this.evaluation.showMoves(pending ? analysis : null, pending);
  }

  #showSide(element, side) {
    const { position, mine, counts, opponent } = this.state;
    const name = mine === "both" ? NAMES[side] : this.state.isMine(side) ? "You" : opponent.label;
    const passes = position.side === side && position.legal[0] === PASS;
    element.className = "side" + (position.side === side && !position.over ? " turn" : "");
    element.innerHTML = `<span class="dot ${side}"></span><span class="name"></span><span class="state"></span><span class="count"></span>`;
    element.querySelector(".name").textContent = name;
    element.querySelector(".state").textContent = passes ? "must pass" : "";
    if (counts) element.querySelector(".count").textContent = side === "X" ? position.black : position.white;
  }

  /** Say which version of a model plays, if that is not the one that is offered, or not the one that began. */
  #versionText() {
    const { mine, opponent, gone } = this.state;
    const { model } = this.state.offered(opponent.name);
    if (gone !== null) return `Model ${gone} is not served any more: model ${opponent.model} goes on with this game.`;
    if (mine === "both" || model === opponent.model) return "";
    return `Model ${model} is new. This game goes on against model ${opponent.model}, a new one begins against model ${model}.`;
  }

  #stateText() {
    const { position, ply, lastPly, mine, choosing, opponent } = this.state;
    const { side, over, legal } = position;
    if (over) return this.#resultText();
    if (legal[0] === PASS) return `${NAMES[side]} has no move and passes`;
    if (choosing) return `${opponent.label} is thinking…`;
    if (ply < lastPly) return `After ply ${ply} of ${lastPly}`;
    return this.state.isMine(side) && mine !== "both" ? "Your move" : `${NAMES[side]} to move`;
  }

  #resultText() {
    const { mine, counts } = this.state;
    const { black, white, margin } = this.state.position;
    if (margin === 0) return "A draw";
    const winner = margin > 0 ? "X" : "O";
    const seated = mine === "both" || mine === "none" ? `${NAMES[winner]} wins` : winner === mine ? "You win" : "You lose";
    return seated + (counts ? ` ${black} to ${white}` : "");
  }
}
