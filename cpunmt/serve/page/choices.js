// Other translations of a sentence, to choose from.

import { say } from "./messages.js";
import { showTexts } from "./panes.js";
import { askTranslate } from "./server.js";
import { $, element, known, now, percent } from "./state.js";
import { unitsOf } from "./texts.js";
import { chooseSentence } from "./translations.js";

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
  $("choices-note").textContent = found.size > 1 ? "" : "No others were found";
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
