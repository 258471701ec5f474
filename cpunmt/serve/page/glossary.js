// A glossary for each pair of languages, kept in the browser.

import { $, AUTO, keep, kept, nameOf, now, number } from "./state.js";

const placeOf = (from, to) => `cpunmt-glossary ${from} ${to}`;
let shown = ""; // the place of the glossary in the field
let held = ""; // its text: a browser may refuse to keep it
const numbers = new Map(); // terms, as JSON -> a number for them
let last = {}; // what `termsOf` has returned: it is called for each paragraph

// The terms of a text, a number for them, and the numbers of its wrong lines.
function termsOf(text) {
  if (text === last.text) return last;
  const [terms, wrong] = [{}, []];
  text.split("\n").forEach((line, i) => {
    if (!line.trim()) return;
    const [, term, translation] = /^\s*([^=\t]*[^=\t\s])\s*[=\t]\s*(.*?)\s*$/.exec(line) ?? [];
    if (term && translation) Object.defineProperty(terms, term, { value: translation, enumerable: true });
    else wrong.push(i + 1);
  });
  const found = JSON.stringify(terms);
  if (!numbers.has(found)) numbers.set(found, numbers.size);
  last = { text, terms, number: numbers.get(found), wrong };
  return last;
}

function termsFor(from, to) {
  const place = placeOf(from, to);
  return termsOf(place === shown ? held : kept(localStorage, place));
}

// A number that differs for other terms.
export const glossaryNumber = (from, to) => termsFor(from, to).number;

// Options of a request: the glossary, if there is one.
export function glossaryOf(from, to) {
  const { terms } = termsFor(from, to);
  return Object.keys(terms).length ? { glossary: terms } : {};
}

// Shows the glossary of the chosen languages.
export function showGlossary() {
  const from = $("from").value === AUTO ? now.detected?.language : $("from").value;
  const to = $("to").value;
  const place = from ? placeOf(from, to) : "";
  $("glossary").disabled = !place || from === to;
  $("glossary-pair").textContent = place ? `${nameOf(from)} to ${nameOf(to)}` : "the text's language";
  if (place !== shown) {
    shown = place;
    held = place ? kept(localStorage, place) : "";
    $("glossary").value = held;
  }
  const { terms, wrong } = termsOf(held);
  const count = Object.keys(terms).length;
  $("glossary-count").textContent = count ? `(${number(count)})` : "";
  $("glossary-note").textContent = wrong.length
    ? `Line ${wrong[0]} has no translation: write term = translation.`
    : place ? "For these two languages, kept in this browser." : "Choose a language, or type a text first.";
}

// Keeps the field's terms; returns whether they have changed.
export function keepGlossary() {
  const before = termsOf(held).number;
  held = $("glossary").value;
  keep(localStorage, shown, held);
  showGlossary();
  return termsOf(held).number !== before;
}
