// The evaluation of the position shown: its moves in a table and on the board, and the bar of Black's chances.

import { valueOf } from "/static/review.js";

const $ = (id) => document.getElementById(id);

export class Evaluation {
  /**
   * @param {Board} board
   * @param {(move: string) => void} onMove called with the name of a move that was chosen
   */
  constructor(board, onMove) {
    this.board = board;
    this.onMove = onMove;
    this.rowsOf = null; // the analysis that the table shows
  }

  /** Show the moves of an analysis as the server sends it, which may be missing; `pending` is whether one is expected. */
  showMoves(analysis, pending) {
    const moves = analysis?.moves ?? [];
    const judged = moves.filter((move) => valueOf(move) !== null);
    this.board.judge(
      judged.map((move) => ({
        move: move.move,
        text: shortText(move),
        tone: toneOf(valueOf(move)),
        best: move === moves[0],
      })),
    );
    const spent = analysis ? `${analysis.nodes.toLocaleString("en")} positions, ${analysis.seconds.toFixed(1)} s` : "";
    $("analysis-note").textContent = spent || (pending ? "…" : "");
    if (analysis !== this.rowsOf) $("analysis").replaceChildren(...moves.map((move) => this.#row(move)));
    this.rowsOf = analysis;
  }

  /** Show Black's share in the bar; null or undefined hides it. */
  showBar(value) {
    const known = value !== null && value !== undefined;
    $("bar").classList.toggle("on", known);
    if (!known) return;
    const percent = Math.round(50 + 50 * value);
    $("bar-black").style.height = `${percent}%`;
    $("bar-text").textContent = `${percent}`;
    $("bar").setAttribute("aria-label", `Black's chances ${percent} %`);
  }

  #row(move) {
    const row = document.createElement("tr");
    const cells = [move.move, resultText(move), move.visits ? move.visits.toLocaleString("en") : "", move.line.slice(1).join(" ")];
    cells.forEach((text) => row.append(Object.assign(document.createElement("td"), { textContent: text })));
    row.children[1].className = classOf(valueOf(move));
    row.children[3].className = "line";
    row.children[3].title = cells[3];
    row.addEventListener("click", () => this.onMove(move.move));
    return row;
  }
}

function resultText(move) {
  if (move.score !== null) return move.score === 0 ? "draw" : `${move.score > 0 ? "+" : "−"}${Math.abs(move.score)} discs`;
  if (move.value === null) return "–";
  const percent = `${Math.round(50 + 50 * move.value)} %`;
  return move.certain ? `${move.value > 0 ? "won" : move.value < 0 ? "lost" : "draw"}` : percent;
}

function shortText(move) {
  if (move.score !== null) return move.score > 0 ? `+${move.score}` : `${move.score}`.replace("-", "−");
  if (move.certain) return { 1: "won", 0: "draw", "-1": "lost" }[Math.sign(move.value)];
  return move.value === null ? "" : `${Math.round(50 + 50 * move.value)}`;
}

/** Red to green by the expected result. */
function toneOf(value) {
  return `hsl(${Math.round(62 * (value + 1))} 62% 36%)`;
}

function classOf(value) {
  return value === null ? "" : value > 0.15 ? "good" : value < -0.15 ? "bad" : "even";
}
