// Translating files.

import { sourceOf } from "./languages.js";
import { failed, say, tell } from "./messages.js";
import { askPatiently, Refused } from "./server.js";
import { $, known, now, number } from "./state.js";
import { countOf, partsOf, whole } from "./texts.js";
import { groupsOf } from "./translations.js";

export function stopJob() {
  if (!now.job) return;
  now.job.abort();
  now.job = null;
  endProgress("Stopped");
}

async function readText(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const wide = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(wide, { fatal: true }).decode(bytes);
  } catch {
    throw new Refused(400, "The file is not UTF-8. Save it as UTF-8, and choose it again");
  }
}

export async function translateFile(file) {
  stopJob();
  tell("");
  const [, base, suffix] = /^(.*?)(\.[^.]*)?$/s.exec(file.name);
  const html = /^\.html?$/i.test(suffix ?? "");
  if (!html && !/^\.txt$/i.test(suffix ?? "")) return tell("Only .txt and .html files are translated here.");
  const job = (now.job = new AbortController());
  $("job").hidden = false;
  $("job-name").textContent = file.name;
  $("job-link").hidden = true;
  $("job-stop").hidden = false;
  $("job-progress").hidden = false;
  showProgress(0);
  try {
    const text = await readText(file);
    const from = await sourceOf(html ? text.replace(/<[^>]*>/g, " ") : text, job.signal);
    const to = $("to").value;
    const made = html ? await wholeFile(text, from, to, job.signal) : await byParagraphs(text, from, to, job.signal);
    if (job !== now.job) return;
    const link = $("job-link");
    if (link.href) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([made], { type: html ? "text/html;charset=utf-8" : "text/plain;charset=utf-8" }));
    link.download = `${base}.${to}${suffix}`;
    link.hidden = false;
    now.job = null;
    endProgress("The file is translated");
  } catch (error) {
    if (job !== now.job || error.name === "AbortError") return;
    now.job = null;
    $("job").hidden = true;
    failed(error);
  }
}

function showProgress(done) {
  $("job-progress").value = done;
  $("job-note").textContent = `${Math.round(100 * done)} %`;
}

function endProgress(text) {
  $("job-progress").hidden = true;
  $("job-stop").hidden = true;
  $("job-note").textContent = text;
  say(text);
}

const waits = (error) => ($("job-note").textContent = `Waiting for the server: ${error.message}`);

async function wholeFile(text, from, to, signal) {
  const count = countOf(text);
  if (count > known.limit) throw new Refused(400, `The file has ${number(count)} characters; HTML may have ${number(known.limit)} here`);
  $("job-progress").removeAttribute("value"); // it comes in one piece: only time is known
  const begin = performance.now();
  const tick = () => ($("job-note").textContent = `Translating for ${Math.round((performance.now() - begin) / 1000)} s`);
  const timer = setInterval(tick, 1000);
  tick();
  try {
    return (await askPatiently({ text: whole(text), source: from, target: to, html: true }, signal, waits))[0].text;
  } finally {
    clearInterval(timer);
  }
}

// Not through the cache: a file may have more paragraphs than its limit.
async function byParagraphs(text, from, to, signal) {
  const parts = partsOf(text);
  const all = parts.filter((part) => part.text.trim());
  const long = all.find((part) => countOf(part.text) > known.limit);
  if (long) throw new Refused(400, `A paragraph of the file has more than ${number(known.limit)} characters`);
  const size = all.reduce((sum, part) => sum + part.text.length, 0);
  const made = [];
  let done = 0;
  for (const group of groupsOf(all.map((part) => part.text))) {
    made.push(...(await askPatiently({ text: group, source: from, target: to }, signal, waits)).map((one) => one.text));
    done += group.reduce((sum, one) => sum + one.length, 0);
    showProgress(done / size);
  }
  return parts.map((part) => part.lead + (part.text.trim() ? made.shift() : part.text) + part.gap).join("");
}
