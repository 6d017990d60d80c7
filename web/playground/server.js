// Calls of the server. What it refuses becomes a sentence; when it does not answer, the page waits for it.

class ServerProblem extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// What lasts as long as the tab; a browser may have no such storage.
const Session = {
  get(key) {
    try {
      return window.sessionStorage.getItem(key);
    } catch (error) {
      return null;
    }
  },

  set(key, value) {
    try {
      window.sessionStorage.setItem(key, value);
    } catch (error) {
      // It then lasts as long as the page.
    }
  },
};

const TOKEN = /^#(?:.*?&)??token=(.*)$/s;  // all that follows: a token may contain any character
const PATIENCE = 15000;  // ms; a server that takes longer for an answer does not answer

// The token in the fragment of an address, or null. A percent sign that escapes nothing is one of the token.
function tokenOf(hash) {
  const given = TOKEN.exec(hash);
  return given && given[1].replace(/(?:%[0-9a-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped);
    } catch (error) {
      return escaped;
    }
  });
}

const Server = {
  token: null,
  lost: false,
  slow: 0,  // calls that have waited for a while
  onSlow: () => {},
  onLost: () => {},
  onReturn: () => {},

  // The token of the address goes to the session's storage, so that it does not stay in sight.
  start() {
    const given = tokenOf(window.location.hash);
    if (given !== null) {
      Server.useToken(given);
      window.history.replaceState(null, "", window.location.pathname);
    } else Server.token = Session.get("parsnets-token");
    // A token that is added to the address of the open page.
    window.addEventListener("hashchange", () => {
      if (tokenOf(window.location.hash) !== null) window.location.reload();
    });
    window.setInterval(() => {
      if (!Server.lost && !document.hidden) Server.call("/healthz", { patience: PATIENCE / 3 }).catch(() => {});
    }, PATIENCE / 3);
  },

  useToken(token) {
    Server.token = token;
    Session.set("parsnets-token", token);
  },

  // The answer of the server; `body`, a Blob or a value that is sent as JSON, makes it a POST. `patience`: for
  // how long to wait for it, in ms.
  async call(path, { body, signal, patience = PATIENCE } = {}) {
    const options = { cache: "no-store", headers: Server.authorization() };
    if (body !== undefined) {
      options.method = "POST";
      const plain = !(body instanceof Blob);
      if (plain) options.headers.set("Content-Type", "application/json");
      options.body = plain ? JSON.stringify(body) : body;
    }
    for (let attempt = 0; ; attempt += 1) {
      const answer = await Server.fetch(path, options, signal, patience);
      if (answer.ok) return answer;
      const busy = answer.status === 429 || answer.status === 503;
      if (!busy || attempt === 3) throw await Server.problemOf(answer);
      await new Promise((resume) => window.setTimeout(resume, 1000 * (Number(answer.headers.get("Retry-After")) || 1)));
      if (signal && signal.aborted) throw new DOMException("no longer wanted", "AbortError");
    }
  },

  // A token that no header can carry is a wrong one.
  authorization() {
    try {
      return new Headers(Server.token ? { Authorization: `Bearer ${Server.token}` } : {});
    } catch (error) {
      throw Server.unauthorized();
    }
  },

  unauthorized() {
    return new ServerProblem("unauthorized", `${Server.token ? "The server does not accept this token." : "The server needs a token."} `
      + "Enter the token that the server was started with.");
  },

  async json(path, body, signal) {
    return (await Server.call(path, { body, signal })).json();
  },

  async fetch(path, options, signal, patience) {
    const limit = AbortSignal.timeout(patience);
    const slow = patience > PATIENCE ? { end() {} } : Server.waitAWhile();
    try {
      const answer = await window.fetch(path, { ...options, signal: signal ? AbortSignal.any([signal, limit]) : limit });
      return new Response(await answer.blob(), answer);  // all of it: a server can stop in the middle, too
    } catch (error) {
      if (signal && signal.aborted) throw new DOMException("no longer wanted", "AbortError");
      Server.wait();
      throw new ServerProblem("lost", "The server does not answer.");
    } finally {
      slow.end();
    }
  },

  // Tells `onSlow` after a second, and once more at the end.
  waitAWhile() {
    const tell = (change) => {
      Server.slow += change;
      Server.onSlow();
    };
    let told = false;
    const timer = window.setTimeout(() => {
      told = true;
      tell(1);
    }, 1000);
    return { end: () => (told ? tell(-1) : window.clearTimeout(timer)) };
  },

  async problemOf(answer) {
    if (answer.status === 401) return Server.unauthorized();
    const { detail, field, expected, found } = await answer.json().catch(() => ({}));
    if (!detail) return new ServerProblem("failure", `The server answered with status ${answer.status}.`);
    const parts = [field && !detail.includes(field) && `in ${field}`, expected && `expected ${expected}`, found && `found ${found}`]
      .filter((part) => part && !detail.includes(part));
    return new ServerProblem("refused", `${detail.replace(/\.$/, "")}${parts.length ? ` (${parts.join(", ")})` : ""}.`);
  },

  // Asks again and again until the server answers.
  async wait() {
    if (Server.lost) return;
    Server.lost = true;
    Server.onLost();
    for (let pause = 500; ; pause = Math.min(2 * pause, 4000)) {
      await new Promise((resume) => window.setTimeout(resume, pause));
      const answer = await window.fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE / 3) }).catch(() => null);
      if (answer && answer.ok) break;
    }
    Server.lost = false;
    Server.onReturn();
  },
};
