// The evaluation of the position shown: its moves in a table and on the board, and the bar of Black's chances.

import { marginText, valueOf } from "./review.js";

const $ = (id) => document.getElementById(id);
const RESULTS = { 1: "won", 0: "draw", "-1": "lost" };

export class Evaluation {
  /**
   * @param {Board} board
   * @param {(move: string) => void} onMove called with the name of a move that was chosen
   */
  constructor(board, onMove) {
    this.board = board;
    this.onMove = onMove;
    this.rowsOf = null; // the analysis that the table shows, and in which unit
  }

  /** Show the moves of an analysis as the server sends it, which may be missing, in `unit`, discs or percent; `pending`
   * is whether one is expected. */
  showMoves(analysis, pending, unit) {
    const moves = analysis?.moves ?? [];
    const judged = moves.filter((move) => valueOf(move) !== null);
    this.board.judge(
      judged.map((move) => ({
        move: move.move,
        text: shortText(move, unit),
        spoken: resultText(move, unit),
        tone: toneOf(valueOf(move)),
        best: move === moves[0] || (move.same_as !== null && move.same_as === moves[0].move),
      })),
    );
    const spent = analysis ? `${analysis.nodes.toLocaleString("en")} positions, ${analysis.seconds.toFixed(1)} s` : "";
    const meaning = unit === "discs" ? "discs won by" : "chance of a win";
    $("analysis-note").textContent = [...(pending ? [`in ${unit === "discs" ? "discs" : "%"}`] : []), spent || (pending ? "…" : "")].filter(Boolean).join("; ");
    $("result-head").title = `Expected ${meaning} for the side to move`;
    if (analysis === this.rowsOf?.analysis && unit === this.rowsOf?.unit) return;
    $("analysis").replaceChildren(...moves.map((move) => this.#row(move, unit)));
    this.rowsOf = { analysis, unit };
  }

  /** Show Black's share in the bar; null or undefined hides it.  `discs` is the margin to write there, or null for the
   * share. */
  showBar(value, discs) {
    const known = value !== null && value !== undefined;
    $("bar").classList.toggle("on", known);
    if (!known) return;
    const percent = Math.round(50 + 50 * value);
    $("bar").style.setProperty("--black", `${percent}%`);
    const text = discs === null ? `${percent}` : marginText(discs, true); // without a decimal, for which there is no room
    $("bar-text").textContent = text;
    $("bar").setAttribute("aria-label", discs === null ? `Black's chances ${percent} %` : `Black ${text} discs`);
  }

  #row(move, unit) {
    const row = document.createElement("tr");
    const cells = [move.move, resultText(move, unit), move.visits ? move.visits.toLocaleString("en") : "", move.line.slice(1).join(" ")];
    cells.forEach((text) => row.append(Object.assign(document.createElement("td"), { textContent: text })));
    row.children[1].className = classOf(valueOf(move));
    row.children[3].className = "line";
    row.children[3].title = cells[3];
    row.addEventListener("click", () => this.onMove(move.move));
    return row;
  }
}

/** The value of a move in words: one unit for all, but for results that are proven without a margin. */
function resultText(move, unit) {
  const value = valueOf(move);
  if (value === null) return "–";
  if (move.certain && (unit === "percent" || move.score === null)) return RESULTS[Math.sign(value)];
  if (unit === "percent") return `${Math.round(50 + 50 * value)} %`;
  return `${marginText(move.margin, move.score !== null)} discs`;
}

function shortText(move, unit) {
  return resultText(move, unit).replace(" discs", "").replace(" %", "");
}

/** Orange to blue by the expected result, which can be told apart without red and green. */
function toneOf(value) {
  const [color, share] = value < 0 ? ["#a84300", -value] : ["#1a5fa8", value];
  return `color-mix(in srgb, ${color} ${Math.round(25 + 75 * share)}%, #55585c)`;
}

function classOf(value) {
  return value === null ? "" : value > 0.15 ? "good" : value < -0.15 ? "bad" : "even";
}
