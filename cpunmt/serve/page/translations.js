// Translations of paragraphs: those that are known, and asking for the others.

import { askTranslate } from "./server.js";
import { $, AUTO, known, now } from "./state.js";

const GROUP = 4000; // characters of a request, about: so that a long text appears bit by bit
const KEPT = 30000; // paragraphs, more than a text can have
export const cache = new Map(); // what `keyOf` says -> a translation, as /v1/translate tells it

export function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  while (map.size > KEPT) map.delete(map.keys().next().value);
}

export const keyOf = (text, from, to, html) => JSON.stringify([from, to, html, text]);

export function madeOf(part) {
  const from = $("from").value === AUTO ? now.detected?.language : $("from").value;
  return cache.get(keyOf(part.text, from, $("to").value, false));
}

// Requests of some paragraphs, none of them over the limits.
export function groupsOf(texts) {
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
export async function fill(texts, from, to, signal, progress) {
  const missing = [...new Set(texts)].filter((text) => text.trim() && !cache.has(keyOf(text, from, to, false)));
  for (const group of groupsOf(missing)) {
    const wanted = { text: group, source: from, target: to, return: ["sentences", "alignments", "scores"] };
    const made = await askTranslate(wanted, signal);
    group.forEach((text, i) => remember(cache, keyOf(text, from, to, false), made[i]));
    progress?.(group);
  }
}
