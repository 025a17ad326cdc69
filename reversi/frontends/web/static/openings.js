// Names of Othello's openings on 8x8.  Source: a selection of Robert Gatliff's catalogue of Othello openings, the list that
// most programs name openings by; where it has several names, the more usual one.  Lines begin with c4: a game that begins
// with another move is turned.

const NAMES = {
  c4c3: "Diagonal",
  c4c3d3c5b3: "Snake",
  c4c3d3c5b4: "Heath",
  c4c3d3c5b4d2d6: "Heath-Bat",
  c4c3d3c5b4d2e2: "Iwasaki Variation",
  c4c3d3c5b4e3: "Heath-Chimney",
  c4c3d3c5b5: "Raccoon Dog",
  c4c3d3c5b6c6b5: "Hamilton",
  c4c3d3c5b6e3: "Lollipop",
  c4c3d3c5d6: "Cow",
  c4c3d3c5d6e3: "Chimney",
  c4c3d3c5d6f4b4: "Cow-Bat",
  c4c3d3c5f6: "Buffalo",
  c4c3d3c5f6f5: "Hokuriku Buffalo",
  c4c3e6c5: "Wing Variation",
  c4c3f5c5: "Semi-Wing Variation",
  c4c5: "Parallel",
  c4e3: "Perpendicular",
  c4e3f4c5d6e6: "Mimura",
  c4e3f4c5d6f3c6: "Shaman",
  c4e3f4c5d6f3d3: "Inoue",
  c4e3f4c5d6f3d3c3: "Iago",
  c4e3f4c5d6f3e2: "Bhagat",
  c4e3f4c5d6f3e6c3d3e2: "Rose",
  c4e3f4c5d6f3e6c3d3e2b5: "Flat",
  c4e3f4c5d6f3e6c3d3e2b5f5: "Rotating Flat",
  c4e3f4c5d6f3e6c3d3e2b6f5: "Rose-Birth",
  c4e3f4c5d6f3e6c3d3e2d2: "Greenberg",
  c4e3f4c5d6f3e6c6: "Ralle",
  c4e3f4c5e6: "Horse",
  c4e3f5b4: "No-Cat",
  c4e3f5b4f3: "Swallow",
  c4e3f5e6d3: "Italian",
  c4e3f5e6f4: "Cat",
  c4e3f6b4: "Bent Ganglion",
  c4e3f6e6f5: "Tiger",
  c4e3f6e6f5c5c3: "Stephenson",
  c4e3f6e6f5c5c3b4: "No-Kung",
  c4e3f6e6f5c5c3c6: "Comp'Oth",
  c4e3f6e6f5c5c3g5: "Kung",
  c4e3f6e6f5c5d3: "Leader's Tiger",
  c4e3f6e6f5c5d6: "Brightwell",
  c4e3f6e6f5c5f4g6f7: "Rose-Bill",
  c4e3f6e6f5g6: "Aubrey",
};

const TURNS = [
  (column, row) => [column, row],
  (column, row) => [row, column],
  (column, row) => [7 - row, 7 - column],
  (column, row) => [7 - column, 7 - row],
];

/** The name of the opening that a game of 8x8 with these moves has reached, or "". */
export function openingOf(moves) {
  const line = TURNS.map((turn) => moves.map((move) => turned(move, turn)).join("")).find((each) => each.startsWith("c4"));
  const name = Object.keys(NAMES).filter((each) => line?.startsWith(each)).sort((a, b) => b.length - a.length)[0];
  return name ? NAMES[name] : "";
}

function turned(move, turn) {
  const [column, row] = turn(move.charCodeAt(0) - 97, Number(move[1]) - 1);
  return String.fromCharCode(97 + column) + (row + 1);
}
