// Translating files, one after another.

import { glossaryOf } from "./glossary.js";
import { sourceOf } from "./languages.js";
import { say } from "./messages.js";
import { askFile, askTranslate, patiently, Refused } from "./server.js";
import { $, AUTO, element, known, number } from "./state.js";
import { countOf, partsOf } from "./texts.js";
import { groupsOf } from "./translations.js";

const jobs = []; // in the order of the list
const size = (bytes) => (bytes < 1e5 ? `${number(Math.ceil(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

export function translateFiles(files) {
  for (const file of files) jobs.push(listed(file));
  $("jobs").hidden = !jobs.length;
  showCount();
  run();
}

export function clearJobs() {
  for (const job of jobs.splice(0)) {
    job.state = "stopped";
    job.asking.abort();
    if (job.link.href) URL.revokeObjectURL(job.link.href);
    job.item.remove();
  }
  $("jobs").hidden = true;
}

// A job, and its item in the list. Its languages are those that are chosen now.
function listed(file) {
  const job = { file, from: $("from").value, to: $("to").value, state: "waits", asking: new AbortController() };
  job.item = element("li", "job");
  const name = element("p", "name", file.name);
  name.id = `job-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  job.progress = element("progress", "");
  job.progress.max = 1;
  job.progress.value = 0;
  job.progress.setAttribute("aria-labelledby", name.id);
  job.note = element("span", "said", "Waits");
  job.stop = element("button", "stop", "Stop");
  job.stop.type = "button";
  job.stop.addEventListener("click", () => {
    job.asking.abort();
    ended(job, "stopped", "Stopped");
  });
  job.link = element("a", "strong", "Download");
  for (const one of [job.stop, job.link]) one.setAttribute("aria-describedby", name.id);
  job.link.hidden = true;
  const line = element("p", "");
  line.append(job.note, job.stop, job.link);
  job.item.append(name, job.progress, line);
  $("jobs-list").append(job.item);
  return job;
}

function showCount() {
  const done = jobs.filter((job) => job.state === "done").length;
  $("jobs-note").textContent = `${number(done)} of ${number(jobs.length)} translated`;
}

function ended(job, state, text) {
  job.state = state;
  job.progress.hidden = true;
  job.stop.hidden = true;
  job.note.textContent = text;
  job.item.classList.toggle("failed", state === "failed");
  say(`${job.file.name}: ${text}`);
  showCount();
}

// A message as a sentence, without the words for programs.
function told(message) {
  const text = message.replace(/^Invalid request: (the file: )?/, "");
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}

async function run() {
  if (jobs.some((job) => job.state === "runs")) return;
  const job = jobs.find((one) => one.state === "waits");
  if (!job) return;
  job.state = "runs";
  try {
    const [ending, content] = await translated(job);
    if (job.state === "runs") {
      job.link.href = URL.createObjectURL(content);
      job.link.download = `${job.file.name.replace(/\.[^.]*$/, "")}.${job.to}${ending}`;
      job.link.hidden = false;
      ended(job, "done", "Translated");
    }
  } catch (error) {
    if (job.state !== "runs") return; // it was stopped
    ended(job, "failed", error instanceof Refused ? told(error.message) : "Something went wrong on this page.");
    if (!(error instanceof Refused)) reportError(error); // in the browser's console
  } finally {
    run();
  }
}

// Returns the content of a file. Reading it first tells a lost file from a server that does not answer.
async function contentOf(file) {
  try {
    return await file.arrayBuffer();
  } catch {
    throw new Refused(0, "The browser cannot read this file; it may have been moved or deleted", 0);
  }
}

// Returns the ending and the content of a file's translation. Texts go by paragraphs, of any number.
async function translated(job) {
  const { name, size: bytes } = job.file;
  const { bytes: most, endings } = $("files").dataset;
  const ending = (/\.[^.]*$/.exec(name)?.[0] ?? "").toLowerCase();
  if (!endings.split(",").includes(ending)) throw new Refused(400, "This page does not translate files of this format", 0);
  const read = ending === ".txt" ? textOf(await contentOf(job.file)) : null;
  if (read) return [name.slice(-ending.length), await byParagraphs(read, job)];
  if (bytes > most) throw new Refused(413, `It has ${size(bytes)}; this server takes files up to ${size(most)}`, 0);
  const file = new File([await contentOf(job.file)], name);
  const work = () => {
    job.progress.removeAttribute("value");
    job.note.textContent = "The server reads it";
    return askFile(file, job.from, job.to, job.asking.signal, (share) => showShare(job, share));
  };
  return patiently(work, job.asking.signal, (error) => wait(job, error));
}

function showShare(job, share) {
  job.progress.value = share;
  job.note.textContent = `${Math.round(100 * share)} %`;
}

const wait = (job, error) => (job.note.textContent = `Waiting for the server: ${error.message}`);

// Returns a file's byte order mark, text and encoding; null if it is not Unicode: the server tells what is wrong.
function textOf(content) {
  const bytes = new Uint8Array(content);
  const wide = { "255 254": "utf-16le", "254 255": "utf-16be" };
  const encoding = wide[bytes.subarray(0, 2).join(" ")] ?? "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
    return text.includes("\0") ? null : { mark, text: text.slice(mark.length), encoding };
  } catch {
    return null;
  }
}

function encoded(text, encoding) {
  if (encoding === "utf-8") return text; // as Blob writes it
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i += 1) view.setUint16(2 * i, text.charCodeAt(i), encoding === "utf-16le");
  return view;
}

// Not through the cache: a file may have more paragraphs than its limit.
async function byParagraphs({ mark, text, encoding }, job) {
  const { signal } = job.asking;
  const parts = partsOf(text);
  const all = parts.filter((part) => part.text.trim());
  const long = all.find((part) => countOf(part.text) > known.limit);
  if (long) throw new Refused(400, `A paragraph of the file has more than ${number(known.limit)} characters`, 0);
  const from = job.from === AUTO ? await sourceOf(text, signal, true) : job.from;
  const whole = all.reduce((sum, part) => sum + part.text.length, 0);
  const made = [];
  let done = 0;
  const show = () => showShare(job, whole ? done / whole : 1);
  show();
  for (const group of groupsOf(all.map((part) => part.text))) {
    const wanted = { text: group, source: from, target: job.to, options: glossaryOf(from, job.to) };
    const found = await patiently(() => askTranslate(wanted, signal), signal, (error) => wait(job, error));
    made.push(...found.map((one) => one.text));
    done += group.reduce((sum, one) => sum + one.length, 0);
    show();
  }
  const pieces = parts.map((part) => part.lead + (part.text.trim() ? made.shift() : part.text) + part.gap);
  return new Blob([encoded(mark + pieces.join(""), encoding)], { type: `text/plain;charset=${encoding}` });
}
