// The controls: what the person does with buttons, fields and keys.

const $ = (id) => document.getElementById(id);

/** Let the controls of the page act on the game. */
export function connectControls(state, play) {
  const goBy = (plies) => play.goTo(state.ply + plies);
  const onClick = (actions) => Object.entries(actions).forEach(([id, action]) => $(id).addEventListener("click", action));
  onClick({
    first: () => play.goTo(0),
    back: () => goBy(-1),
    forward: () => goBy(1),
    last: () => play.goTo(state.lastPly),
    undo: () => play.undo(),
    review: () => play.review(),
    load: () => loadText(state, play),
    copy: () => copy(state.game.transcript),
    "copy-ggf": () => copy(state.game.ggf),
    "copy-link": () => copy(location.href),
    "copy-position": () => copy(`${state.position.board} ${state.position.side}`),
  });
  $("new").addEventListener("submit", (event) => {
    event.preventDefault();
    play.newGame({ mine: $("color").value, opponent: state.offered($("opponent").value) });
  });
  $("opponent").addEventListener("change", () => play.seat({ opponent: state.offered($("opponent").value) }));
  $("color").addEventListener("change", () => play.seat({ mine: $("color").value }));
  $("hints").addEventListener("change", () => play.goOn());
  onKeys(() => state.game !== null, {
    ArrowLeft: () => goBy(-1),
    ArrowRight: () => goBy(1),
    Home: () => play.goTo(0),
    End: () => play.goTo(state.lastPly),
    u: () => play.undo(),
    h: () => $("hints").click(),
  });
}

/** Act on the keys that are pressed outside of fields, while `enabled()`. */
function onKeys(enabled, actions) {
  document.addEventListener("keydown", (event) => {
    if (!enabled() || event.target.closest("textarea, select, input")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
}

async function loadText(state, play) {
  const players = { mine: "both", opponent: state.offered(state.opponent.name) };
  if ((await play.take({ text: $("text").value }, null, players)) === "taken") $("text").value = "";
}

async function copy(text) {
  $("text").value = text;
  $("text").select();
  await navigator.clipboard?.writeText(text).catch(() => {}); // without permission it stands in the field, selected
}
