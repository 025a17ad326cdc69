// The game in the address: #c2b2… from the start of the game, #start=POSITION&moves=c2b2… from another position.

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
  if (start === null) return { text: fields.get("moves") ?? text };
  return { start, moves: (fields.get("moves") ?? "").match(/pass|..?/gi) ?? [] };
}
