// The page of cpunmt's server. It asks /frontend/settings, /v1/models, /v1/detect and /v1/translate, and nothing else.
// Whatever was translated gets into the document as text, never as HTML (but in a frame that may do nothing).

const $ = (id) => document.getElementById(id);

const AUTO = "auto";
const GROUP = 4000; // characters of a request, about: so that a long text appears bit by bit
const KEPT = 30000; // paragraphs, more than a text can have
const LONGEST_ADDRESS = 1500; // characters of a text that the address keeps
const LOOK_AT = 5000; // characters that tell a text's language
const CHOICES = 5; // translations of a sentence to choose from
const SURE = [0.5, 0.7, 0.85]; // confidence: e to the mean log probability of a piece

const known = { pause: 500, limit: 0, texts: 100, alternatives: 0, keyed: false, detection: false, languages: [] };
const now = { mode: "text", asking: null, timer: 0, again: 0, parts: [], detected: null, choosing: null, job: null };
const cache = new Map(); // what `keyOf` says -> a translation, as /v1/translate tells it
const languageOf = new Map(); // beginning of a text -> what was detected

// ------------------------------------------------------------------------------------------------ asking the server

class Refused extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

function kept(store, name) {
  try {
    return store.getItem(name) || "";
  } catch {
    return ""; // a browser may forbid it
  }
}

function keep(store, name, value) {
  try {
    store.setItem(name, value);
  } catch {
    // then only this page knows it
  }
}

async function ask(path, content, signal) {
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
    throw new Refused(0, "The server does not answer. Is it still running, and are you online?");
  }
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  const said = told.error?.message ?? told.error ?? `The server refused it (${answer.status})`;
  const detail = told.error?.detail ? `. ${told.error.detail}` : "";
  throw new Refused(answer.status, `${said}${detail}`, Number(answer.headers.get("Retry-After")) || 0);
}

const askTranslate = (content, signal) => ask("v1/translate", content, signal).then((told) => told.translations);

// The same, for what nobody watches: a busy server is asked again when it says so, for some minutes.
async function askPatiently(content, signal) {
  for (let tries = 20; ; tries -= 1) {
    try {
      return await askTranslate(content, signal);
    } catch (error) {
      if (error.status !== 503 || !error.retryAfter || !tries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
      signal.throwIfAborted();
    }
  }
}

async function sourceOf(text, signal) {
  const from = $("from").value;
  if (from !== AUTO) return from;
  const beginning = text.slice(0, LOOK_AT).trim();
  if (!languageOf.has(beginning)) {
    const told = await ask("v1/detect", { text: whole(beginning) }, signal);
    remember(languageOf, beginning, told.detections[0][0]);
  }
  now.detected = languageOf.get(beginning);
  showLanguages();
  return now.detected.language;
}

function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  while (map.size > KEPT) map.delete(map.keys().next().value);
}

// ------------------------------------------------------------------------------------------------ texts

// Half a character (a lone surrogate) cannot be sent.
const whole = (text) => (text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Surrogate}/gu, "\ufffd"));

function countOf(text) {
  let count = 0;
  for (const _ of text) count += 1; // characters as the server counts them, not UTF-16 units
  return count;
}

// The server counts characters, JavaScript UTF-16 units: position of the one -> position of the other.
function unitsOf(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (position) => position;
  const units = [0];
  for (const one of text) units.push(units[units.length - 1] + one.length);
  return (position) => units[position] ?? text.length;
}

// Paragraphs, each with the empty lines behind it.
function partsOf(text) {
  const pieces = text.split(/(\n[ \t]*\n\s*)/);
  const parts = [];
  for (let i = 0; i < pieces.length; i += 2) parts.push({ text: whole(pieces[i]), gap: pieces[i + 1] ?? "" });
  return parts;
}

const keyOf = (text, from, to, html) => JSON.stringify([from, to, html, text]);

function madeOf(part) {
  const from = $("from").value === AUTO ? now.detected?.language : $("from").value;
  return cache.get(keyOf(part.text, from, $("to").value, false));
}

