// The page: a game against an opponent, or an analysis of it.  The server has the rules and the players; this file has
// the game that is shown, the ply, and whose turn it is to do something.

import { fragmentOf, requestOf } from "/static/address.js";
import { Board } from "/static/board.js";
import { Evaluation } from "/static/evaluation.js";
import { Graph } from "/static/graph.js";
import { Moves } from "/static/moves.js";
import { betterOf, blackValue, isExact, lossOf, markOf } from "/static/review.js";
import { Refusal, Thinker, loadGame, loadInfo } from "/static/server.js";

const $ = (id) => document.getElementById(id);
const PASS = "pass";
const PASS_MS = 700; // a pass is shown for so long
const RETRY_MS = 1500; // a first game that did not come is asked for again after so long
const NAMES = { X: "Black", O: "White" };

const info = await loadInfo();
const title = info.game === "tictactoe" ? "Tic-tac-toe" : "Reversi";
const counts = info.game !== "tictactoe"; // whether discs decide the game
const board = new Board(info.size, playAt);
const evaluation = new Evaluation(board, playAt);
const graph = new Graph(goTo);
const moves = new Moves(goTo, counts, info.marks);
const thinker = new Thinker((connected) => {
  online = connected;
  showStatus();
});

let online = false;
let game = null; // as the server sends it
let ply = 0; // the ply that is shown
let mine = "X"; // the sides that the person plays: X, O, both or none
let opponent = info.opponent;
let choosing = false; // whether the opponent is thinking
let fault = ""; // what went wrong last
let refused = false; // whether that was a game that the server cannot read
let analyses = []; // the best analysis so far by ply
let reviewed = new Set(); // the plies that reviews have analysed
let reviewing = false; // whether a review runs
let passing = 0; // the timer of a pass
let requests = 0; // how many games the server was asked for
let taking = false; // whether the last of them has not come yet

const position = () => game.positions[ply];
const lastPly = () => game.moves.length;
const isMine = (side) => mine === "both" || mine === side;
const other = (side) => (side === "X" ? "O" : "X");

// ---- what the person does

/** The person chose a square. */
function playAt(move) {
  if (position().legal.includes(move) && isMine(position().side)) play(move);
}

/** Play a move in the position shown; later plies are taken back. */
async function play(move) {
  await take({ start: game.start, moves: [...game.moves.slice(0, ply), move] }, ply + 1);
}

function newGame() {
  return take({ start: null, moves: [] }, 0, { mine: $("color").value, opponent: $("opponent").value });
}

/** Take back to the person's last decision. */
async function undo() {
  for (let at = ply - 1; at >= 0; at--) {
    if (isMine(game.positions[at].side) && game.moves[at] !== PASS) {
      await take({ start: game.start, moves: game.moves.slice(0, at) }, at);
      return;
    }
  }
}

function goTo(number) {
  const to = Math.max(0, Math.min(lastPly(), number));
  if (to === ply) return;
  ply = to;
  goOn();
}

async function loadText() {
  if (await take({ text: $("text").value }, null, { mine: "both", opponent })) $("text").value = "";
}

// ---- the game goes on

/** Replace the game by the one that the server makes of `body`, show `at` (null: its end) and go on.  Of several such
 * requests the last one counts, whichever answer comes last.  `players` is who plays it, if not the same as before. */
async function take(body, at, players = null) {
  if (!reviewing) stopAll();
  const number = ++requests;
  taking = true;
  let [taken, wrong] = [null, null];
  try {
    taken = await loadGame(body);
  } catch (error) {
    wrong = error;
  }
  if (number !== requests) return false;
  taking = false;
  fault = wrong?.message ?? "";
  refused = wrong instanceof Refusal;
  if (taken) {
    stopAll();
    const same = game ? taken.moves.findIndex((move, index) => move !== game.moves[index]) : 0;
    forgetFrom(players ? 0 : (same < 0 ? taken.moves.length : same) + 1);
    if (players) seat(players);
    game = taken;
    ply = at ?? lastPly();
  }
  if (game === null) return false;
  if (taken || refused) keep(); // a link that had no answer stays, to be loaded again
  show();
  proceed();
  return taken !== null;
}

/** Forget what is known of the positions from a ply on. */
function forgetFrom(number) {
  analyses.length = Math.min(analyses.length, number);
  reviewed = new Set([...reviewed].filter((at) => at < number));
}

function seat(players) {
  ({ mine, opponent } = players);
  $("color").value = mine;
  $("opponent").value = opponent;
}

/** Write the game into the address, and who plays it into the browser's history: a page that is loaded again goes on
 * with both, and a link that was sent has the game alone. */
function keep() {
  history.replaceState({ mine, opponent, start: game.start, moves: game.moves }, "", location.pathname + fragmentOf(game));
}

