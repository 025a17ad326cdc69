// The moves of the game with what they gave away, and the sums of both players.

import { MARKS, lossText, markOf, sumsOf } from "/static/review.js";

const NAMES = { X: "Black", O: "White" };

export class Moves {
  /**
   * @param {(ply: number) => void} onPly  called with the ply that was chosen
   * @param {boolean} counts               whether discs decide the game
   */
  constructor(onPly, counts) {
    this.onPly = onPly;
    this.counts = counts;
    this.marks = Object.keys(MARKS).filter((mark) => counts || mark !== "?!");
    this.list = document.getElementById("moves");
    this.sums = document.getElementById("sums");
  }

  /**
   * Show the moves of a game.
   * @param {object} game       as the server sends it
   * @param {number} ply        the ply shown, which is brought into the sight of the list
   * @param {?object[]} losses  what every move gave away, null where that is not known
   */
  show(game, ply, losses) {
    this.list.replaceChildren(...game.moves.map((move, at) => this.#item(move, game.positions[at].side, at + 1, ply, losses[at])));
    this.#scrollTo(this.list.children[ply - 1]);
    this.sums.hidden = losses.length === 0 || losses.includes(null);
    if (!this.sums.hidden) this.#showSums(game, losses);
  }

  #item(move, side, number, ply, loss) {
    const item = document.createElement("li");
    const mark = loss ? markOf(loss) : "";
    const text = loss ? lossText(loss) : "";
    const best = mark && loss.best ? `, best ${loss.best}` : "";
    item.className = mark ? "marked" : "";
    item.innerHTML = `<button type="button" class="${number === ply ? "now" : ""}"><i class="${side}"></i><span></span></button>`;
    const button = item.firstChild;
    button.querySelector("span").textContent = move;
    if (mark) button.append(markElement(mark));
    if (text) button.append(Object.assign(document.createElement("small"), { textContent: text + best }));
    if (loss?.best) button.title = `best ${loss.best}`;
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
    const sums = sumsOf(game, losses);
    const head = ["Given away", ...this.marks, ...(this.counts ? ["Discs"] : [])];
    const rows = ["X", "O"].map((side) => {
      const discs = this.counts ? [sums[side].discs ?? "–"] : [];
      return [NAMES[side], ...this.marks.map((mark) => sums[side].marks[mark] || "–"), ...discs];
    });
    this.sums.querySelector("thead").replaceChildren(rowOf("th", head));
    this.sums.querySelector("tbody").replaceChildren(...rows.map((row) => rowOf("td", row)));
    const exact = losses.findIndex(({ discs }) => discs !== null);
    const from = exact > 0 ? ` Discs are known from ply ${exact + 1} on.` : "";
    this.sums.querySelector("caption").textContent = `${this.marks.map((mark) => `${mark} ${MARKS[mark]}`).join(", ")}.${from}`;
  }
}

function markElement(mark) {
  return Object.assign(document.createElement("b"), { textContent: mark, title: MARKS[mark], className: mark === "?!" ? "even" : "" });
}

function rowOf(tag, cells) {
  const row = document.createElement("tr");
  row.append(...cells.map((text) => Object.assign(document.createElement(tag), { textContent: text })));
  return row;
}
