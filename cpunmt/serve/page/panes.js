// Both texts, as paragraphs of sentences of words.
// What was translated gets into the document as text, never as HTML.

import { $, element, known, now, number } from "./state.js";
import { countOf, partsOf, unitsOf } from "./texts.js";
import { madeOf } from "./translations.js";
import { logProbOf, reach, wordsOf } from "./words.js";

const SURE = [0.5, 0.7, 0.85]; // below which confidence is marked

function sureOf(logarithm) {
  const level = logarithm === null ? -1 : SURE.findIndex((least) => Math.exp(logarithm) < least);
  return level < 0 ? "" : ` sure-${level}`;
}

// A paragraph of one side (0: source, 1: target): sentences, and words in them.
function paragraphOf(text, made, side) {
  const block = element("span", "paragraph");
  const [units, characters] = [unitsOf(text), [...text]];
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
    for (const word of wordsOf(sentence, side, characters)) {
      until(units(word[0]), line);
      const span = element("span", `word${side ? sureOf(logProbOf(sentence, word)) : ""}`, text.slice(at, units(word[1])));
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
export function showTexts() {
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

export function outputText() {
  if (now.mode === "html") return $("code").textContent;
  return now.parts.map((part) => (part.made ? part.made.text : "") + part.gap).join("");
}

export function showTools() {
  const text = $("source").value;
  const count = countOf(text);
  $("counter").textContent = known.limit ? `${number(count)} / ${number(known.limit)}` : number(count);
  $("counter").classList.toggle("over", known.limit > 0 && count > known.limit);
  $("clear").disabled = !text;
  $("copy").disabled = !outputText().trim();
}