/** Take the game of the address, or a new one if there is none yet and that one cannot be read. */
async function openAddress() {
  const [number, origin] = [requests + 1, history.state ? "The game that the browser kept" : "This link's game"];
  if ((await takeAddress()) || number !== requests) return;
  const wrong = refused ? `${origin} does not fit ${info.size}x${info.size}: ${fault}` : fault;
  if (game === null && refused) await newGame();
  if (game === null) setTimeout(() => game ?? openAddress(), RETRY_MS);
  fault = wrong;
  showStatus();
}

/** Take the game that the browser has kept, or the address': that is for both sides, to be studied. */
function takeAddress() {
  const kept = history.state;
  if (!kept) return take(requestOf(location.hash), null, { mine: location.hash ? "both" : "X", opponent });
  const known = info.opponents.some(({ name }) => name === kept.opponent);
  const players = { mine: kept.mine, opponent: known ? kept.opponent : info.opponent };
  return take({ start: kept.start, moves: kept.moves }, null, players);
}

/** Show what the person has changed and go on. */
function goOn() {
  fault = "";
  show();
  proceed();
}

/** Do what the position shown asks for: a pass, the opponent's move, or an evaluation; after a review that runs. */
function proceed() {
  if (reviewing) return;
  stopAll();
  if (taking) return; // the game to come goes on by itself
  const { side, legal, over } = position();
  const atEnd = ply === lastPly();
  if (over) return evaluate();
  if (atEnd && legal[0] === PASS) {
    passing = setTimeout(() => play(PASS), PASS_MS);
    return showStatus();
  }
  if (atEnd && !isMine(side)) return choose();
  return evaluate();
}

function stopAll() {
  clearTimeout(passing);
  passing = 0;
  choosing = reviewing = false;
  showReview();
  thinker.stop();
}

/** Ask the opponent for its move. */
function choose() {
  choosing = true;
  showStatus();
  const asked = { do: "choose", opponent, start: game.start, moves: game.moves };
  thinker.ask(asked, (answer) => {
    if (failed(answer) || !answer.analysis) return;
    choosing = false;
    play(answer.analysis.moves[0].move);
  });
}

/** Evaluate the position shown, if the person wants that. */
function evaluate() {
  showAnalysis();
  if (!$("hints").checked || !info.analysis || position().over) return;
  if (isExact(analyses[ply])) return;
  const at = ply;
  thinker.ask({ do: "analyse", start: game.start, moves: game.moves.slice(0, ply) }, (answer) => {
    if (failed(answer) || !answer.analysis) return;
    analyses[at] = betterOf(analyses[at], answer.analysis);
    if (at === ply) showAnalysis();
  });
}

/** Evaluate the positions of the game that no review has reached and whose score is not known, or, if there are none,
 * all whose score is not known; then the game goes on. */
function review() {
  stopAll();
  reviewing = true;
  showReview();
  showStatus();
  const open = [...game.positions.keys()].filter((at) => !game.positions[at].over && !isExact(analyses[at]));
  const left = open.filter((at) => !reviewed.has(at));
  thinker.ask({ do: "review", start: game.start, moves: game.moves, plies: left.length ? left : open }, (answer) => {
    if (!failed(answer) && answer.analysis) {
      analyses[answer.ply] = betterOf(analyses[answer.ply], answer.analysis);
      reviewed.add(answer.ply);
      showAnalysis();
      showMoves();
    }
    if (answer.final) endReview();
  });
}

/** The game goes on. */
function endReview() {
  stopAll();
  proceed();
}

function failed(answer) {
  if (!answer.error) return false;
  fault = answer.error;
  choosing = false;
  showStatus();
  return true;
}

/** What every move of the game gave away, null where that is not known. */
function losses() {
  return game.moves.map((_, at) => lossOf(game, analyses, at));
}

// ---- showing

function show() {
  const { side, over } = position();
  document.querySelector("main").inert = false; // there is a game now
  board.show(position(), ply > 0 ? game.moves[ply - 1] : null, !over && isMine(side));
  const person = mine === "none" ? "" : mine;
  const bottom = person === "O" ? "O" : "X";
  showSide($("top-side"), other(bottom));
  showSide($("bottom-side"), bottom);
  $("bar").classList.toggle("flip", bottom === "O");
  $("first").disabled = $("back").disabled = ply === 0;
  $("last").disabled = $("forward").disabled = ply === lastPly();
  $("undo").disabled = !game.moves.slice(0, ply).some((move, at) => move !== PASS && isMine(game.positions[at].side));
  $("review").disabled = !info.analysis || lastPly() === 0;
  $("copy").hidden = game.start !== null; // a transcript has no start
  $("copy-ggf").hidden = game.ggf === null;
  showStatus();
  showMoves();
  showAnalysis();
}