// Requests of some paragraphs, none of them over the limits.
function groupsOf(texts) {
  const groups = [];
  let size = Infinity;
  for (const text of texts) {
    if (size + text.length > GROUP || groups[groups.length - 1].length >= known.texts) {
      groups.push([]);
      size = 0;
    }
    groups[groups.length - 1].push(text);
    size += text.length;
  }
  return groups;
}

// Translations of paragraphs into the cache, asked for only if they are not there.
async function fill(texts, from, to, signal, progress) {
  const missing = [...new Set(texts)].filter((text) => text.trim() && !cache.has(keyOf(text, from, to, false)));
  for (const group of groupsOf(missing)) {
    const wanted = { text: group, source: from, target: to, return: ["sentences", "alignments", "scores"] };
    const made = await askTranslate(wanted, signal);
    group.forEach((text, i) => remember(cache, keyOf(text, from, to, false), made[i]));
    progress?.(group);
  }
}

// ------------------------------------------------------------------------------------------------ translating

function soon() {
  clearTimeout(now.timer);
  clearTimeout(now.again);
  now.timer = setTimeout(translate, known.pause);
}

async function translate() {
  clearTimeout(now.timer);
  clearTimeout(now.again);
  now.asking?.abort(); // nobody waits for it any more
  now.asking = null;
  if (now.mode === "file" || !known.languages.length) return busy(false);
  const text = $("source").value;
  inAddress(text);
  closeChoices();
  if (!text.trim()) {
    now.detected = null;
    tell("");
    busy(false);
    showLanguages();
    return showTexts();
  }
  const count = countOf(text);
  if (count > known.limit) {
    busy(false);
    return tell(`The text has ${number(count)} characters, ${number(count - known.limit)} more than this server takes.`);
  }
  const asking = (now.asking = new AbortController());
  busy(true);
  try {
    const from = await sourceOf(text, asking.signal);
    const to = $("to").value;
    if (now.mode === "html") await translateHtml(text, from, to, asking.signal);
    else await translateText(text, from, to, asking.signal);
    if (asking !== now.asking) return;
    const same = from === to ? `The text is in ${nameOf(to)} already: it stays as it is.` : "";
    const cut = now.parts.some((part) => madeOf(part)?.truncated) ? "A sentence was too long, and its translation was cut." : "";
    tell(same || cut, true);
    say("Translated");
  } catch (error) {
    if (error.name === "AbortError" || asking !== now.asking) return;
    failed(error);
  } finally {
    if (asking === now.asking) busy(false);
  }
}

async function translateText(text, from, to, signal) {
  const parts = partsOf(text);
  await fill(parts.map((part) => part.text), from, to, signal, () => showTexts());
  if (!signal.aborted) showTexts();
}

async function translateHtml(text, from, to, signal) {
  const key = keyOf(text, from, to, true);
  if (!cache.has(key)) {
    const [made] = await askTranslate({ text: whole(text), source: from, target: to, html: true }, signal);
    remember(cache, key, made);
  }
  if (signal.aborted) return;
  const made = cache.get(key);
  $("preview").srcdoc = made.text; // sandboxed: no scripts, no forms, and the page's policy holds in it
  $("code").textContent = made.text;
  $("code").lang = to;
  showTools();
}

function failed(error) {
  if (!(error instanceof Refused)) {
    tell("Something went wrong on this page. Load it again.");
    throw error;
  }
  if (error.status === 403) {
    $("key-form").hidden = false;
    $("key").focus();
  }
  if (error.status === 503 && error.retryAfter && now.mode !== "file") {
    tell(`${error.message}. It is tried again in ${error.retryAfter} s.`);
    now.again = setTimeout(translate, 1000 * error.retryAfter);
    return;
  }
  tell(/[.?!]$/.test(error.message) ? error.message : `${error.message}.`);
}

// ------------------------------------------------------------------------------------------------ showing texts

function element(name, kind, text = "") {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
}

