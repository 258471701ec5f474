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
    if (!(error instanceof Refused) && error.name !== "AbortError") throw error;
    if (job.state === "runs") ended(job, "failed", told(error.message));
  } finally {
    run();
  }
}

// Returns the ending and the content of a file's translation. Texts go by paragraphs, of any number.
async function translated(job) {
  const { name, size: bytes } = job.file;
  const { bytes: most, endings } = $("files").dataset;
  const ending = (/\.[^.]*$/.exec(name)?.[0] ?? "").toLowerCase();
  if (!endings.split(",").includes(ending)) throw new Refused(400, "This server does not translate files of this format", 0);
  const text = ending === ".txt" ? await readText(job.file) : null;
  if (text !== null) return [name.slice(-ending.length), await byParagraphs(text, job)];
  if (bytes > most) throw new Refused(413, `It has ${size(bytes)}; this server takes files up to ${size(most)}`, 0);
  job.progress.removeAttribute("value"); // it comes in one piece: only time is known
  const begin = performance.now();
  const tick = () => (job.note.textContent = `Translating for ${Math.round((performance.now() - begin) / 1000)} s`);
  const timer = setInterval(tick, 1000);
  tick();
  try {
    const work = () => askFile(job.file, job.from, job.to, job.asking.signal);
    return await patiently(work, job.asking.signal, (error) => wait(job, error));
  } finally {
    clearInterval(timer);
  }
}

const wait = (job, error) => (job.note.textContent = `Waiting for the server: ${error.message}`);

// Returns the text of a file, or null if it is not Unicode: the server may know its encoding.
async function readText(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const wide = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(wide, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

// Not through the cache: a file may have more paragraphs than its limit.
async function byParagraphs(text, job) {
  const { signal } = job.asking;
  const parts = partsOf(text);
  const all = parts.filter((part) => part.text.trim());
  const long = all.find((part) => countOf(part.text) > known.limit);
  if (long) throw new Refused(400, `A paragraph of the file has more than ${number(known.limit)} characters`, 0);
  const from = job.from === AUTO ? await sourceOf(text, signal, true) : job.from;
  const whole = all.reduce((sum, part) => sum + part.text.length, 0);
  const made = [];
  let done = 0;
  const show = () => {
    job.progress.value = whole ? done / whole : 1;
    job.note.textContent = `${Math.round(100 * job.progress.value)} %`;
  };
  show();
  for (const group of groupsOf(all.map((part) => part.text))) {
    const wanted = { text: group, source: from, target: job.to, options: glossaryOf(from, job.to) };
    const found = await patiently(() => askTranslate(wanted, signal), signal, (error) => wait(job, error));
    made.push(...found.map((one) => one.text));
    done += group.reduce((sum, one) => sum + one.length, 0);
    show();
  }
  const pieces = parts.map((part) => part.lead + (part.text.trim() ? made.shift() : part.text) + part.gap);
  return new Blob(pieces, { type: "text/plain;charset=utf-8" });
}
