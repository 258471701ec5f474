// Other translations of a sentence, to choose from.

import { say } from "./messages.js";
import { showTexts } from "./panes.js";
import { askTranslate } from "./server.js";
import { $, element, known, now, percent } from "./state.js";
import { countOf, unitsOf } from "./texts.js";
import { cache, keyOf, remember } from "./translations.js";

const CHOICES = 5; // translations of a sentence to choose from

export async function openChoices(sentence) {
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

export function closeChoices(focus = false) {
  const choosing = now.choosing;
  if (!choosing) return;
  now.choosing = null;
  choosing.asking.abort();
  $("choices").hidden = true;
  choosing.sentence.setAttribute("aria-expanded", "false");
  if (focus) choosing.sentence.focus();
}

const moved = (span, by) => span.map((x) => x + by);

// What is known of the words of a sentence, whose translation begins so many characters later.
const movedWords = ({ alignments, token_log_probs }, by) => ({
  alignments: (alignments ?? []).map(([a, b]) => [a, moved(b, by)]),
  token_log_probs: (token_log_probs ?? []).map(([span, value]) => [moved(span, by), value]),
});

// Put a translation in the place of a sentence; what stands behind it moves.
function choose(text, score) {
  const { at, number: chosen } = now.choosing;
  closeChoices();
  const part = now.parts[at];
  const made = structuredClone(part.made);
  const units = unitsOf(made.text);
  const sentence = made.sentences[chosen];
  const [begin, end] = sentence.target;
  const { alignments, token_log_probs } = sentence;
  const first = (sentence.first ??= { text: made.text.slice(units(begin), units(end)), begin, alignments, token_log_probs });
  made.text = made.text.slice(0, units(begin)) + text + made.text.slice(units(end));
  const by = countOf(text) - (end - begin);
  sentence.target = [begin, end + by];
  sentence.score = score;
  Object.assign(sentence, text === first.text ? movedWords(first, begin - first.begin) : { alignments: [], token_log_probs: [] });
  for (const later of made.sentences.slice(chosen + 1)) {
    later.target = moved(later.target, by);
    Object.assign(later, movedWords(later, by));
    if (later.first) later.first.begin += by;
  }
  remember(cache, keyOf(part.text, made.source, made.target, false), made);
  showTexts();
  say("Replaced");
  $("output").children[at]?.querySelector(`[data-sentence="${chosen}"]`)?.focus();
}