function sureOf(score) {
  const level = SURE.findIndex((least) => Math.exp(score) < least);
  return level < 0 ? "" : ` sure-${level}`;
}

const percent = (score) => `${Math.round(100 * Math.exp(score))} %`;

// Words of a side of a sentence, as [begin, end], none over another.
function wordsOf(sentence, side) {
  const found = new Map((sentence.alignments ?? []).map((pair) => [String(pair[side]), pair[side]]));
  const words = [...found.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return words.filter((word, i) => word[1] > word[0] && (!i || word[0] >= words[i - 1][1]));
}

// A paragraph of one side (0: source, 1: target): sentences, and words in them.
function paragraphOf(text, made, side) {
  const block = element("span", "paragraph");
  const units = unitsOf(text);
  let at = 0;
  const until = (end, parent) => {
    if (end > at) parent.append(text.slice(at, end));
    at = Math.max(at, end);
  };
  (made?.sentences ?? []).forEach((sentence, number) => {
    const [begin, end] = sentence[side ? "target" : "source"];
    until(units(begin), block);
    const line = element("span", `sentence${side ? sureOf(sentence.score) : ""}`);
    line.dataset.sentence = number;
    for (const word of wordsOf(sentence, side)) {
      until(units(word[0]), line);
      const span = element("span", "word", text.slice(at, units(word[1])));
      span.dataset.word = String(word);
      at = units(word[1]);
      line.append(span);
    }
    until(units(end), line);
    if (side && line.textContent.trim()) {
      line.tabIndex = -1;
      line.setAttribute("role", "button");
      line.setAttribute("aria-haspopup", "dialog");
      line.setAttribute("aria-expanded", "false");
    }
    block.append(line);
  });
  until(text.length, block);
  return block;
}

// Both sides; what is as it was stays in the document.
function showTexts() {
  const parts = partsOf($("source").value);
  const made = parts.map(madeOf);
  const waiting = $("output").getAttribute("aria-busy") === "true";
  const old = [...$("output").children];
  parts.forEach((part, i) => {
    const same = now.parts[i]?.text === part.text && now.parts[i]?.gap === part.gap && now.parts[i]?.made === made[i];
    if (same) return;
    const left = paragraphOf(part.text, made[i], 0);
    left.append(part.gap);
    place($("mirror"), left, i);
    let right;
    if (made[i]) right = paragraphOf(made[i].text, made[i], 1);
    else if (!part.text.trim()) right = element("span", "paragraph", part.text);
    else {
      right = old[i] ?? element("span", "paragraph waits", waiting ? "…" : "");
      right.classList.add("stale");
    }
    if (right !== old[i]) {
      right.append(part.gap);
      place($("output"), right, i);
    }
  });
  for (const side of ["mirror", "output"]) {
    while ($(side).children.length > parts.length) $(side).lastElementChild.remove();
  }
  now.parts = parts.map((part, i) => ({ ...part, made: made[i] }));
  $("output").lang = $("to").value;
  if (!$("output").querySelector('[tabindex="0"]')) reach($("output").querySelector('[role="button"]'));
  showTools();
}

function place(parent, child, i) {
  if (parent.children[i]) parent.children[i].replaceWith(child);
  else parent.append(child);
}

function outputText() {
  if (now.mode === "html") return $("code").textContent;
  return now.parts.map((part) => (part.made ? part.made.text : "") + part.gap).join("");
}

function showTools() {
  const text = $("source").value;
  const count = countOf(text);
  $("counter").textContent = known.limit ? `${number(count)} / ${number(known.limit)}` : number(count);
  $("counter").classList.toggle("over", known.limit > 0 && count > known.limit);
  $("clear").disabled = !text;
  $("copy").disabled = !outputText().trim();
}

const number = (count) => count.toLocaleString("en");

function tell(text, plain = false) {
  $("message").textContent = text;
  $("message").hidden = !text;
  $("message").classList.toggle("plain", plain);
}

function say(text) {
  $("status").textContent = text;
}

function busy(is) {
  $("busy").hidden = !is;
  $("output").setAttribute("aria-busy", String(is));
  if (is) say("");
}

// ------------------------------------------------------------------------------------------------ words that belong together

function unlight() {
  for (const one of document.querySelectorAll(".lit, .on")) one.classList.remove("lit", "on");
}

// The words of the other side that belong to this one, of the same sentence.
function light(sentence, word) {
  unlight();
  if (!sentence) return;
  const side = $("output").contains(sentence) ? 1 : 0;
  const at = [...sentence.parentElement.parentElement.children].indexOf(sentence.parentElement);
  const other = $(side ? "mirror" : "output").children[at]?.querySelector(`[data-sentence="${sentence.dataset.sentence}"]`);
  const told = now.parts[at]?.made?.sentences[sentence.dataset.sentence];
  sentence.classList.add("on");
  other?.classList.add("on");
  if (!word || !told) return;
  word.classList.add("lit");
  for (const pair of told.alignments ?? []) {
    if (String(pair[side]) === word.dataset.word) other?.querySelector(`[data-word="${pair[1 - side]}"]`)?.classList.add("lit");
  }
}

// The field lies over its mirror: what is below the pointer is found through it.
function pointed(event) {
  const below = document.elementsFromPoint(event.clientX, event.clientY);
  const word = below.find((one) => one.classList.contains("word"));
  light(word?.closest(".sentence") ?? below.find((one) => one.classList.contains("sentence")), word);
}

// The word at the cursor of the field.
function atCursor() {
  if (document.activeElement !== $("source")) return;
  let left = $("source").selectionStart;
  const paragraph = [...$("mirror").children].find((one) => {
    const length = one.textContent.length;
    if (left <= length) return true;
    left -= length;
    return false;
  });
  if (!paragraph) return unlight();
  const nodes = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const { length, parentElement } = nodes.currentNode;
    if (left <= length && parentElement.classList.contains("word")) return light(parentElement.closest(".sentence"), parentElement);
    if (left < length) break;
    left -= length;
  }
  unlight();
}

