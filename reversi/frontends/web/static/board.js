// The board: a grid of buttons, discs that turn, and the evaluation of moves on their squares.

const DISC = "<span class='faces'><span class='face X'></span><span class='face O'></span></span>";
const TURN_MS = 450; // as in the style sheet
const RIPPLE_MS = 70; // a disc turns so much later for each square that it is farther from the one that was played
const TOUCH_PX = 22; // half of a finger's target: squares of a small board are narrower
const DISCS = { X: "black", O: "white" };

const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

/** Return the name of a square, such as "d3". */
export function squareName(index, size) {
  return "abcdefgh"[index % size] + (1 + Math.floor(index / size));
}

export class Board {
  #pressed = null; // where a pointer came down last

  /** @param {(move: string) => void} onMove called with the name of a square that was chosen */
  constructor(size, onMove) {
    this.size = size;
    this.element = document.getElementById("board");
    this.element.style.gridTemplate = `repeat(${size}, 1fr) / repeat(${size}, 1fr)`;
    document.getElementById("columns").innerHTML = [..."abcdefgh".slice(0, size)].map((c) => `<span>${c}</span>`).join("");
    document.getElementById("rows").innerHTML = Array.from({ length: size }, (_, r) => `<span>${r + 1}</span>`).join("");
    const rows = Array.from({ length: size }, () => this.#made("row", this.element));
    this.squares = Array.from({ length: size * size }, (_, index) => {
      const square = document.createElement("button");
      square.type = "button";
      square.dataset.square = squareName(index, size);
      square.tabIndex = index === 0 ? 0 : -1;
      this.#made("gridcell", rows[Math.floor(index / size)]).append(square);
      return square;
    });
    this.element.addEventListener("pointerdown", (event) => (this.#pressed = event)); // a browser may move the click of a finger
    this.element.addEventListener("click", (event) => {
      const square = event.target.closest(".square");
      if (event.detail > 0) square?.blur(); // by a pointer: the arrow keys go on stepping through the game
      const meant = event.pointerType === "touch" ? this.#meant(square, this.#pressed ?? event) : square;
      if (meant) onMove(meant.dataset.square);
    });
    this.element.addEventListener("keydown", (event) => this.#walk(event));
  }

  /**
   * Show a position.
   * @param {object} position   as the server sends it
   * @param {?string} last      the move that led here
   * @param {boolean} mine      whether the person may choose a move
   * @returns {number}          how long its discs turn, in ms
   */
  show(position, last, mine) {
    const legal = new Set(position.legal);
    const from = this.squares.findIndex((square) => square.dataset.square === last);
    let turning = 0;
    this.squares.forEach((square, index) => {
      const name = square.dataset.square;
      const color = position.board[index];
      const canPlay = legal.has(name);
      square.className = "square" + (canPlay ? " legal" : "") + (canPlay && mine ? " mine" : "") + (name === last ? " last" : "");
      square.querySelector(".judgement")?.remove();
      turning = Math.max(turning, this.#setDisc(square, color, from < 0 ? 0 : this.#distance(from, index) * RIPPLE_MS));
      const what = DISCS[color] ?? (canPlay && mine ? "legal move" : "empty");
      square.setAttribute("aria-label", `${name}, ${what}${name === last ? ", last move" : ""}`);
    });
    return isCalm.matches ? 0 : turning;
  }

  /** Show evaluations: an array of {move, text, spoken, tone, best}. */
  judge(judgements) {
    this.element.querySelectorAll(".judgement").forEach((each) => each.remove());
    for (const { move, text, spoken, tone, best } of judgements) {
      const square = this.squares.find((each) => each.dataset.square === move);
      if (!square) continue; // a pass
      square.classList.add("judged");
      const mark = document.createElement("span");
      mark.className = "judgement" + (best ? " best" : "") + (text.length > 4 ? " long" : "");
      mark.style.setProperty("--tone", tone);
      mark.textContent = text;
      square.append(mark);
      const [name, what] = square.getAttribute("aria-label").split(", ");
      square.setAttribute("aria-label", [name, what, spoken, ...(best ? ["best"] : [])].join(", "));
    }
  }

  /** The square that a finger means, on one or, null, between them: the nearest one that may be played, if its middle is
   * within `TOUCH_PX`. */
  #meant(square, { clientX, clientY }) {
    const distance = (each) => {
      const { left, top, width, height } = each.getBoundingClientRect();
      return Math.max(Math.abs(clientX - left - width / 2), Math.abs(clientY - top - height / 2));
    };
    const near = this.squares.filter((each) => each.classList.contains("mine") && distance(each) <= TOUCH_PX);
    return near.sort((one, other) => distance(one) - distance(other))[0] ?? square;
  }

  #made(role, parent) {
    const element = document.createElement("div");
    element.className = role;
    element.setAttribute("role", role);
    parent.append(element);
    return element;
  }

  #distance(from, to) {
    const [column, row] = [from % this.size, Math.floor(from / this.size)];
    return Math.max(Math.abs((to % this.size) - column), Math.abs(Math.floor(to / this.size) - row));
  }

  /** Set a square's disc, which turns after `delay` ms, and return when it has turned. */
  #setDisc(square, color, delay) {
    let disc = square.querySelector(".disc");
    if (color === "-") {
      disc?.remove();
    } else if (disc) {
      if (disc.classList.contains(color)) return 0;
      disc.className = `disc ${color}`;
      disc.style.setProperty("--delay", `${delay}ms`);
      return delay + TURN_MS;
    } else {
      disc = document.createElement("span");
      disc.className = `disc ${color} new`;
      disc.innerHTML = DISC;
      square.append(disc);
    }
    return 0;
  }

  #walk(event) {
    const from = this.squares.indexOf(document.activeElement);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.size, ArrowDown: this.size }[event.key];
    if (from < 0 || step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const to = from + step;
    const sameRow = Math.floor(to / this.size) === Math.floor(from / this.size);
    if (to < 0 || to >= this.squares.length || (Math.abs(step) === 1 && !sameRow)) return;
    this.squares[from].tabIndex = -1;
    this.squares[to].tabIndex = 0;
    this.squares[to].focus();
  }
}
