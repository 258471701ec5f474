// Requests to the server: to /frontend/settings, /v1/models, /v1/detect and /v1/translate, and to /translate_file.

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

async function answerOf(path, content, signal) {
  const headers = { Accept: "application/json" };
  const key = $("key").value || kept(sessionStorage, "cpunmt-key");
  if (/[^\x20-\x7e]/.test(key)) throw new Refused(403, "The key has a character that cannot be sent");
  if (key) headers["X-Api-Key"] = key;
  const form = content instanceof FormData;
  if (content && !form) headers["Content-Type"] = "application/json";
  const body = form ? content : content && JSON.stringify(content);
  try {
    return await fetch(path, { method: content ? "POST" : "GET", headers, signal, body });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer. Is it still running, and are you online?", AGAIN);
  }
}

export async function ask(path, content, signal) {
  const answer = await answerOf(path, content, signal);
  const told = await answer.json().catch(() => null);
  signal?.throwIfAborted();
  if (answer.ok && told) return told;
  throw answer.ok ? brokenOff() : refusal(answer, told);
}

const brokenOff = () => new Refused(0, "The server's answer broke off.", AGAIN);

function refusal(answer, told) {
  const error = typeof told?.error === "string" ? { message: told.error } : told?.error;
  return refused(answer.status, error, answer.headers.get("Retry-After"));
}

const refused = (status, error, seconds) =>
  new Refused(
    status,
    [error?.message ?? `The server refused it (${status})`, error?.detail].filter(Boolean).join(". "),
    Number(seconds) || 0,
  );

// Returns the result of a stream of events; `progress` gets the finished share.
async function lastOf(path, content, signal, progress) {
  const answer = await answerOf(path, content, signal);
  if (!answer.ok) throw refusal(answer, await answer.json().catch(() => null));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    signal.throwIfAborted();
    if (done) throw brokenOff();
    const events = `${text}${value}`.split("\n\n");
    text = events.pop(); // its end is still to come
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event);
      const told = JSON.parse(data);
      if (name === "result") return told;
      if (name === "error") throw refused(told.code, told, told.retry_after);
      progress(told.share);
    }
  }
}

export const askTranslate = (content, signal) => ask("v1/translate", content, signal).then((told) => told.translations);

// Translates a file; returns the ending of the new one, and its content. `progress` gets the finished share.
export async function askFile(file, source, target, signal, progress) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ file, source, target, stream: true })) form.append(name, value);
  const { translatedFileUrl } = await lastOf("translate_file", form, signal, progress);
  const name = translatedFileUrl.split("/").pop(); // the page may be below another address than the server knows
  const answer = await answerOf(`download_file/${name}`, null, signal);
  if (!answer.ok) throw new Refused(answer.status, "The translated file is gone", 0);
  return [/\.[^.]*$/.exec(name)[0], await answer.blob()];
}

// Background work: retries a busy or absent server for some minutes, and reports it to `waiting`.
export async function patiently(work, signal, waiting) {
  for (let tries = 20; ; tries -= 1) {
    try {
      return await work();
    } catch (error) {
      if (!error.retryAfter || !tries) throw error;
      waiting(error);
      await new Promise((resolve) => {
        setTimeout(resolve, 1000 * error.retryAfter);
        signal.addEventListener("abort", resolve);
      });
      signal.throwIfAborted();
    }
  }
}
