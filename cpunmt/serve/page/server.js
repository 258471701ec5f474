// Requests to the server: only /frontend/settings, /v1/models, /v1/detect and /v1/translate.

import { $, kept } from "./state.js";

const AGAIN = 3; // seconds before a retry of a server without an answer

// An error with a message; `retryAfter` is the number of seconds before a retry, or 0.
export class Refused extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export async function ask(path, content, signal) {
  const headers = { Accept: "application/json" };
  const key = $("key").value || kept(sessionStorage, "cpunmt-key");
  if (/[^\x20-\x7e]/.test(key)) throw new Refused(403, "The key has a character that cannot be sent");
  if (key) headers["X-Api-Key"] = key;
  if (content) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method: content ? "POST" : "GET", headers, signal, body: content && JSON.stringify(content) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer. Is it still running, and are you online?", AGAIN);
  }
  const told = await answer.json().catch(() => null);
  signal?.throwIfAborted();
  if (answer.ok && told) return told;
  if (answer.ok) throw new Refused(0, "The server's answer broke off.", AGAIN);
  const said = told?.error?.message ?? told?.error ?? `The server refused it (${answer.status})`;
  const detail = told?.error?.detail ? `. ${told.error.detail}` : "";
  throw new Refused(answer.status, `${said}${detail}`, Number(answer.headers.get("Retry-After")) || 0);
}

export const askTranslate = (content, signal) => ask("v1/translate", content, signal).then((told) => told.translations);

// The same for background work: retries a busy or absent server for some minutes, and reports it to `waiting`.
export async function askPatiently(content, signal, waiting) {
  for (let tries = 20; ; tries -= 1) {
    try {
      return await askTranslate(content, signal);
    } catch (error) {
      if (!error.retryAfter || !tries) throw error;
      waiting(error);
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
      signal.throwIfAborted();
    }
  }
}
