// What a page keeps of its game where a reload finds it: the game in the address, who plays it in the browser's history.

import { fragmentOf, requestOf } from "./address.js";

/** Keep the game and who plays it; a link that is sent has the game alone.  With `anew` Back returns to what was kept
 * before. */
export function keep({ mine, opponent, second, game, dropped }, anew) {
  const { start, moves } = game;
  const { name, label, model } = opponent;
  const kept = { mine, opponent: name, label, model, second: second.name, start, moves, dropped };
  history[anew ? "pushState" : "replaceState"](kept, "", location.pathname + location.search + fragmentOf(game));
}

/** Return what was kept, else the game of the address, which is for both sides, to be studied.
 * @returns {{origin: string, request: object, players: object}}  what it is called, how the server is asked for it, and
 *   who plays it */
export function keptGame(state) {
  const kept = history.state;
  const opponent = state.offered(kept ? kept.opponent : state.opponent.name);
  if (!kept) {
    const players = { mine: location.hash ? "both" : "X", opponent };
    return { origin: "This link's game", request: requestOf(location.hash), players };
  }
  const { mine, label, model, start, moves } = kept;
  const goesOn = opponent.name === kept.opponent && moves.length > 0 && label; // against the version of its model
  const second = state.offered(kept.second ?? kept.opponent);
  const players = { mine, opponent: goesOn ? { ...opponent, label, model } : opponent, second };
  return { origin: "The game that the browser kept", request: { start, moves }, players };
}
