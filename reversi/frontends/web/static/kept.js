// What a page keeps of its game where a reload finds it: the game in the address, who plays it in the browser's history.

import { fragmentOf, requestOf } from "/static/address.js";

/** Keep the game and who plays it; a link that is sent has the game alone. */
export function keep({ mine, opponent, game }) {
  const { start, moves } = game;
  history.replaceState({ mine, opponent, start, moves }, "", location.pathname + fragmentOf(game));
}

/** Return what was kept, else the game of the address, which is for both sides, to be studied.
 * @returns {{origin: string, request: object, players: object}}  what it is called, how the server is asked for it, and
 *   who plays it */
export function keptGame({ info, opponent }) {
  const kept = history.state;
  if (!kept) {
    const players = { mine: location.hash ? "both" : "X", opponent };
    return { origin: "This link's game", request: requestOf(location.hash), players };
  }
  const known = info.opponents.some(({ name }) => name === kept.opponent);
  const players = { mine: kept.mine, opponent: known ? kept.opponent : info.opponent };
  return { origin: "The game that the browser kept", request: { start: kept.start, moves: kept.moves }, players };
}
