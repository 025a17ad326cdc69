// The game in the address: #c2b2… from the start of the game, #start=POSITION&moves=c2b2… from another position, or
// #text=… as it was pasted; and the board, ?size=8.

/** Return the fragment for a game, "" for one without a move from the start of the game. */
export function fragmentOf({ start, moves }) {
  const played = moves.join("");
  if (start === null) return played && `#${played}`;
  return `#${new URLSearchParams({ start, moves: played })}`;
}

/** Return the server's request for the game of a fragment. */
export function requestOf(fragment) {
  const text = fragment.slice(1);
  const fields = new URLSearchParams(text);
  const start = fields.get("start");
  if (fields.has("text")) return { text: fields.get("text") };
  if (start === null) return { text: fields.get("moves") ?? text };
  return { start, moves: (fields.get("moves") ?? "").match(/pass|..?/gi) ?? [] };
}

/** The size of the board that the address asks for, undefined for the server's own. */
export const SIZE = Number(new URLSearchParams(location.search).get("size")) || undefined;

/** Return the address of the page of another board, with the game of a request. */
export function elsewhere(size, { text, start, moves }) {
  return `?size=${size}${text === undefined ? fragmentOf({ start, moves }) : `#${new URLSearchParams({ text })}`}`;
}
