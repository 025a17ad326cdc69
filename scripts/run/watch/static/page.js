// The page of a run: asks the server again and again while the run trains, or shows what a report brings with it.

import { AXES, Chart, durationText, shortNumber } from "./charts.js";

const ASK_S = 3;
const get = (id) => document.getElementById(id);
const charts = new Map();
let shown = null;
let several = false;
let asking = 0;

/** Make an element with a text, a class and children. */
function element(name, text = "", className = "", ...children) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function show(view) {
  shown = view;
  document.title = `${view.run}: ${view.state}`;
  get("run").textContent = view.run;
  get("state").textContent = view.state;
  get("state").className = `badge ${view.state}`;
  get("what").textContent = [...view.what, timeText(view)].filter(Boolean).join(" · ");
  trouble(view.reason);
  showProgress(view);
  get("tiles").replaceChildren(
    ...view.tiles.map(({ value, text }) => element("div", "", "card tile", element("b", value), element("span", text))),
  );
  showAxes(view);
  showCharts(view);
  showGate(view.gate);
  showRoles(view.roles);
  showEvents(view.events);
}

/** Offer the files of games that the run has kept; the choice stays while more are written. */
async function showGames() {
  const { files, board } = await (await asked(about("api/games"))).json();
  get("kept-card").hidden = !files.length;
  get("board").hidden = !board || !shown.commands["play the champion"];
  get("board").href = board ?? "";
  const select = get("files");
  if (!files.length || files[0].file === select.options[0]?.value) return;
  const chosen = files.some(({ file }) => file === select.value) ? select.value : files[0].file;
  select.replaceChildren(...files.map(({ file, text }) => new Option(text, file, false, file === chosen)));
  if (!get("kept").rows.length) await showFile();
}

async function showFile() {
  const path = about("api/games");
  const { games, board } = await (await asked(`${path}${path.includes("?") ? "&" : "?"}file=${get("files").value}`)).json();
  table("kept", ["", "game", "plies", "Black - White"], games.map(({ title, plies, discs, address }, index) => {
    const link = element(board ? "a" : "span", `${index + 1}`);
    if (board) Object.assign(link, { href: `${board}${address}`, target: "_blank" });
    return [link, title, `${plies}`, discs.join(" - ")];
  }));
}

/** Show several runs together. */
function showComparison(view) {
  shown = view;
  document.title = get("run").textContent = view.run;
  for (const id of ["state", "what", "show-commands", "show-config"]) get(id).hidden = true;
  trouble(null);
  get("compared").hidden = false;
  table("compared-runs", ["run", "state", "", "time", ...FIGURES.map(([, name]) => name)], view.runs.map((run) => [
    element("span", "", "", element("span", "", `dot ${run.color}`), run.run),
    element("span", run.state, `badge ${run.state}`),
    run.what.join(" · "),
    durationText(run.elapsed_s),
    ...FIGURES.map(([words]) => run.tiles.find(({ text }) => text.includes(words))?.value ?? ""),
  ]));
  get("differences-card").hidden = !view.differences.length;
  table("differences", ["", ...view.runs.map(({ run }) => run)], view.differences.map(({ key, values }) => [key, ...values]));
  showAxes({ places: { ticks: AXES } });
  showCharts(view);
}

/** Figures of the comparison: what is said of them in their tile, and what they are called here. */
const FIGURES = [["champion", "champion"], ["results kept", "results kept"], ["games", "games"], ["last minute", "a second"]];

function timeText({ elapsed_s, limit_s, state }) {
  if (!elapsed_s) return "";
  const of = limit_s ? ` of ${durationText(limit_s)}` : "";
  const left = state === "training" && limit_s ? `, ${durationText(Math.max(0, limit_s - elapsed_s))} left` : "";
  return `${durationText(elapsed_s)}${of}${left}`;
}

function trouble(text) {
  get("trouble").hidden = !text;
  get("trouble").textContent = text ?? "";
}

function showProgress({ elapsed_s, limit_s, state }) {
  const bar = get("progress");
  bar.hidden = !limit_s || !["training", "saving"].includes(state);
  const percent = limit_s ? Math.min(100, (100 * elapsed_s) / limit_s) : 0;
  bar.firstElementChild.style.width = `${percent}%`;
  bar.setAttribute("aria-valuenow", percent.toFixed(0));
}

function showAxes(view) {
  const select = get("axis");
  const there = Object.keys(AXES).filter((axis) => axis === "time" || axis in view.places.ticks);
  if (select.options.length === there.length) return;
  const chosen = select.value;
  select.replaceChildren(...there.map((axis) => new Option(AXES[axis].label, axis, false, axis === chosen)));
}

function showCharts(view) {
  const there = new Set(view.charts.map(({ id }) => id));
  for (const [id, chart] of charts) {
    if (!there.has(id)) {
      chart.card.remove();
      charts.delete(id);
    }
  }
  for (const chart of view.charts) {
    if (!charts.has(chart.id)) charts.set(chart.id, new Chart(get("charts"), chart.id));
    const drawn = charts.get(chart.id);
    get("charts").append(drawn.card); // keeps the server's order
    drawn.show(chart, view.places[chart.x], get("axis").value);
  }
}