function showSide(element, side) {
  const at = position();
  const name = mine === "both" ? NAMES[side] : isMine(side) ? "You" : labelOf(opponent);
  const passes = at.side === side && at.legal[0] === PASS;
  element.className = "side" + (at.side === side && !at.over ? " turn" : "");
  element.innerHTML = `<span class="dot ${side}"></span><span class="name"></span><span class="state"></span><span class="count"></span>`;
  element.querySelector(".name").textContent = name;
  element.querySelector(".state").textContent = passes ? "must pass" : "";
  if (counts) element.querySelector(".count").textContent = side === "X" ? at.black : at.white;
}

function labelOf(name) {
  return info.opponents.find((each) => each.name === name)?.label ?? name;
}

function showStatus() {
  const status = $("status");
  status.classList.toggle("error", fault !== "" || !online);
  const wrong = online ? fault : "The server does not answer; trying again…";
  status.textContent = wrong || (game && stateText());
}

function stateText() {
  const { side, over, black, white, margin, legal } = position();
  if (over) return margin === 0 ? "A draw" : winnerName(margin > 0 ? "X" : "O") + (counts ? ` ${black} to ${white}` : "");
  if (legal[0] === PASS) return `${NAMES[side]} has no move and passes`;
  if (choosing) return `${labelOf(opponent)} is thinking…`;
  if (ply < lastPly()) return `After ply ${ply} of ${lastPly()}`;
  return isMine(side) && mine !== "both" ? "Your move" : `${NAMES[side]} to move`;
}

function showReview() {
  $("review").textContent = reviewing ? "Reviewing…" : "Review";
  $("review").title = reviewing ? "Stop" : "";
}

function winnerName(side) {
  if (mine === "both" || mine === "none") return `${NAMES[side]} wins`;
  return isMine(side) ? "You win" : "You lose";
}

function showMoves() {
  moves.show(game, ply, losses());
}

function showAnalysis() {
  const on = $("hints").checked && info.analysis;
  const pending = on && !position().over;
  const values = game.positions.map((_, at) => blackValue(game, analyses, at));
  const marks = losses().map((loss, at) => [at + 1, loss && markOf(loss, info.marks)]);
  $("graph").toggleAttribute("hidden", !info.analysis);
  graph.draw(values, lastPly(), ply, new Map(marks.filter(([, mark]) => mark)));
  $("analysis-card").hidden = !on;
  evaluation.showBar(on ? values[ply] : null);
  evaluation.showMoves(pending ? analyses[ply] : null, pending);
}

// ---- controls

$("new").addEventListener("submit", (event) => {
  event.preventDefault();
  newGame();
});
$("opponent").addEventListener("change", () => {
  opponent = $("opponent").value;
  keep();
  goOn();
});
$("color").addEventListener("change", () => {
  mine = $("color").value;
  keep();
  goOn();
});
$("first").addEventListener("click", () => goTo(0));
$("back").addEventListener("click", () => goTo(ply - 1));
$("forward").addEventListener("click", () => goTo(ply + 1));
$("last").addEventListener("click", () => goTo(lastPly()));
$("undo").addEventListener("click", undo);
$("hints").addEventListener("change", goOn);
$("review").addEventListener("click", () => (reviewing ? endReview() : review()));
$("load").addEventListener("click", loadText);
$("copy").addEventListener("click", () => copy(game.transcript));
$("copy-ggf").addEventListener("click", () => copy(game.ggf));
$("copy-link").addEventListener("click", () => copy(location.href));
$("copy-position").addEventListener("click", () => copy(`${position().board} ${position().side}`));

async function copy(text) {
  $("text").value = text;
  $("text").select();
  await navigator.clipboard?.writeText(text).catch(() => {}); // without permission it stands in the field, selected
}

document.addEventListener("keydown", (event) => {
  if (game === null || event.target.closest("textarea, select, input") || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    ArrowLeft: () => goTo(ply - 1),
    ArrowRight: () => goTo(ply + 1),
    Home: () => goTo(0),
    End: () => goTo(lastPly()),
    u: undo,
    h: () => $("hints").click(),
  }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// ---- the beginning

document.title = `${title} ${info.size} × ${info.size}`;
document.querySelector("h1").textContent = title;
$("about").textContent = `${info.size} × ${info.size}, ${info.name}`;
for (const { name, label } of info.opponents) $("opponent").append(new Option(label, name, false, name === info.opponent));
$("analysis-card").hidden = true;
if (!info.analysis) $("hints").closest("label").hidden = $("review").hidden = true;
await openAddress();
window.addEventListener("hashchange", openAddress); // by the person: what the page writes there makes no event
