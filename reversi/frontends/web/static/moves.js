// The moves of the game with what they gave away, the sums of both players, and the move that decided.

import { classOf } from "./graph.js";
import { discsText, lossText } from "./review.js";
import { NAMES } from "./state.js";

const $ = (id) => document.getElementById(id);

export class Moves {
  /**
   * @param {(ply: number) => void} onPly  called with the ply that was chosen
   * @param {State} state
   */
  constructor(onPly, { info, counts }) {
    this.onPly = onPly;
    this.info = info;
    this.counts = counts;
    this.list = $("moves");
    this.sums = $("sums");
    $("decided").lastElementChild.addEventListener("click", () => onPly(Number($("decided").dataset.ply)));
  }

  /**
   * Show the moves of a game.  Items stay, so that what is pressed, focused or scrolled to is not taken away.
   * @param {object} game    as the server sends it
   * @param {number} ply     the ply shown, which is brought into the sight of the list if it or the game is new
   * @param {Review} review  what a review has found
   */
  show(game, ply, review) {
    const items = this.list.children;
    while (items.length > game.moves.length) items[items.length - 1].remove();
    while (items.length < game.moves.length) this.list.append(this.#newItem(items.length + 1));
    game.moves.forEach((move, at) => fill(items[at], move, game.positions[at].side, at + 1 === ply, review.moves[at]));
    if (game !== this.game || ply !== this.ply) this.#scrollTo(items[ply - 1]);
    [this.game, this.ply] = [game, ply];
    const { whole } = review;
    this.sums.hidden = whole === null;
    $("decided").hidden = (whole?.decided ?? null) === null;
    if (whole !== null) this.#showSums(whole.sums, review.moves.some((move) => (move?.discs_error ?? null) !== null));
    if (!$("decided").hidden) this.#showDecided(review.moves[whole.decided - 1], whole.decided);
  }

  #newItem(number) {
    const item = document.createElement("li");
    item.innerHTML = "<button type='button'><i></i><span></span><b></b><small></small></button>";
    const button = item.firstChild;
    // what is pressed is what is chosen, also if marks that appear meanwhile move it from under the pointer
    button.addEventListener("pointerdown", (event) => button.setPointerCapture(event.pointerId));
    button.addEventListener("click", () => this.onPly(number));
    return item;
  }

  /** Scroll the list alone: the page stays where the person has it. */
  #scrollTo(item) {
    if (!item) return;
    const top = item.offsetTop - this.list.offsetTop;
    const bottom = top + item.offsetHeight;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (bottom > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = bottom - this.list.clientHeight;
  }

  #showDecided({ move, better, side }, ply) {
    const who = side === "black" ? "Black" : "White";
    $("decided").dataset.ply = ply - 1;
    $("decided").firstElementChild.textContent = `Decided at move ${ply}: ${who}'s ${move}${better ? `; ${better} was better` : ""}.`;
  }

  #showSums(sums, hasErrors) {
    const { marks } = this.info;
    const head = ["Given away", ...marks.map(({ sign }) => sign), ...(this.counts ? ["Discs"] : [])];
    const rows = ["X", "O"].map((side) => {
      const { marks: counted, discs, exact, judged } = sums[side];
      const lost = discs === null ? "–" : discsText(discs, exact === judged);
      return [NAMES[side], ...marks.map(({ sign }) => counted[sign] || "–"), ...(this.counts ? [lost] : [])];
    });
    this.sums.querySelector("thead").replaceChildren(rowOf("th", head));
    this.sums.querySelector("tbody").replaceChildren(...rows.map((row) => rowOf("td", row)));
    const meanings = marks.map(({ sign, meaning }) => `${sign} ${meaning}`).join("; ");
    const notes = [`${meanings}.`, this.counts ? coverText(sums, hasErrors) : ""];
    this.sums.querySelector("caption").textContent = notes.filter(Boolean).join(" ");
  }
}

function fill(item, move, side, now, judged) {
  const mark = judged?.mark ?? "";
  const best = judged?.better ? `best ${judged.better}` : "";
  const [disc, name, grade, lost] = item.firstChild.children;
  item.className = mark ? "marked" : "";
  Object.assign(item.firstChild, { className: now ? "now" : "", title: best });
  item.firstChild.toggleAttribute("aria-current", now);
  disc.className = side;
  name.textContent = move;
  Object.assign(grade, { textContent: mark, className: classOf(mark) });
  lost.textContent = [judged ? lossText(judged) : "", mark && best].filter(Boolean).join(", ");
}

/** Say how many moves the discs are exact for, unless they are for all or for none, and what the others are. */
function coverText({ X, O }, hasErrors) {
  const exact = X.exact + O.exact;
  if (exact === X.judged + O.judged) return "";
  const estimated = hasErrors ? "estimated, ± their standard error; a loss within it has no mark" : "estimated";
  if (exact === 0) return `Discs are ${estimated}.`;
  return `Discs are exact for ${X.exact} of Black's ${X.moves} moves and ${O.exact} of White's ${O.moves}, else ${estimated}.`;
}

function rowOf(tag, cells) {
  const row = document.createElement("tr");
  const scope = tag === "th" ? { scope: "col" } : {};
  row.append(...cells.map((text) => Object.assign(document.createElement(tag), { textContent: text, ...scope })));
  return row;
}