function showGate(matches) {
  get("gate-card").hidden = !matches.length;
  const head = ["candidate", "against", "won-drawn-lost", "Elo", "results kept", "discs lost", "match", "verdict", "at"];
  table("gate", head, matches.map((match) => [
    `v${match.candidate}`,
    `v${match.opponent}`,
    match.games.join("-"),
    eloText(match.elo),
    match.kept === null ? "" : `${(100 * match.kept).toFixed(1)} %`,
    match.lost === null ? "" : match.lost.toFixed(2),
    match.seconds === null ? "" : durationText(match.seconds),
    element("span", match.promoted ? "promoted" : "rejected", match.promoted ? "promoted" : "rejected"),
    durationText(match.at_s),
  ]));
}

function eloText([elo, low, high]) {
  const signed = (value, none) => (value === null || value === undefined ? none : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(0)}`);
  return element("span", `${signed(elo, "")} `, "", element("small", `[${signed(low, "−∞")}, ${signed(high, "+∞")}]`));
}

function showRoles(roles) {
  get("roles-card").hidden = !roles.length;
  table("roles", ["role", "alive / wanted", "restarts", "last answer", "memory"], roles.map((role) => [
    element("span", "", "", element("span", "", `dot${role.alive < role.wanted ? " down" : role.pending_s > 10 ? " late" : ""}`), role.role),
    `${role.alive} / ${role.wanted}`,
    `${role.restarts}`,
    `${role.pending_s.toFixed(1)} s`,
    `${role.rss_mb.toFixed(0)} MB`,
  ]));
}

function table(id, head, rows) {
  const cells = (row, kind) => row.map((cell) => element(kind, "", "", cell));
  get(id).replaceChildren(
    element("thead", "", "", element("tr", "", "", ...cells(head, "th"))),
    element("tbody", "", "", ...rows.map((row) => element("tr", "", "", ...cells(row, "td")))),
  );
}

function showEvents(events) {
  get("events-card").hidden = !events.length;
  get("events").replaceChildren(...events.map(({ at_s, text, kind }) =>
    element("li", "", kind, element("time", at_s === undefined ? "" : durationText(at_s)), element("span", text, kind === "promotion" ? "promoted" : ""))));
}

function open(title, text) {
  get("dialog-title").textContent = title;
  get("dialog-text").textContent = text;
  get("dialog").showModal();
}

async function asked(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
  return answer;
}

/** Return a request about the run that is chosen. */
function about(path) {
  const run = new URLSearchParams(location.search).get("run");
  return run ? `${path}?run=${encodeURIComponent(run)}` : path;
}

/** Offer the server's runs; another one is another address. */
async function offerRuns() {
  const runs = await (await asked("api/runs")).json();
  const chosen = new URLSearchParams(location.search).get("run") ?? "";
  several = runs.length > 1 && !chosen;
  get("choice").hidden = runs.length < 2;
  const together = new Option("all together", "", false, several);
  get("runs").replaceChildren(together, ...runs.map((run) => new Option(run, run, false, run === chosen)));
  get("runs").addEventListener("change", () => location.assign(`?run=${encodeURIComponent(get("runs").value)}`));
}

/** Ask for the run until it has ended, and then rarely: it may be resumed. */
async function follow() {
  let wait_s = ASK_S;
  try {
    if (several) {
      showComparison(await (await asked(`api/compare?axis=${get("axis").value || "time"}`)).json());
    } else {
      show(await (await asked(about("api/run"))).json());
      await showGames();
    }
    if (!(shown.runs ?? [shown]).some(({ state }) => ["training", "saving", "empty"].includes(state))) wait_s = 10 * ASK_S;
  } catch (error) {
    trouble(error instanceof TypeError ? "the server does not answer; this page asks again" : error.message);
  }
  asking = setTimeout(follow, 1000 * wait_s);
}

const brought = document.getElementById("brought");
const redraw = () => shown && showCharts(shown);
get("axis").addEventListener("change", () => {
  if (!several) return redraw();
  clearTimeout(asking);
  return follow(); // the server puts all runs on one axis
});
get("files").addEventListener("change", () => showFile().catch((error) => trouble(error.message)));
get("show-commands").addEventListener("click", () =>
  open("Commands", Object.entries(shown?.commands ?? {}).map(([what, line]) => `# ${what}\n${line}`).join("\n\n")));
get("show-config").addEventListener("click", async () => {
  try {
    open("Configuration", brought ? shown.config : await (await asked(about("api/config"))).text());
  } catch (error) {
    trouble(error.message);
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  charts.forEach((chart) => chart.repaint());
  redraw();
});
if (brought) show(JSON.parse(brought.textContent));
else {
  offerRuns().then(follow, (error) => trouble(error.message));
}
