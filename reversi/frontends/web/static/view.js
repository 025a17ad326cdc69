// The view: draws the state on the page.

import { Board } from "./board.js";
import { Evaluation } from "./evaluation.js";
import { keptGames } from "./games.js";
import { Graph } from "./graph.js";
import { Lesson } from "./lesson.js";
import { Moves } from "./moves.js";
import { openingOf } from "./openings.js";
import { blackMargin } from "./review.js";
import { NAMES, PASS } from "./state.js";

const $ = (id) => document.getElementById(id);
const other = (side) => (side === "X" ? "O" : "X");

export class View {
  /**
   * @param {State} state
   * @param {(move: string) => void} onMove  called with the name of a move that was chosen
   * @param {(ply: number) => void} onPly    called with the ply that was chosen
   * @param {(game: object) => void} onGame  called with the finished game that was chosen
   */
  constructor(state, onMove, onPly, onGame) {
    const { info, counts } = state;
    this.state = state;
    this.onGame = onGame;
    this.board = new Board(info.size, onMove);
    this.evaluation = new Evaluation(this.board, onMove);
    this.graph = new Graph(onPly);
    this.moves = new Moves(onPly, state);
    const title = counts ? "Reversi" : "Tic-tac-toe";
    document.title = `${title} ${info.size} × ${info.size}`;
    document.querySelector("h1").textContent = title;
    $("analysis-card").hidden = true;
    $("units").hidden = !counts || !info.analysis;
    if (!info.analysis) $("hints").closest("label").hidden = $("review").hidden = true;
    window.addEventListener("games", () => this.showGames());
    this.showInfo();
    this.showGames();
  }

  /** Whether the person wants the evaluation of the position shown, and there is any. */
  get evaluates() {
    return $("hints").checked && this.state.info.analysis && (this.state.lesson?.solved ?? true);
  }

  /** Draw what the server plays now. */
  showInfo() {
    const { info } = this.state;
    $("about").textContent = info.sizes.length > 1 ? info.name : `${info.size} × ${info.size}, ${info.name}`;
    $("sizes").hidden = info.sizes.length < 2;
    $("sizes").replaceChildren(...info.sizes.map((size) => linkTo(size, size === info.size)));
    for (const id of ["opponent", "second"]) {
      $(id).replaceChildren(...info.opponents.map(({ name, label }) => new Option(label, name)));
    }
    this.showPlayers();
  }

  /** Draw everything; there is a game.  Returns the time that its discs take to turn, in ms. */
  show() {
    const { game, ply, position, lastPly, info, lesson } = this.state;
    document.querySelector("main").inert = false;
    const mayPlay = !position.over && (lesson !== null || this.state.isMine(position.side));
    const turning = this.board.show(position, ply > 0 ? game.moves[ply - 1] : null, mayPlay);
    this.showSides();
    $("first").disabled = $("back").disabled = ply === 0;
    $("last").disabled = $("forward").disabled = ply === lastPly;
    $("undo").disabled = this.state.lastDecision < 0;
    $("review").disabled = $("end-review").disabled = !info.analysis || lastPly === 0;
    $("restore").hidden = !this.state.dropped;
    $("copy").hidden = game.start !== null; // a transcript has no start
    $("copy-ggf").hidden = game.ggf === null;
    $("opening").textContent = info.game === "reversi8" && game.start === null ? openingOf(game.moves.slice(0, ply)) : "";
    this.showStatus();
    this.showMoves();
    this.showAnalysis();
    return turning;
  }

  /** Draw who plays, and with how many discs. */
  showSides() {
    const bottom = this.state.mine === "O" ? "O" : "X";
    this.#showSide($("top-side"), other(bottom));
    this.#showSide($("bottom-side"), bottom);
    $("bar").classList.toggle("flip", bottom === "O");
    $("version").textContent = this.#versionText();
    $("watch").hidden = this.state.mine !== "none";
    $("pause").textContent = this.state.paused ? "Go on" : "Pause";
  }

  /** Set the fields of the form to who plays. */
  showPlayers() {
    $("color").value = this.state.mine;
    $("opponent").value = this.state.opponent.name;
    $("second").value = this.state.second.name;
    this.showFields();
  }

  /** Show the fields that the choice of sides needs. */
  showFields() {
    const watches = $("color").value === "none";
    $("second-field").hidden = !watches;
    $("opponent").closest("label").firstChild.textContent = watches ? "White is played by " : "Opponent ";
  }

