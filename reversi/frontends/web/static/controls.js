// The controls: what the person does with buttons, fields and keys.

import { requestOf } from "./address.js";
import { exportGames, forgetGames } from "./games.js";

const $ = (id) => document.getElementById(id);

/** Let the controls of the page act on the game. */
export function connectControls(state, play) {
  const goBy = (plies) => play.goTo(state.ply + plies);
  const players = () => ({
    mine: $("color").value,
    opponent: state.offered($("opponent").value),
    second: state.offered($("second").value),
  });
  const onClick = (actions) => Object.entries(actions).forEach(([id, action]) => $(id).addEventListener("click", action));
  onClick({
    first: () => play.goTo(0),
    back: () => goBy(-1),
    forward: () => goBy(1),
    last: () => play.goTo(state.lastPly),
    undo: () => play.undo(),
    restore: () => history.back(),
    review: () => play.review(),
    "end-review": () => play.review(),
    rematch: () => play.rematch(false),
    swap: () => play.rematch(true),
    learn: () => play.learn(),
    "lesson-tell": () => tell(state, play),
    "lesson-next": () => play.learn(state.lesson.number),
    "lesson-end": () => play.goTo(state.lastPly),
    pause: () => play.pause(),
    step: () => play.step(),
    seat: () => play.seat(players()),
    load: () => loadText(state, play),
    copy: () => copy(state.game.transcript),
    "copy-ggf": () => copy(state.game.ggf),
    "copy-link": () => copy(location.href),
    "copy-position": () => copy(`${state.position.board} ${state.position.side}`),
    export: exportGames,
    forget: forgetGames,
  });
  $("new").addEventListener("submit", (event) => {
    event.preventDefault();
    play.newGame(players());
  });
  $("color").addEventListener("change", () => play.view.showFields());
  $("speed").addEventListener("change", () => {
    play.speed = $("speed").value;
    play.goOn();
  });
  $("hints").addEventListener("change", () => play.goOn());
  $("unit").addEventListener("change", () => play.view.showAnalysis());
  onKeys(() => state.game !== null, {
    ArrowLeft: () => goBy(-1),
    ArrowRight: () => goBy(1),
    Home: () => play.goTo(0),
    End: () => play.goTo(state.lastPly),
    u: () => play.undo(),
    h: () => $("hints").click(),
    n: () => play.newGame(players()),
    r: () => $("review").click(),
    " ": () => state.mine === "none" && play.pause(),
  });
}

/** Act on the keys that are pressed outside of fields, while `enabled()`; a button keeps its space bar. */
function onKeys(enabled, actions) {
  document.addEventListener("keydown", (event) => {
    if (!enabled() || event.target.closest("textarea, select, input")) return;
    if (event.key === " " && event.target.closest("button, summary")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
}

function tell(state, play) {
  state.lesson.tell();
  play.goOn();
}

async function loadText(state, play) {
  const text = $("text").value.trim();
  if (text === "") return;
  const players = { mine: "both", opponent: state.offered(state.opponent.name) };
  const link = text.match(/^https?:\/\/\S*?(#\S+)$/);
  const request = link ? requestOf(link[1]) : { text };
  if ((await play.take(request, null, players)) === "taken") $("text").value = "";
}

async function copy(text) {
  $("text").value = text;
  $("text").select();
  await navigator.clipboard?.writeText(text).catch(() => {}); // without permission it stands in the field, selected
}
