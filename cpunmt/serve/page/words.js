// Aligned words, and their highlights at the pointer, at the cursor and by arrows.

import { $, now, percent } from "./state.js";

const LETTER = /[\p{L}\p{M}\p{N}]/u;
const ALONE = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u; // written without spaces

// Returns whether two characters belong to one word.
const joined = (one, other) => [one, other].every((character) => LETTER.test(character) && !ALONE.test(character));

// Words of a side (0: source, 1: target) of a sentence, in order, as [begin, end]: the whole word of each aligned
// piece. `characters` are the text's.
export function wordsOf(sentence, side, characters) {
  const [first, last] = sentence[side ? "target" : "source"];
  const words = [];
  for (let [begin, end] of (sentence.alignments ?? []).map((pair) => pair[side]).sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    while (begin > first && joined(characters[begin - 1], characters[begin])) begin -= 1;
    while (end < last && joined(characters[end - 1], characters[end])) end += 1;
    const before = words[words.length - 1];
    if (before && begin < before[1]) before[1] = Math.max(before[1], end);
    else if (begin < end) words.push([begin, end]);
  }
  return words;
}

const within = (piece, word) => word[0] <= piece[0] && piece[1] <= word[1];

// The log-probability of a word of the translation, after the words before it; null: unknown.
export function logProbOf(sentence, word) {
  const pieces = (sentence.token_log_probs ?? []).filter(([piece, value]) => within(piece, word) && value !== null);
  return pieces.length ? pieces.reduce((sum, [, value]) => sum + value, 0) : null;
}

// Words of sentences become elements when they are needed: a text of 50,000 characters has 10,000, each of which has a
// box in the layout.
const undivided = new WeakMap(); // element of a sentence -> a function that divides it into words
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) divide(target);
}, { rootMargin: "50%" });

// Divides a sentence into words by `work`: now, or when it comes into view.
export function divideBy(sentence, work, atOnce) {
  if (atOnce) return work();
  undivided.set(sentence, work);
  seen.observe(sentence);
}

function divide(sentence) {
  seen.unobserve(sentence);
  undivided.get(sentence)?.();
  undivided.delete(sentence);
}

const spanOf = (word) => word.dataset.word.split(",").map(Number);

export function unlight() {
  for (const one of document.querySelectorAll(".lit, .on")) one.classList.remove("lit", "on");
  $("sure-word").textContent = "";
}

// The words of the other side that are aligned to this one, in the same sentence.
export function light(sentence, word) {
  unlight();
  if (!sentence) return;
  const side = $("output").contains(sentence) ? 1 : 0;
  const at = [...sentence.parentElement.parentElement.children].indexOf(sentence.parentElement);
  const other = $(side ? "mirror" : "output").children[at]?.querySelector(`[data-sentence="${sentence.dataset.sentence}"]`);
  const told = now.parts[at]?.made?.sentences[sentence.dataset.sentence];
  for (const one of [sentence, other].filter(Boolean)) {
    divide(one);
    one.classList.add("on");
  }
  if (!word || !told) return;
  word.classList.add("lit");
  const pairs = (told.alignments ?? []).filter((pair) => within(pair[side], spanOf(word)));
  for (const one of other?.querySelectorAll(".word") ?? []) {
    if (pairs.some((pair) => within(pair[1 - side], spanOf(one)))) one.classList.add("lit");
  }
  const sure = side ? logProbOf(told, spanOf(word)) : null;
  if (sure !== null) $("sure-word").textContent = `${word.textContent}: ${percent(sure)}`;
}

// The field lies over its mirror: what is below the pointer is found through it.
export function pointed(event) {
  if (now.edited) return;
  const below = document.elementsFromPoint(event.clientX, event.clientY);
  const word = below.find((one) => one.classList.contains("word"));
  light(word?.closest(".sentence") ?? below.find((one) => one.classList.contains("sentence")), word);
}

// The word at the cursor of the field.
export function atCursor() {
  if (document.activeElement !== $("source") || now.edited) return;
  let left = $("source").selectionStart;
  const at = now.parts.findIndex(({ lead, text, gap }) => {
    const length = lead.length + text.length + gap.length;
    if (left <= length) return true;
    left -= length;
    return false;
  });
  const paragraph = $("mirror").children[at];
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
export function reach(sentence) {
  for (const one of $("output").querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
  if (sentence) sentence.tabIndex = 0;
}

export function stepSentence(sentence, by) {
  const all = [...$("output").querySelectorAll('[role="button"]')];
  all[all.indexOf(sentence) + by]?.focus();
}

// Arrows go from word to word of the sentence that has the focus.
export function step(sentence, by) {
  divide(sentence);
  const words = [...sentence.querySelectorAll(".word")];
  if (!words.length) return;
  const at = words.findIndex((word) => word.classList.contains("lit"));
  light(sentence, words[(at < 0 ? (by > 0 ? 0 : words.length - 1) : at + by + words.length) % words.length]);
}