// Tab goes to one sentence, as there may be hundreds; up and down go on to the others.
function reach(sentence) {
  for (const one of $("output").querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
  if (sentence) sentence.tabIndex = 0;
}

function stepSentence(sentence, by) {
  const all = [...$("output").querySelectorAll('[role="button"]')];
  all[all.indexOf(sentence) + by]?.focus();
}

// Arrows go from word to word of the sentence that has the focus.
function step(sentence, by) {
  const words = [...sentence.querySelectorAll(".word")];
  if (!words.length) return;
  const at = words.findIndex((word) => word.classList.contains("lit"));
  light(sentence, words[(at < 0 ? (by > 0 ? 0 : words.length - 1) : at + by + words.length) % words.length]);
}

// ------------------------------------------------------------------------------------------------ other translations

async function openChoices(sentence) {
  closeChoices();
  const at = [...$("output").children].indexOf(sentence.parentElement);
  const part = now.parts[at];
  const told = part?.made?.sentences[sentence.dataset.sentence];
  if (!told) return;
  const asking = new AbortController();
  const choosing = (now.choosing = { sentence, at, number: Number(sentence.dataset.sentence), asking });
  sentence.setAttribute("aria-expanded", "true");
  const box = sentence.getBoundingClientRect();
  $("choices").style.top = `${box.bottom - $("output").getBoundingClientRect().top + 10}px`;
  $("choices-list").replaceChildren();
  $("choices-note").textContent = "Looking for them";
  $("choices").hidden = false;
  const units = unitsOf(part.text);
  const text = part.text.slice(...told.source.map(units));
  const options = { num_hypotheses: Math.min(CHOICES, known.alternatives + 1) };
  const wanted = { text, source: part.made.source, target: part.made.target, return: ["alternatives", "scores"], options };
  try {
    const [made] = await askTranslate(wanted, asking.signal);
    if (now.choosing !== choosing) return;
    const found = new Map([made, ...made.alternatives].map((one) => [one.text.trim(), one.score]));
    listChoices(found, sentence.textContent.trim());
  } catch (error) {
    if (error.name === "AbortError" || now.choosing !== choosing) return;
    $("choices-note").textContent = error.message;
  }
}

function listChoices(found, current) {
  $("choices-note").textContent = found.size > 1 ? "" : "There is no other";
  for (const [text, score] of found) {
    const button = element("button", "", "");
    button.type = "button";
    const words = element("span", "", text);
    words.lang = $("to").value;
    words.dir = "auto";
    button.append(words, element("small", "", percent(score)));
    if (text === current) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => choose(text, score));
    const item = document.createElement("li");
    item.append(button);
    $("choices-list").append(item);
  }
  ($("choices-list").querySelector("[aria-current]") ?? $("choices-list").querySelector("button"))?.focus({ preventScroll: true });
  $("choices").scrollIntoView({ block: "nearest" });
}

