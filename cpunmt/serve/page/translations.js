// Translations of paragraphs: a cache, and requests for the others.

import { glossaryNumber, glossaryOf } from "./glossary.js";
import { askTranslate } from "./server.js";
import { $, AUTO, known, now } from "./state.js";
import { countOf, unitsOf } from "./texts.js";

const GROUP = 4000; // characters of a request, about: so that a long text appears bit by bit
const KEPT = 30000; // paragraphs, more than a text can have
export const cache = new Map(); // `keyOf` -> a translation: an answer of /v1/translate, with this key
const chosen = new Map(); // `sentenceKey` -> the user's choice for a sentence: its text and score

export function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  while (map.size > KEPT) map.delete(map.keys().next().value);
}

// With the glossary: an answer may come after the user has changed it.
export const keyOf = (text, from, to, html) => JSON.stringify([from, to, html, glossaryNumber(from, to), text]);

export function madeOf(part) {
  const from = $("from").value === AUTO ? now.detected?.language : $("from").value;
  return cache.get(keyOf(part.text, from, $("to").value, false));
}

// Requests of some paragraphs, within the limits.
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

// Requests the missing translations of paragraphs, and stores them in the cache.
export async function fill(texts, from, to, signal, progress) {
  const missing = [...new Set(texts)].filter((text) => text.trim() && !cache.has(keyOf(text, from, to, false)));
  for (const group of groupsOf(missing)) {
    const extras = { return: ["sentences", "alignments", "scores", "doubts"], options: glossaryOf(from, to) };
    const wanted = { text: group, source: from, target: to, ...extras };
    const keys = group.map((text) => keyOf(text, from, to, false));
    const made = await askTranslate(wanted, signal);
    group.forEach((text, i) => remember(cache, keys[i], withChosen(text, { ...made[i], key: keys[i] }, from, to)));
    progress?.(group);
  }
}

const moved = (span, by) => span.map((x) => x + by);

// The words and doubts of a sentence, with positions in its translation moved by a number of characters.
const movedWords = ({ alignments, token_log_probs, doubts }, by) => ({
  doubts,
  alignments: (alignments ?? []).map(([a, b]) => [a, moved(b, by)]),
  token_log_probs: (token_log_probs ?? []).map(([span, value]) => [moved(span, by), value]),
});

// Replaces a sentence of a translation; the text behind it moves.
function replaced(translation, number, { text, score }) {
  const made = structuredClone(translation);
  const units = unitsOf(made.text);
  const sentence = made.sentences[number];
  const [begin, end] = sentence.target;
  const { alignments, token_log_probs, doubts } = sentence;
  const words = { alignments, token_log_probs, doubts };
  const first = (sentence.first ??= { text: made.text.slice(units(begin), units(end)), begin, ...words });
  made.text = made.text.slice(0, units(begin)) + text + made.text.slice(units(end));
  const by = countOf(text) - (end - begin);
  sentence.target = [begin, end + by];
  sentence.score = score;
  Object.assign(sentence, movedWords(text === first.text ? first : { doubts: [] }, begin - first.begin)); // others are not known
  for (const later of made.sentences.slice(number + 1)) {
    later.target = moved(later.target, by);
    Object.assign(later, movedWords(later, by));
    if (later.first) later.first.begin += by;
  }
  return made;
}

const sentenceKey = (text, sentence, from, to) =>
  JSON.stringify([from, to, text.slice(...sentence.source.map(unitsOf(text)))]);

// Chooses a translation for a sentence of a paragraph; `made` is the shown one.
export function chooseSentence(text, made, number, choice) {
  const after = replaced(made, number, choice);
  remember(cache, made.key, after);
  const sentence = after.sentences[number];
  const key = sentenceKey(text, sentence, made.source, made.target);
  if (choice.text === sentence.first.text) chosen.delete(key);
  else remember(chosen, key, choice);
}

// Applies earlier choices for sentences to a new translation of a paragraph.
function withChosen(text, made, from, to) {
  if (!chosen.size) return made;
  return (made.sentences ?? []).reduce((before, sentence, number) => {
    const choice = chosen.get(sentenceKey(text, sentence, from, to));
    return choice ? replaced(before, number, choice) : before;
  }, made);
}
