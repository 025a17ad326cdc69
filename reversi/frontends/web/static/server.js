// The server: games by HTTP, moves and analyses by a WebSocket that connects again when it is lost.

/** What the server says of a game that it cannot read. */
export class Refusal extends Error {}

/** Ask for a game with all its positions; throws a Refusal, or an Error if there is no answer to the question. */
export async function loadGame(body) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch("/api/game", request).catch(() => null);
  if (answer === null) throw new Error("The server does not answer");
  const read = await answer.json().catch(() => null);
  if (answer.ok && read !== null) return read;
  if (answer.status === 400 && read !== null) throw new Refusal(read.error);
  throw new Error(read?.error ?? `The server answered ${answer.status}`);
}

/** Return what the server plays: the game, the opponents, the model. */
export async function loadInfo() {
  return (await fetch("/api/info")).json();
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
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/api/think?info`);
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