function closeChoices(focus = false) {
  const choosing = now.choosing;
  if (!choosing) return;
  now.choosing = null;
  choosing.asking.abort();
  $("choices").hidden = true;
  choosing.sentence.setAttribute("aria-expanded", "false");
  if (focus) choosing.sentence.focus();
}

// Put a translation in the place of a sentence; what stands behind it moves.
function choose(text, score) {
  const { at, number: chosen } = now.choosing;
  closeChoices();
  const part = now.parts[at];
  const made = structuredClone(part.made);
  const units = unitsOf(made.text);
  const sentence = made.sentences[chosen];
  const [begin, end] = sentence.target;
  const first = (sentence.first ??= { text: made.text.slice(units(begin), units(end)), alignments: sentence.alignments, begin });
  made.text = made.text.slice(0, units(begin)) + text + made.text.slice(units(end));
  const by = countOf(text) - (end - begin);
  sentence.target = [begin, end + by];
  sentence.score = score;
  const back = begin - first.begin; // the first choice again: its words are known
  sentence.alignments = text === first.text ? first.alignments.map(([a, b]) => [a, b.map((x) => x + back)]) : [];
  for (const later of made.sentences.slice(chosen + 1)) {
    later.target = later.target.map((x) => x + by);
    later.alignments = (later.alignments ?? []).map(([a, b]) => [a, b.map((x) => x + by)]);
    if (later.first) later.first.begin += by;
  }
  remember(cache, keyOf(part.text, made.source, made.target, false), made);
  showTexts();
  say("Replaced");
  $("output").children[at]?.querySelector(`[data-sentence="${chosen}"]`)?.focus();
}

// ------------------------------------------------------------------------------------------------ languages

const nameOf = (code) => known.languages.find((one) => one.code === code)?.name ?? code;
const targetsOf = (code) => known.languages.find((one) => one.code === code)?.targets ?? [];

function fillSelect(select, codes, value) {
  const items = codes.map((code) => new Option(code === AUTO ? "Detect" : nameOf(code), code));
  select.replaceChildren(...items);
  select.value = codes.includes(value) ? value : codes[0];
}

function fillTargets(wanted) {
  const from = $("from").value;
  const every = [...new Set(known.languages.flatMap((one) => one.targets))];
  fillSelect($("to"), from === AUTO ? every : targetsOf(from), wanted);
}

function showLanguages() {
  const auto = $("from").value === AUTO;
  const found = now.detected;
  const sure = found?.confidence > 0 ? `${nameOf(found.language)}, ${Math.round(100 * found.confidence)} %` : "";
  $("detected").textContent = !auto || !found ? "" : sure || `not recognized, taken for ${nameOf(found.language)}`;
  const from = auto ? found?.language : $("from").value;
  $("source").lang = from ?? "";
  $("swap").disabled = !from || !targetsOf($("to").value).includes(from);
}

function swap() {
  const from = $("from").value === AUTO ? now.detected.language : $("from").value;
  const to = $("to").value;
  const text = now.mode === "file" ? "" : outputText();
  $("from").value = to;
  fillTargets(from);
  if (text.trim()) $("source").value = text;
  showLanguages();
  if (now.mode === "text") showTexts();
  translate();
}

