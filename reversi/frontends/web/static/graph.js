// The evaluation over the game: Black's expectation by ply, with gaps where it is not known; marked moves as dots.

const HEIGHT = 84; // as in the style sheet; the width is what the page gives
const LEFT = 34;
const RIGHT = 6;

export class Graph {
  #redraw = () => {};

  /** @param {(ply: number) => void} onPly called with the ply that was chosen */
  constructor(onPly) {
    this.element = document.getElementById("graph");
    this.last = 0;
    const choose = (event) => {
      if (event.type === "pointermove" && event.buttons === 0) return;
      const box = this.element.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      onPly(Math.max(0, Math.min(this.last, Math.round(share * this.last))));
    };
    this.element.addEventListener("pointerdown", choose);
    this.element.addEventListener("pointermove", choose);
    new ResizeObserver(() => this.#redraw()).observe(this.element);
  }

  /**
   * Draw the values known.
   * @param {(?number)[]} values  by ply, -1 (White wins) to 1 (Black wins); null or undefined where unknown
   * @param {number} last         the number of the last ply
   * @param {number} now          the ply shown
   * @param {Map<number, object>} marks  the marks of moves by the ply after them
   */
  draw(values, last, now, marks) {
    this.last = last;
    this.#redraw = () => this.#draw(values, last, now, marks);
    this.#redraw();
  }

  #draw(values, last, now, marks) {
    const width = this.element.getBoundingClientRect().width;
    if (width === 0) return; // hidden
    this.element.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const x = (ply) => LEFT + ((width - LEFT - RIGHT) * ply) / Math.max(1, last);
    const y = (value) => HEIGHT / 2 - value * (HEIGHT / 2 - 6);
    const curves = runsOf(values, last).map((run) => run.map((ply) => [x(ply), y(values[ply]), ply]));
    const dots = curves.flat().filter(([, , ply]) => marks.has(ply));
    this.element.innerHTML = `
      <text x="0" y="12">Black</text><text x="0" y="${HEIGHT - 4}">White</text>
      <line class="zero" x1="${LEFT}" x2="${width}" y1="${y(0)}" y2="${y(0)}"/>
      ${curves.map((points) => curveOf(points, y(0))).join("")}
      <line class="now" x1="${x(now)}" x2="${x(now)}" y1="0" y2="${HEIGHT}"/>
      ${dots.map(([px, py, ply]) => `<circle class="slip${marks.get(ply).result === null ? " even" : ""}" cx="${px}" cy="${py}" r="3.5"/>`).join("")}`;
  }
}

/** Return the plies whose values are known, consecutive ones together. */
function runsOf(values, last) {
  const runs = [];
  for (let ply = 0; ply <= last; ply++) {
    if (values[ply] === null || values[ply] === undefined) continue;
    if (runs.at(-1)?.at(-1) === ply - 1) runs.at(-1).push(ply);
    else runs.push([ply]);
  }
  return runs;
}

/** Draw points as a curve with the area to the line of a draw; one alone as a dot. */
function curveOf(points, zero) {
  if (points.length === 1) return `<circle class="point" cx="${points[0][0]}" cy="${points[0][1]}" r="2.5"/>`;
  const line = points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
  const area = `${points[0][0]},${zero} ${line} ${points.at(-1)[0]},${zero}`;
  return `<polygon class="area" points="${area}"/><polyline class="curve" points="${line}"/>`;
}
