// Translates the field's text: after a pause, or at once.

import { closeChoices } from "./choices.js";
import { doubtsOf, showDoubts } from "./doubts.js";
import { showLanguages, sourceOf } from "./languages.js";
import { glossaryOf } from "./glossary.js";
import { note } from "./history.js";
import { busy, failed, say, tell } from "./messages.js";
import { outputText, showTexts, showTools } from "./panes.js";
import { askTranslate } from "./server.js";
import { $, known, nameOf, now, number } from "./state.js";
import { countOf, partsOf, whole } from "./texts.js";
import { cache, fill, keyOf, remember } from "./translations.js";

const SLOW = 4000; // milliseconds after which a first answer is late
export const LONGEST_ADDRESS = 1500; // characters of a text in a link

export function soon() {
  clearTimeout(now.timer);
  clearTimeout(now.again);
  now.timer = setTimeout(translate, known.pause);
}

export async function translate() {
  clearTimeout(now.timer);
  clearTimeout(now.again);
  now.asking?.abort(); // it is outdated
  now.asking = null;
  if (now.mode === "file" || !known.languages.length) return busy(false);
  const text = $("source").value;
  // The text stays out of the address, which browsers and proxies store. The tab keeps it, for a reload.
  const isKept = text.length <= LONGEST_ADDRESS && now.mode === "text";
  history.replaceState({ text: isKept ? text : "" }, "", addressOf({}));
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
  const late = setTimeout(() => {
    if (!cache.size) tell("The server is getting ready: its first translation takes longer.", true);
  }, SLOW);
  try {
    if (now.mode === "text") showTexts();
    const from = await sourceOf(text, asking.signal);
    const to = $("to").value;
    if (now.mode === "html") await translateHtml(text, from, to, asking.signal);
    else await translateText(text, from, to, asking.signal);
    if (asking !== now.asking) return;
    const same = from === to ? `The text is in ${nameOf(to)} already: it stays as it is.` : "";
    tell(same, true);
    say($("doubts").hidden ? "Translated" : `Translated. ${$("doubts").textContent}`);
    if (now.mode === "text" && from !== to) note({ from, to, text, made: outputText() });
  } catch (error) {
    if (error.name === "AbortError" || asking !== now.asking) return;
    failed(error, translate);
  } finally {
    clearTimeout(late);
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
    const wanted = { text: whole(text), source: from, target: to, html: true, options: glossaryOf(from, to), return: ["doubts"] };
    const [made] = await askTranslate(wanted, signal);
    remember(cache, key, made);
  }
  if (signal.aborted) return;
  const made = cache.get(key);
  $("preview").srcdoc = made.text; // sandboxed: no scripts, no forms, and the page's policy holds in it
  $("code").textContent = made.text;
  $("code").lang = to;
  showDoubts(doubtsOf(made));
  showTools();
}

// An address of this page with the chosen languages, and `q`, a text.
export const addressOf = (q) =>
  new URL(`?${new URLSearchParams({ source: $("from").value, target: $("to").value, ...q })}`, location).href;