// ------------------------------------------------------------------------------------------------ files

function stopJob() {
  now.job?.abort();
  now.job = null;
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

async function translateFile(file) {
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
    showProgress(1);
    $("job-note").textContent = "Done";
    say("The file is translated");
  } catch (error) {
    if (job !== now.job || error.name === "AbortError") return;
    $("job").hidden = true;
    failed(error);
  } finally {
    if (job === now.job) $("job-stop").hidden = true;
  }
}

function showProgress(done) {
  $("job-progress").value = done;
  $("job-note").textContent = `${Math.round(100 * done)} %`;
}

async function wholeFile(text, from, to, signal) {
  const count = countOf(text);
  if (count > known.limit) throw new Refused(400, `The file has ${number(count)} characters; HTML may have ${number(known.limit)} here`);
  $("job-progress").removeAttribute("value"); // it comes in one piece
  $("job-note").textContent = "Translating";
  return (await askPatiently({ text: whole(text), source: from, target: to, html: true }, signal))[0].text;
}

// Not through the cache: a file may have more paragraphs than it keeps.
async function byParagraphs(text, from, to, signal) {
  const parts = partsOf(text.replace(/\r\n?/g, "\n"));
  const all = parts.filter((part) => part.text.trim());
  const long = all.find((part) => countOf(part.text) > known.limit);
  if (long) throw new Refused(400, `A paragraph of the file has more than ${number(known.limit)} characters`);
  const size = all.reduce((sum, part) => sum + part.text.length, 0);
  const made = [];
  let done = 0;
  for (const group of groupsOf(all.map((part) => part.text))) {
    made.push(...(await askPatiently({ text: group, source: from, target: to }, signal)).map((one) => one.text));
    done += group.reduce((sum, one) => sum + one.length, 0);
    showProgress(done / size);
  }
  return parts.map((part) => (part.text.trim() ? made.shift() : part.text) + part.gap).join("");
}

// ------------------------------------------------------------------------------------------------ the page

function showMode() {
  now.mode = document.querySelector('input[name="mode"]:checked').value;
  const [html, file] = [now.mode === "html", now.mode === "file"];
  $("panes").hidden = file;
  $("files").hidden = !file;
  $("output").hidden = html;
  $("markup").hidden = !html;
  $("hint").hidden = html || file;
  $("shade-label").hidden = html;
  $("legend").hidden = html || file || !$("shade").checked;
  $("source").placeholder = html ? "Paste HTML" : "Type or paste a text";
  $("preview").srcdoc = "";
  $("code").textContent = "";
  closeChoices();
  tell("");
  showLanguages();
  if (!html && !file) showTexts();
  translate();
}

function showScheme() {
  const wanted = $("scheme").value;
  const dark = wanted === "dark" || (wanted === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.scheme = dark ? "dark" : "light";
}

function inAddress(text) {
  const said = new URLSearchParams({ source: $("from").value, target: $("to").value });
  if (text && text.length <= LONGEST_ADDRESS && now.mode === "text") said.set("q", text);
  history.replaceState(null, "", `?${said}`);
}

async function copy() {
  const text = outputText();
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", "unseen"); // without TLS there is no clipboard but this
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    $("copy").focus();
    if (!done) return tell("The browser does not let this page copy. Select the text, and copy it by hand.");
  }
  $("copy").textContent = "Copied";
  say("Copied");
  setTimeout(() => ($("copy").textContent = "Copy"), 2000);
}

