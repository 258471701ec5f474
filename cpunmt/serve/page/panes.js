// Both texts, as paragraphs of sentences of words.
// Translations enter the document as text, never as HTML.

import { doubtsOf, reasonsOf, showDoubts } from "./doubts.js";
import { showExamples } from "./examples.js";
import { follow } from "./scrolling.js";
import { $, element, known, now, number } from "./state.js";
import { countOf, partsOf, unitsOf } from "./texts.js";
import { madeOf } from "./translations.js";
import { divideBy, logProbOf, reach, wordsOf } from "./words.js";

const BAR = 60; // characters for each bar of a translation that comes
const MOST_BARS = 8;
const SHORT = 5000; // characters of a text all of whose words are elements at once
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const SURE = [0.5, 0.7, 0.85]; // below which confidence is marked

function sureOf(logarithm) {
  const level = logarithm === null ? -1 : SURE.findIndex((least) => Math.exp(logarithm) < least);
  return level < 0 ? "" : ` sure-${level}`;
}

// A paragraph of one side (0: source, 1: target): sentences, and words in them, `atOnce` or when they come into view.
function paragraphOf(part, made, side, atOnce) {
  const text = side ? made.text : part.text;
  const block = element("div", "paragraph", part.lead);
  const units = unitsOf(text);
  let characters;
  let at = 0;
  const until = (end, parent) => {
    if (end > at) parent.append(text.slice(at, end));
    at = Math.max(at, end);
  };
  (made?.sentences ?? []).forEach((sentence, number) => {
    const [begin, end] = sentence[side ? "target" : "source"];
    until(units(begin), block);
    const byWords = Boolean(sentence.token_log_probs?.length);
    const line = element("span", `sentence${side && !byWords ? sureOf(sentence.score) : ""}`);
    line.dataset.sentence = number;
    const first = at;
    until(units(end), line);
    const divided = () => {
      characters ??= [...text];
      let last = first;
      const pieces = [];
      for (const word of wordsOf(sentence, side, characters)) {
        const span = element("span", `word${side ? sureOf(logProbOf(sentence, word)) : ""}`, text.slice(...word.map(units)));
        span.dataset.word = String(word);
        pieces.push(text.slice(last, units(word[0])), span);
        last = units(word[1]);
      }
      line.replaceChildren(...pieces, text.slice(last, units(end)));
    };
    divideBy(line, divided, atOnce);
    if (side && line.textContent.trim()) {
      line.tabIndex = -1;
      line.setAttribute("role", "button");
      line.setAttribute("aria-haspopup", "dialog");
      line.setAttribute("aria-expanded", "false");
      if (sentence.doubts?.length) {
        line.classList.add("doubted");
        line.title = `May be wrong: ${reasonsOf(sentence.doubts)}`;
      }
    }
    block.append(line);
  });
  until(text.length, block);
  block.append(part.gap);
  return block;
}

// Bars in the place of a translation that comes.
function waitingFor(part) {
  const [block, bars] = [element("div", "paragraph waits"), element("span", "bars")];
  bars.style.setProperty("--lines", Math.min(MOST_BARS, Math.ceil(countOf(part.text) / BAR)));
  block.append(bars, part.gap);
  return block;
}

const sameParts = (one, other) => ["lead", "text", "gap", "made"].every((name) => one[name] === other[name]);

// Counts equal parts of both lists, from `first` on or, if it is negative, from the end.
function alike(one, other, most, at) {
  let count = 0;
  while (count < most && sameParts(one.at(at(count)), other.at(at(count)))) count += 1;
  return count;
}

// Shows both sides. Unchanged paragraphs stay in the document, also at new positions.
export function showTexts() {
  const before = now.parts;
  const text = $("source").value;
  const atOnce = text.length <= SHORT;
  const parts = partsOf(text).map((part) => ({ ...part, made: madeOf(part) }));
  const most = Math.min(before.length, parts.length);
  const first = alike(before, parts, most, (i) => i);
  const last = alike(before, parts, most - first, (i) => -1 - i);
  const [left, right] = [[...$("mirror").children], [...$("output").children]];
  const end = before.length - last;
  const changed = parts.slice(first, parts.length - last);
  const old = right.slice(first, end);
  const shown = changed.map((part, i) => {
    if (part.made || !part.text.trim()) return paragraphOf(part, part.made ?? part, 1, atOnce);
    old[i]?.classList.add("stale");
    return old[i] ?? waitingFor(part);
  });
  exchange($("mirror"), left.slice(first, end), changed.map((part) => paragraphOf(part, part.made, 0, atOnce)), left[end]);
  exchange($("output"), old, shown, right[end]);
  now.parts = parts;
  now.edited = false;
  if ($("output").lang !== $("to").value) $("output").lang = $("to").value; // else all of it gets its style anew
  if (!$("output").querySelector('[tabindex="0"]')) reach($("output").querySelector('[role="button"]'));
  showDoubts(parts.flatMap(({ made }) => (made ? doubtsOf(made) : [])));
  follow();
  showTools();
}

// Replaces nodes. A node that stays is not moved, as it would be laid out again.
function exchange(parent, old, nodes, behind) {
  let next = behind ?? null;
  for (const node of nodes.toReversed()) {
    if (node.parentElement !== parent) parent.insertBefore(node, next);
    next = node;
  }
  const stay = new Set(nodes);
  for (const node of old) if (!stay.has(node)) node.remove();
}

export function outputText() {
  if (now.mode === "html") return $("code").textContent;
  return now.parts.map((part) => part.lead + (part.made ? part.made.text : "") + part.gap).join("");
}

export function showTools() {
  showCounter();
  $("copy").disabled = !outputText().trim();
  $("link").disabled = !$("source").value.trim();
}

export function showCounter() {
  const text = $("source").value;
  const count = countOf(text);
  $("counter").textContent = known.limit ? `${number(count)} / ${number(known.limit)}` : number(count);
  $("counter").classList.toggle("over", known.limit > 0 && count > known.limit);
  $("clear").disabled = !text;
  $("source").classList.toggle("one-way", !RIGHT_TO_LEFT.test(text));
  showExamples();
}
