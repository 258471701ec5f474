// Other translations of a sentence, to choose from.

import { glossaryOf } from "./glossary.js";
import { say } from "./messages.js";
import { showTexts } from "./panes.js";
import { askTranslate } from "./server.js";
import { $, element, known, now, percent } from "./state.js";
import { unitsOf } from "./texts.js";
import { chooseSentence } from "./translations.js";
import { unlight } from "./words.js";

const LEAST = 240; // pixels of height that the list needs
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
  placeChoices();
  $("choices-list").replaceChildren();
  $("choices-legend").hidden = true;
  $("choices-note").textContent = "Looking for them";
  $("choices").hidden = false;
  const units = unitsOf(part.text);
  const text = part.text.slice(...told.source.map(units));
  const { source, target } = part.made;
  const options = Object.assign(glossaryOf(source, target), { num_hypotheses: Math.min(CHOICES, known.alternatives + 1) });
  const wanted = { text, source, target, return: ["alternatives", "scores"], options };
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

// Shows the list below the sentence, or above it where there is more room.
export function placeChoices() {
  if (!now.choosing) return;
  const { sentence } = now.choosing;
  const [box, pane] = [sentence.getBoundingClientRect(), $("output").getBoundingClientRect()];
  const [top, bottom] = [Math.max(box.top, pane.top), Math.min(box.bottom, pane.bottom)];
  const above = innerHeight - bottom < LEAST && top > innerHeight - bottom;
  const style = $("choices").style;
  style.top = above ? "auto" : `${bottom - pane.top + 10}px`;
  style.bottom = above ? `${pane.bottom - top + 10}px` : "auto";
  style.maxHeight = `${Math.max(LEAST, (above ? top : innerHeight - bottom) - 24)}px`;
}

function listChoices(found, current) {
  $("choices-note").textContent = found.size > 1 ? "" : "No others were found";
  $("choices-legend").hidden = found.size < 2;
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
  unlight();
  if (focus) choosing.sentence.focus();
}

// Replaces a sentence's translation, here and when the sentence is translated again.
function choose(text, score) {
  const { at, number } = now.choosing;
  closeChoices();
  const part = now.parts[at];
  chooseSentence(part.text, part.made, number, { text, score });
  showTexts();
  say("Replaced");
  $("output").children[at]?.querySelector(`[data-sentence="${number}"]`)?.focus();
}