function listen() {
  const source = $("source");
  source.addEventListener("input", () => {
    unlight();
    closeChoices();
    showTexts();
    soon();
  });
  source.addEventListener("mousemove", pointed);
  source.addEventListener("mouseleave", unlight);
  source.addEventListener("blur", unlight);
  document.addEventListener("selectionchange", atCursor);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      translate();
    } else if (event.key === "Escape") closeChoices(true);
  });

  const output = $("output");
  const sentenceAt = (event) => event.target.closest?.(".sentence");
  output.addEventListener("mousemove", pointed);
  output.addEventListener("mouseleave", unlight);
  output.addEventListener("focusin", (event) => {
    reach(sentenceAt(event));
    light(sentenceAt(event));
  });
  output.addEventListener("focusout", unlight);
  output.addEventListener("click", (event) => {
    if (sentenceAt(event) && getSelection().isCollapsed) openChoices(sentenceAt(event));
  });
  output.addEventListener("keydown", (event) => {
    const sentence = sentenceAt(event);
    if (!sentence || event.ctrlKey || event.metaKey) return;
    const keys = { ArrowRight: () => step(sentence, 1), ArrowLeft: () => step(sentence, -1) };
    keys.ArrowDown = () => stepSentence(sentence, 1);
    keys.ArrowUp = () => stepSentence(sentence, -1);
    keys.Enter = keys[" "] = () => openChoices(sentence);
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  $("choices").addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const buttons = [...$("choices-list").querySelectorAll("button")];
    buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length]?.focus();
  });
  $("choices").addEventListener("focusout", (event) => {
    if (event.relatedTarget && !$("choices").contains(event.relatedTarget)) closeChoices();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!$("choices").contains(event.target)) closeChoices();
  });

  $("from").addEventListener("change", () => {
    fillTargets($("to").value);
    now.detected = null;
    showLanguages();
    translate();
  });
  $("to").addEventListener("change", () => {
    showLanguages();
    translate();
  });
  $("swap").addEventListener("click", swap);
  $("copy").addEventListener("click", copy);
  $("clear").addEventListener("click", () => {
    source.value = "";
    showMode();
    source.focus();
  });
  $("shade").addEventListener("change", () => {
    output.classList.toggle("shaded", $("shade").checked);
    $("legend").hidden = !$("shade").checked;
  });
  $("modes").addEventListener("change", showMode);
  $("scheme").addEventListener("change", () => {
    keep(localStorage, "cpunmt-scheme", $("scheme").value);
    showScheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showScheme);

  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    keep(sessionStorage, "cpunmt-key", $("key").value);
    tell("");
    begin();
  });

  $("file").addEventListener("change", () => {
    if ($("file").files[0]) translateFile($("file").files[0]);
    $("file").value = "";
  });
  $("job-stop").addEventListener("click", () => {
    stopJob();
    $("job").hidden = true;
  });
  document.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    $("drop").classList.add("over");
  });
  document.addEventListener("dragleave", () => $("drop").classList.remove("over"));
  document.addEventListener("drop", (event) => {
    $("drop").classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    document.querySelector('input[value="file"]').checked = true;
    showMode();
    translateFile(event.dataTransfer.files[0]);
  });
}

// What the server can do; again when a key is given.
async function begin() {
  try {
    const settings = await ask("frontend/settings");
    known.pause = settings.frontendTimeout;
    known.keyed = settings.keyRequired;
    if (known.keyed && !$("key").value && !kept(sessionStorage, "cpunmt-key")) {
      $("main").classList.add("locked");
      $("key-form").hidden = false;
      $("key").focus();
      return;
    }
    const told = await ask("v1/models");
    known.limit = told.limits.text;
    known.texts = told.limits.texts;
    known.alternatives = told.limits.alternatives;
    known.detection = told.detection;
    known.languages = told.languages;
    $("key-form").hidden = true;
    $("main").classList.remove("locked");
    const said = new URLSearchParams(location.search);
    const sources = told.languages.filter((one) => one.targets.length).map((one) => one.code);
    fillSelect($("from"), [...(known.detection ? [AUTO] : []), ...sources], said.get("source"));
    fillTargets(said.get("target") ?? settings.language.target.code);
    showLanguages();
    if (!$("source").value) $("source").value = said.get("q") ?? "";
    showTexts();
    showTools();
    if ($("source").value) translate();
  } catch (error) {
    failed(error);
  }
}

$("scheme").value = kept(localStorage, "cpunmt-scheme") || "auto";
showScheme();
listen();
begin();
