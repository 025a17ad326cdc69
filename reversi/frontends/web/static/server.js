// The server: games by HTTP, moves and analyses by a WebSocket that connects again when it is lost.

import { SIZE } from "./address.js";

/** What the server says of a game that it cannot read; `size` is that of the board that it is for, if it is another. */
export class Refusal extends Error {
  constructor({ error, size }) {
    super(error);
    this.size = size;
  }
}

/** Ask for a game with all its positions; throws a Refusal, or an Error if there is no answer to the question. */
export async function loadGame(body) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...body, size: SIZE }) };
  const answer = await fetch("api/game", request).catch(() => null);
  if (answer === null) throw new Error("The server does not answer");
  const read = await answer.json().catch(() => null);
  if (answer.ok && read !== null) return read;
  if (answer.status === 400 && read !== null) throw new Refusal(read);
  throw new Error(read?.error ?? `The server answered ${answer.status}`);
}

/** Return what the server plays: the game, the opponents, the model; where it has no such board, the page changes to the
 * server's own. */
export async function loadInfo() {
  const answer = await fetch(`api/info${SIZE ? `?size=${SIZE}` : ""}`);
  if (answer.status === 400) {
    location.replace("/");
    await new Promise(() => {}); // until it has
  }
  return answer.json();
}

export class Thinker {
  #socket = null;
  #number = 0;
  #onAnswer = null;
  #waiting = null;

  /**
   * @param {(connected: boolean) => void} onConnection  called when the connection is made or lost
   * @param {(info: object) => void} onInfo              called with what the server plays, at once and when that changes
   */
  constructor(onConnection, onInfo) {
    this.onConnection = onConnection;
    this.onInfo = onInfo;
    this.#connect();
  }

  /** Send a request; `onAnswer` gets its answers until another request is sent. */
  ask(request, onAnswer) {
    this.#onAnswer = onAnswer;
    this.#waiting = { ...request, id: ++this.#number };
    this.#send();
  }

  /** Stop the request. */
  stop() {
    if (this.#onAnswer === null) return;
    this.ask({ do: "stop" }, null);
  }

  #send() {
    if (this.#waiting === null || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify(this.#waiting));
  }

  #connect() {
    const address = new URL(`api/think?info${SIZE ? `&size=${SIZE}` : ""}`, document.baseURI);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.onopen = () => {
      this.onConnection(true);
      this.#send();
    };
    socket.onmessage = (event) => {
      const answer = JSON.parse(event.data);
      if (answer.info) return this.onInfo(answer.info);
      if (answer.id !== this.#number) return; // of a request that was stopped
      const { final } = answer;
      const onAnswer = this.#onAnswer;
      if (final) this.#onAnswer = this.#waiting = null;
      onAnswer?.(answer);
    };
    socket.onclose = () => {
      this.onConnection(false);
      setTimeout(() => this.#connect(), 1500);
    };
  }
}
