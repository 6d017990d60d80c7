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

const TOKEN = /(?:^#|&)token=([^&]+)/;

const Server = {
  token: null,
  lost: false,
  onLost: () => {},
  onReturn: () => {},

  // The token of the address goes to the session's storage, so that it does not stay in sight.
  start() {
    const given = TOKEN.exec(window.location.hash);
    Server.token = given ? decodeURIComponent(given[1]) : Session.get("parsnets-token");
    if (given) {
      Session.set("parsnets-token", Server.token);
      window.history.replaceState(null, "", window.location.pathname);
    }
    // A token that is added to the address of the open page.
    window.addEventListener("hashchange", () => {
      if (TOKEN.test(window.location.hash)) window.location.reload();
    });
    window.setInterval(() => {
      if (!Server.lost && !document.hidden) Server.call("/healthz").catch(() => {});
    }, 5000);
  },

  // The answer of the server; `body`, a Blob, FormData or a value that is sent as JSON, makes it a POST.
  async call(path, { body, signal } = {}) {
    const options = { signal, cache: "no-store", headers: {} };
    if (Server.token) options.headers.Authorization = `Bearer ${Server.token}`;
    if (body !== undefined) {
      options.method = "POST";
      const plain = !(body instanceof FormData || body instanceof Blob);
      if (plain) options.headers["Content-Type"] = "application/json";
      options.body = plain ? JSON.stringify(body) : body;
    }
    for (let attempt = 0; ; attempt += 1) {
      const answer = await Server.fetch(path, options);
      if (answer.ok) return answer;
      const busy = answer.status === 429 || answer.status === 503;
      if (!busy || attempt === 3) throw await Server.problemOf(answer);
      await new Promise((resume) => window.setTimeout(resume, 1000 * (Number(answer.headers.get("Retry-After")) || 1)));
      if (signal && signal.aborted) throw new DOMException("no longer wanted", "AbortError");
    }
  },

  async json(path, body, signal) {
    return (await Server.call(path, { body, signal })).json();
  },

  async fetch(path, options) {
    try {
      return await window.fetch(path, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      Server.wait();
      throw new ServerProblem("lost", "The server does not answer.");
    }
  },

  async problemOf(answer) {
    if (answer.status === 401) {
      return new ServerProblem("unauthorized",
        "The server asks for its token. The address of this page must end in #token= followed by the server's token.");
    }
    const { error } = await answer.json().catch(() => ({}));
    if (!error) return new ServerProblem("failure", `The server answered with status ${answer.status}.`);
    const parts = [error.field && `in ${error.field}`, error.expected && `expected ${error.expected}`, error.found && `found ${error.found}`]
      .filter((part) => part && !error.message.includes(part));
    return new ServerProblem(error.code, `${error.message.replace(/\.$/, "")}${parts.length ? ` (${parts.join(", ")})` : ""}.`);
  },

  // Asks again and again until the server answers.
  async wait() {
    if (Server.lost) return;
    Server.lost = true;
    Server.onLost();
    for (let pause = 500; ; pause = Math.min(2 * pause, 4000)) {
      await new Promise((resume) => window.setTimeout(resume, pause));
      const answer = await window.fetch("/healthz", { cache: "no-store" }).catch(() => null);
      if (answer && answer.ok) break;
    }
    Server.lost = false;
    Server.onReturn();
  },
};
