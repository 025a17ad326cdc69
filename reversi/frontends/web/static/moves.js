// The moves of the game with what they gave away, and the sums of both players.

import { lossText, markOf, sumsOf } from "/static/review.js";
import { NAMES } from "/static/state.js";

export class Moves {
  /**
   * @param {(ply: number) => void} onPly  called with the ply that was chosen
   * @param {boolean} counts               whether discs decide the game
   * @param {object[]} marks               as the server sends them
   */
  constructor(onPly, counts, marks) {
    this.onPly = onPly;
    this.counts = counts;
    this.marks = marks;
    this.list = document.getElementById("moves");
    this.sums = document.getElementById("sums");
  }

  /**
   * Show the moves of a game.  Items stay, so that what is pressed, focused or scrolled to is not taken away.
   * @param {object} game       as the server sends it
   * @param {number} ply        the ply shown, which is brought into the sight of the list if it or the game is new
   * @param {?object[]} losses  what every move gave away, null where that is not known
   */
  show(game, ply, losses) {
    const items = this.list.children;
    while (items.length > game.moves.length) items[items.length - 1].remove();
    while (items.length < game.moves.length) this.list.append(this.#newItem(items.length + 1));
    game.moves.forEach((move, at) => fill(items[at], move, game.positions[at].side, at + 1 === ply, losses[at], this.marks));
    if (game !== this.game || ply !== this.ply) this.#scrollTo(items[ply - 1]);
    [this.game, this.ply] = [game, ply];
    this.sums.hidden = losses.length === 0 || losses.includes(null);
    if (!this.sums.hidden) this.#showSums(game, losses);
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

  #showSums(game, losses) {
    const sums = sumsOf(game, losses, this.marks);
    const head = ["Given away", ...this.marks.map(({ sign }) => sign), ...(this.counts ? ["Discs"] : [])];
    const rows = ["X", "O"].map((side) => {
      const discs = this.counts ? [sums[side].discs ?? "–"] : [];
      return [NAMES[side], ...this.marks.map(({ sign }) => sums[side].marks[sign] || "–"), ...discs];
    });
    this.sums.querySelector("thead").replaceChildren(rowOf("th", head));
    this.sums.querySelector("tbody").replaceChildren(...rows.map((row) => rowOf("td", row)));
    const meanings = this.marks.map(({ sign, meaning }) => `${sign} ${meaning}`).join(", ");
    const notes = [`${meanings}.`, this.counts ? coverText(sums) : ""];
    this.sums.querySelector("caption").textContent = notes.filter(Boolean).join(" ");
  }
}

function fill(item, move, side, now, loss, marks) {
  const mark = loss && markOf(loss, marks);
  const best = loss?.best ? `best ${loss.best}` : "";
  const [disc, name, grade, lost] = item.firstChild.children;
  item.className = mark ? "marked" : "";
  Object.assign(item.firstChild, { className: now ? "now" : "", title: best });
  disc.className = side;
  name.textContent = move;
  const [sign, meaning] = mark ? [mark.sign, mark.meaning] : ["", ""];
  Object.assign(grade, { textContent: sign, title: meaning, className: mark?.result === null ? "even" : "" });
  lost.textContent = [loss ? lossText(loss, mark) : "", mark && best].filter(Boolean).join(", ");
}

/** Say how many moves the discs are of, unless they are of all or of none. */
function coverText({ X, O }) {
  const exact = X.exact + O.exact;
  if (exact === 0 || exact === X.moves + O.moves) return "";
  return `Discs are known of ${X.exact} of Black's ${X.moves} moves and ${O.exact} of White's ${O.moves}.`;
}

function rowOf(tag, cells) {
  const row = document.createElement("tr");
  row.append(...cells.map((text) => Object.assign(document.createElement(tag), { textContent: text })));
  return row;
}
