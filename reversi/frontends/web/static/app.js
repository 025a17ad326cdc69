// The page's beginning: its parts are made and connected, and it opens the game that it finds.

import { connectControls } from "./controls.js";
import { keptGame } from "./history.js";
import { Play } from "./play.js";
import { loadInfo } from "./server.js";
import { State } from "./state.js";
import { Thinking } from "./thinking.js";
import { View } from "./view.js";

const RETRY_MS = 1500; // a first game that did not come is asked for again after so long

const state = new State(await loadInfo());
const view = new View(
  state,
  (move) => play.playAt(move),
  (ply) => play.goTo(ply),
  ({ start, moves }) => play.take({ start, moves }, null, { mine: "both" }),
);
const play = new Play(state, view, new Thinking(state, view, (info) => play.renew(info)));
connectControls(state, play);
await openKept();
window.addEventListener("popstate", openKept); // Back, Forward, or another address: what the page writes makes no event

/** Take the game that was kept, or that of the address; a new one if there is none yet and that one cannot be read. */
async function openKept() {
  const { origin, request, players } = keptGame(state);
  const outcome = await play.take(request, null, players, true);
  if (outcome === "taken" || outcome === "outdated") return;
  const { size } = state.info;
  const wrong = outcome === "refused" && !state.elsewhere ? `${origin} does not fit ${size}x${size}: ${state.fault}` : state.fault;
  const { elsewhere } = state;
  if (state.game === null && outcome === "refused") await play.newGame({ mine: "X", opponent: state.opponent });
  if (state.game === null) setTimeout(() => state.game ?? openKept(), RETRY_MS);
  [state.fault, state.elsewhere] = [wrong, elsewhere];
  view.showStatus();
}
