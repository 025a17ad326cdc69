// The expected margin over a reviewed game: Black's by ply, as far as it is known, in a band of its standard error; marked
// moves as dots.

const HEIGHT = 96; // as in the style sheet; the width is what the page gives
const LEFT = 34;
const RIGHT = 6;
const LEAST = 8; // discs that the curve shows at least, up and down

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
   * Draw the margins known.
   * @param {?number[]} margins  Black's by ply, null where unknown
   * @param {number} last        the number of the last ply
   * @param {number} now         the ply shown
   * @param {?object[]} moves    the moves as the server judges them, null where unknown
   * @param {?number[]} errors   the margins' standard errors by ply, null or missing where they are exact or unknown
   * @param {boolean} counts     whether margins are discs, else results
   */
  draw(margins, last, now, moves, errors, counts) {
    this.last = last;
    this.#redraw = () => this.#draw(margins, last, now, moves, errors, counts);
    this.#redraw();
  }

  #draw(margins, last, now, moves, errors, counts) {
    const width = this.element.getBoundingClientRect().width;
    if (width === 0) return; // hidden
    const reach = margins.map((margin, ply) => (margin === null ? 0 : Math.abs(margin) + (errors[ply] ?? 0)));
    const most = counts ? Math.max(LEAST, ...reach) : 1;
    this.element.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const x = (ply) => LEFT + ((width - LEFT - RIGHT) * ply) / Math.max(1, last);
    const y = (margin) => HEIGHT / 2 - (margin / most) * (HEIGHT / 2 - 6);
    const points = margins.map((margin, ply) => [x(ply), margin === null ? null : y(margin), ply]).filter(([, py]) => py !== null);
    const band = counts ? points.map(([px, , ply]) => [px, ...[1, -1].map((sign) => y(margins[ply] + sign * (errors[ply] ?? 0)))]) : [];
    const dots = points.filter(([, , ply]) => moves[ply - 1]?.mark);
    const scale = counts ? [[`+${Math.round(most)}`, most], ["0", 0], [`−${Math.round(most)}`, -most]] : [];
    this.element.innerHTML = `
      <text x="0" y="10">Black</text><text x="0" y="${HEIGHT - 2}">White</text>
      ${scale.map(([text, at]) => `<text x="${LEFT - 4}" y="${y(at) + (at > 0 ? 14 : at < 0 ? -8 : 4)}" text-anchor="end">${text}</text>`).join("")}
      <line class="zero" x1="${LEFT}" x2="${width}" y1="${y(0)}" y2="${y(0)}"/>
      ${bandOf(band)}
      ${curveOf(points, y(0))}
      <line class="now" x1="${x(now)}" x2="${x(now)}" y1="0" y2="${HEIGHT}"/>
      ${dots.map(([px, py, ply]) => `<circle class="slip ${classOf(moves[ply - 1].mark)}" cx="${px}" cy="${py}" r="3.5"/>`).join("")}`;
    const end = margins[last];
    const unit = counts ? "discs" : "result";
    this.element.setAttribute("aria-label", `Black's expected ${unit} by ply${end === null ? "" : `, ${end} at the end`}; ${dots.length} marked moves`);
  }
}

/** The style of a mark: the worst is `bad`. */
export function classOf(mark) {
  return mark === "??" ? "bad" : mark === "?" ? "" : "even";
}

/** Draw a band between two heights at every place, unless it has none. */
function bandOf(points) {
  if (points.every(([, top, bottom]) => top === bottom)) return "";
  const edge = (at, from) => from.map((point) => `${point[0].toFixed(1)},${point[at].toFixed(1)}`).join(" ");
  return `<polygon class="band" points="${edge(1, points)} ${edge(2, points.toReversed())}"/>`;
}

/** Draw points as a curve with the area to the line of a draw; one alone as a dot. */
function curveOf(points, zero) {
  if (points.length === 0) return "";
  if (points.length === 1) return `<circle class="point" cx="${points[0][0]}" cy="${points[0][1]}" r="2.5"/>`;
  const line = points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
  const area = `${points[0][0]},${zero} ${line} ${points.at(-1)[0]},${zero}`;
  return `<polygon class="area" points="${area}"/><polyline class="curve" points="${line}"/>`;
}
