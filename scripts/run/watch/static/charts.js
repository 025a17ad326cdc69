// Charts as the server describes them, drawn by uPlot: lines, steps, areas and intervals over a common axis.

const PALETTE = ["series-1", "series-2", "series-3", "series-4"];

/** So few points are drawn as dots too: one alone is no line. */
const FEW = 40;

/** Return a colour of the style sheet, which knows light and dark. */
const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const AXES = {
  time: { label: "time", text: (value) => durationText(value) },
  games: { label: "games", text: (value) => shortNumber(value) },
  positions: { label: "positions", text: (value) => shortNumber(value) },
  simulations: { label: "simulations", text: (value) => shortNumber(value) },
};

/** Return seconds as 42 s, 12:30 or 3:05 h. */
export function durationText(seconds) {
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
  return `${Math.floor(whole / 3600)}:${two(Math.floor((whole % 3600) / 60))} h`;
}

/** Return a number with four digits at most and k, M or G. */
export function shortNumber(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= unit) return `${+(value / (letter === "k" ? 1e3 : unit)).toPrecision(3)}${letter}`;
  }
  return `${+value.toPrecision(4)}`;
}

export class Chart {
  #plot = null;
  #shape = "";
  #data = null;

  /** @param {HTMLElement} parent  where the chart's card is put */
  constructor(parent, id) {
    this.card = document.createElement("article");
    this.card.className = "card";
    this.card.id = id;
    this.card.innerHTML = `<h2></h2><div class="save"><button type="button">PNG</button><button type="button">CSV</button></div><div class="plot" role="img"></div>`;
    const [png, csv] = this.card.querySelectorAll("button");
    png.addEventListener("click", () => this.#plot.ctx.canvas.toBlob((blob) => save(blob, `${id}.png`)));
    csv.addEventListener("click", () => save(new Blob([this.#table()], { type: "text/csv" }), `${id}.csv`));
    this.box = this.card.querySelector(".plot");
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    parent.append(this.card);
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(this.box);
  }

  /** Show a chart over an axis; a zoom that was chosen stays. */
  show(chart, places, axis) {
    const over = axis in places ? axis : Object.keys(places)[0];
    this.#data = { chart, x: places[over], over };
    this.#title(chart);
    const shape = JSON.stringify([over, chart.series.map((each) => [each.name, each.style]), colorOf("ink")]);
    if (shape !== this.#shape) {
      this.#plot?.destroy();
      this.#plot = new uPlot(this.#options(), this.#columns(), this.box);
      this.box.append(this.tip);
      this.#shape = shape;
    } else {
      const { min, max } = this.#plot.scales.x;
      const zoomed = this.zoomed;
      this.#plot.setData(this.#columns(), !zoomed);
      if (zoomed) this.#plot.setScale("x", { min, max });
    }
  }

  /** Draw again, as after the colours changed. */
  repaint() {
    this.#shape = "";
  }

  #title({ title, note, unit, series, legend, id }) {
    const named = series.map((each, index) => [each.name, colorOf(this.#color(each, index))]).filter(([name]) => name);
    const heading = this.card.querySelector("h2");
    heading.textContent = unit ? `${title}, ${unit} ` : `${title} `;
    if (legend && named.length > 1) {
      for (const [name, color] of named) {
        const word = document.createElement("small");
        word.className = "legend";
        word.textContent = name;
        word.style.color = color;
        heading.append(word);
      }
    }
    const small = document.createElement("small");
    small.textContent = note;
    heading.append(small);
    const last = series.map((each) => `${each.name} ${shortNumber(each.values.findLast((value) => value !== null) ?? 0)}`);
    this.box.setAttribute("aria-label", `${title}; at last: ${last.join(", ")}`);
    this.card.id = id;
  }

  /** Return the points as lines of text, intervals included. */
  #table() {
    const { chart, x, over } = this.#data;
    const columns = chart.series.flatMap(({ name, values, low, high }) => {
      const title = name || chart.title;
      return [[title, values], ...(low ? [[`${title}, low`, low], [`${title}, high`, high]] : [])];
    });
    const line = (cells) => `${cells.map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\n`;
    const head = line([over === "time" ? "seconds" : over, ...columns.map(([title]) => title)]);
    return head + x.map((at, point) => line([at, ...columns.map(([, values]) => values[point] ?? "")].map(String))).join("");
  }

  #color(series, index) {
    return series.color || PALETTE[index % PALETTE.length];
  }

  #columns() {
    const { chart, x } = this.#data;
    return [x, ...chart.series.map((each) => each.values)];
  }

  #size() {
    return { width: Math.max(120, this.box.clientWidth), height: Math.max(100, this.box.clientHeight) };
  }

  #options() {
    const { chart, over } = this.#data;
    const grid = { stroke: colorOf("line"), width: 1 };
    const axis = { stroke: colorOf("soft"), ticks: { show: false }, font: "12px system-ui, sans-serif" };
    return {
      ...this.#size(),
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => this.#range(low, high) } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 30,
          space: 70,
          incrs: over === "time" ? TIME_STEPS : undefined,
          values: (_, splits) => splits.map((value) => AXES[over].text(value)),
        },
        { ...axis, grid, size: 46, values: (_, splits) => splits.map(shortNumber) },
      ],
      series: [
        {},
        ...chart.series.map((each, index) => {
          const color = colorOf(this.#color(each, index));
          const interval = each.style === "interval";
          return {
            stroke: interval ? undefined : color,
            width: 1.6,
            dash: each.dashed ? [[8, 4], [2, 3], [10, 3, 2, 3]][(each.dashed - 1) % 3] : undefined,
            spanGaps: each.style === "step" || each.name === "",
            points: { show: interval || this.#data.x.length < FEW, size: 6, fill: color, stroke: color },
            paths: { step: uPlot.paths.stepped({ align: 1 }), interval: () => null }[each.style],
            fill: each.style === "area" ? colorOf("area") : undefined,
          };
        }),
      ],
      hooks: {
        drawAxes: [(plot) => this.#bands(plot)],
        draw: [(plot) => this.#intervals(plot)],
        setCursor: [(plot) => this.#hover(plot)],
        setScale: [(plot, key) => key === "x" && (this.zoomed = isZoomed(plot))],
      },
    };
  }

  /** Return the ends of the vertical axis, intervals included. */
  #range(low, high) {
    const { chart } = this.#data;
    const ends = chart.series.flatMap((each) => [...(each.low ?? []), ...(each.high ?? [])]).filter((end) => end !== null);
    const known = [low, high, ...ends].filter((value) => value !== null && Number.isFinite(value));
    if (!known.length) return [0, 1];
    const [from, to] = chart.range;
    const least = from ?? Math.min(...known);
    const most = to ?? Math.max(...known);
    const room = (most - least || Math.abs(most) || 1) * 0.06;
    return [from ?? least - room, to ?? most + room];
  }

  /** Draw the intervals of the points in sight; an end that does not exist goes to the edge. */
  #intervals(plot) {
    const { chart, x } = this.#data;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    chart.series.forEach((each, index) => {
      if (each.style !== "interval") return;
      ctx.strokeStyle = colorOf(this.#color(each, index));
      ctx.globalAlpha = 0.65;
      ctx.lineWidth = 2 * devicePixelRatio;
      each.values.forEach((value, point) => {
        if (value === null) return;
        const at = plot.valToPos(x[point], "x", true);
        const low = each.low[point] === null ? bbox.top + bbox.height : plot.valToPos(each.low[point], "y", true);
        const high = each.high[point] === null ? bbox.top : plot.valToPos(each.high[point], "y", true);
        ctx.beginPath();
        ctx.moveTo(at, low);
        ctx.lineTo(at, high);
        ctx.stroke();
      });
    });
    ctx.restore();
  }

  /** Fill the bands around lines. */
  #bands(plot) {
    const { chart, x } = this.#data;
    const { ctx } = plot;
    ctx.save();
    ctx.globalAlpha = 0.18;
    chart.series.forEach((each, index) => {
      if (each.style !== "band") return;
      const points = x.map((_, point) => point).filter((point) => each.low[point] !== null && each.high[point] !== null);
      const corner = (ends) => (point) => [plot.valToPos(x[point], "x", true), plot.valToPos(ends[point], "y", true)];
      const outline = [...points.map(corner(each.low)), ...points.reverse().map(corner(each.high))];
      ctx.fillStyle = colorOf(this.#color(each, index));
      ctx.beginPath();
      outline.forEach(([left, top]) => ctx.lineTo(left, top));
      ctx.fill();
    });
    ctx.restore();
  }

  #hover(plot) {
    const { idx, left } = plot.cursor;
    const { chart, x, over } = this.#data;
    this.tip.hidden = idx === null || idx === undefined || left < 0;
    if (this.tip.hidden) return;
    const lines = chart.series
      .filter((each) => each.values[idx] !== null && each.values[idx] !== undefined && each.name)
      .map((each) => {
        const ends = each.low ? ` [${[each.low[idx], each.high[idx]].map((end) => (end === null ? "…" : shortNumber(end))).join(", ")}]` : "";
        return `${each.names?.[idx] ?? each.name}  ${shortNumber(each.values[idx])}${ends}`;
      });
    this.tip.textContent = [`${AXES[over].text(x[idx])}${over === "time" ? "" : ` ${AXES[over].label}`}`, ...lines].join("\n");
    const room = this.box.clientWidth - this.tip.offsetWidth;
    const beside = left > this.box.clientWidth / 2 ? left + 36 - this.tip.offsetWidth : left + 60;
    this.tip.style.left = `${Math.max(0, Math.min(room, beside))}px`;
  }
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

function isZoomed(plot) {
  const xs = plot.data[0];
  return xs.length > 1 && (plot.scales.x.min > xs[0] || plot.scales.x.max < xs.at(-1));
}