  /** Draw the finished games. */
  showGames() {
    const games = keptGames().filter(({ game }) => game === this.state.info.game);
    $("games-card").hidden = games.length === 0;
    $("games-count").textContent = `${games.length}, kept by this browser`;
    $("games").replaceChildren(...games.map((game) => this.#gameItem(game)));
  }

  /** Draw the line below the board, also if there is no game yet. */
  showStatus() {
    const { online, fault, game, lesson, info, lastPly, elsewhere } = this.state;
    $("elsewhere").hidden = elsewhere === null;
    if (elsewhere) Object.assign($("elsewhere"), { href: elsewhere.href, textContent: `Open it on ${elsewhere.size} × ${elsewhere.size}` });
    $("status").classList.toggle("error", fault !== "" || !online);
    const wrong = online ? fault : "The server does not answer; trying again…";
    const text = wrong || (game ? this.#stateText() : "");
    $("status").textContent = text;
    $("status").classList.toggle("over", game !== null && this.state.position.over && !wrong);
    this.#say(wrong || (game ? this.#spokenText(text) : ""));
    const over = game !== null && this.state.position.over && this.state.ply === lastPly && lesson === null;
    $("end").hidden = !over || lastPly === 0;
    $("end-review").hidden = !info.analysis;
    $("swap").hidden = this.state.mine === "both";
    $("lesson").hidden = lesson === null;
    if (lesson === null) return;
    $("lesson-text").textContent = lesson.text;
    $("lesson-tell").hidden = lesson.solved;
    $("lesson-next").hidden = lesson.number === lesson.of;
  }

  /** Draw the button of the review. */
  showReview() {
    const { reviewing } = this.state;
    $("review").textContent = reviewing ? "Reviewing…" : "Review";
    $("review").title = reviewing ? "Stop" : "Review the game (R)";
  }

  /** Draw the list of moves. */
  showMoves() {
    const { game, ply, review } = this.state;
    this.moves.show(game, ply, review);
    $("learn").hidden = review.whole === null || Lesson.of(this.state, 0) === null;
  }

  /** Draw what is known of the position shown, and the curve. */
  showAnalysis() {
    const { game, ply, lastPly, position, analysis, review, value, counts } = this.state;
    const on = this.evaluates;
    const pending = on && !position.over;
    $("graph").toggleAttribute("hidden", review.isEmpty);
    if (!review.isEmpty) this.graph.draw(review.margins(game, counts), lastPly, ply, review.moves, review.errors, counts);
    $("analysis-card").hidden = !on;
    const unit = counts ? $("unit").value : "percent";
    $("result-head").textContent = unit === "discs" ? "Discs" : "Chance";
    this.evaluation.showBar(on ? value : null, unit === "discs" ? blackMargin(position, analysis) : null);
    this.evaluation.showMoves(pending ? analysis : null, pending, unit);
  }

  #gameItem(game) {
    const item = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const names = `${game.players.X} – ${game.players.O}`;
    button.textContent = `${game.date.slice(0, 10)}  ${names}  ${game.result}`;
    button.addEventListener("click", () => this.onGame(game));
    item.append(button);
    return item;
  }

  #showSide(element, side) {
    const { position, mine, counts } = this.state;
    const name = mine === "both" ? NAMES[side] : this.state.isMine(side) ? "You" : this.state.playerOf(side).label;
    const passes = position.side === side && position.legal[0] === PASS;
    element.className = "side" + (position.side === side && !position.over ? " turn" : "");
    element.innerHTML = `<span class="dot ${side}"></span><span class="name"></span><span class="state"></span><span class="count"></span>`;
    element.querySelector(".name").textContent = name;
    const hurried = this.state.shortened && position.side !== side && mine !== "both";
    element.querySelector(".state").textContent = passes ? "must pass" : hurried ? "had less time: others play too" : "";
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
    const { position, ply, lastPly, mine, choosing, lesson } = this.state;
    const { side, over, legal } = position;
    if (lesson) return `${NAMES[side]} to move, at ply ${ply + 1} of ${lastPly}`;
    if (over) return this.#resultText();
    if (ply < lastPly) return `After ply ${ply} of ${lastPly}`;
    if (legal[0] === PASS) return `${NAMES[side]} has no move and passes`;
    if (mine === "none" && this.state.paused && !choosing) return "Paused";
    if (choosing) return `${this.state.playerOf(side).label} is thinking…`;
    return this.state.isMine(side) && mine !== "both" ? "Your move" : `${NAMES[side]} to move`;
  }

  /** What is spoken: the move that was made, the score, and then what is shown. */
  #spokenText(text) {
    const { game, ply, position, choosing, counts } = this.state;
    if (ply === 0 || choosing) return text;
    const move = game.moves[ply - 1];
    const who = NAMES[game.positions[ply - 1].side];
    const made = move === PASS ? `${who} passes` : `${who} plays ${move}`;
    return [made, ...(counts ? [`Black ${position.black}, White ${position.white}`] : []), text].join(". ");
  }

  #say(text) {
    if ($("say").textContent !== text) $("say").textContent = text;
  }

  #resultText() {
    const { mine, counts } = this.state;
    const { black, white, margin } = this.state.position;
    if (margin === 0) return counts ? `A draw, ${black} to ${white}` : "A draw";
    const winner = margin > 0 ? "X" : "O";
    const seated = mine === "both" || mine === "none" ? `${NAMES[winner]} wins` : winner === mine ? "You win" : "You lose";
    const [most, least] = [Math.max(black, white), Math.min(black, white)];
    return seated + (counts ? ` ${seated === "You lose" ? least : most} to ${seated === "You lose" ? most : least}` : "");
  }
}

/** Return a link to the page of a board. */
function linkTo(size, isThis) {
  const link = Object.assign(document.createElement("a"), { href: `/?size=${size}`, textContent: `${size} × ${size}` });
  if (isThis) link.setAttribute("aria-current", "page");
  return link;
}
