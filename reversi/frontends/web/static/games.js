// The finished games that this browser keeps, newest first.

const KEY = "reversi-games";
const MOST = 200;

/** The games kept; none if the browser keeps nothing. */
export function keptGames() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

/** Keep a finished game, once. */
export function keepGame({ game, mine, opponent, second, info, counts }) {
  const { black, white, margin } = game.positions.at(-1);
  const players = { X: mine === "X" ? "You" : mine === "none" ? second.label : opponent.label, O: mine === "O" ? "You" : opponent.label };
  const result = counts ? `${black}–${white}` : ["White wins", "draw", "Black wins"][Math.sign(margin) + 1];
  const { start, moves, ggf } = game;
  const made = { game: info.game, date: new Date().toISOString(), players, result, start, moves, ggf };
  const others = keptGames().filter((each) => each.moves.join() !== moves.join() || each.start !== start || each.game !== info.game);
  store([made, ...others].slice(0, MOST));
}

/** Forget all games. */
export function forgetGames() {
  store([]);
}

/** Give the games as a file, in GGF or, where there is none, as transcripts. */
export function exportGames() {
  const lines = keptGames().map(({ ggf, moves, date, players, result }) => {
    const named = ggf
      ?.replace("PB[]", `DT[${date.slice(0, 10)}]PB[${plain(players.X)}]`)
      .replace("PW[]", `PW[${plain(players.O)}]`);
    return named ?? `${moves.join("")} ${result}`;
  });
  const url = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: "games.ggf" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function store(games) {
  try {
    localStorage.setItem(KEY, JSON.stringify(games));
  } catch {
    return; // the browser keeps nothing
  }
  window.dispatchEvent(new Event("games"));
}

function plain(name) {
  return name.replace(/[[\]\\]/g, "");
}
