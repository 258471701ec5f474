// The choice of languages, and detection of a text's language.

import { listExamples } from "./examples.js";
import { showGlossary } from "./glossary.js";
import { showPickers } from "./picker.js";
import { ask } from "./server.js";
import { $, AUTO, known, nameOf, now } from "./state.js";
import { whole } from "./texts.js";
import { remember } from "./translations.js";

const LOOK_AT = 5000; // characters for detecting a text's language
const languageOf = new Map(); // beginning of a text -> its detected language
const targetsOf = (code) => known.languages.find((one) => one.code === code)?.targets ?? [];

export function fillSelect(select, codes, value) {
  const items = codes.map((code) => new Option(code === AUTO ? $("from").dataset.auto : nameOf(code), code));
  select.replaceChildren(...items);
  select.value = codes.includes(value) ? value : codes[0];
}

export function fillTargets(wanted) {
  const from = $("from").value;
  const every = [...new Set(known.languages.flatMap((one) => one.targets))];
  fillSelect($("to"), from === AUTO ? every : targetsOf(from), wanted);
}

export function showLanguages() {
  const auto = $("from").value === AUTO;
  const found = now.detected;
  const doubtful = auto && found && found.confidence < Number($("detected").dataset.probable);
  $("detected").textContent = auto && found ? `${nameOf(found.language)}${doubtful ? "?" : ""}` : "";
  $("detected").classList.toggle("doubtful", Boolean(doubtful));
  $("detected").title = doubtful ? "The text is short, or its language is not clear. Choose the language if this is wrong." : "";
  const from = auto ? found?.language : $("from").value;
  $("source").lang = from ?? "";
  $("swap").disabled = !from || !targetsOf($("to").value).includes(from);
  showPickers();
  listExamples();
  showGlossary();
}

// The language of a text, as chosen or detected; that of a file is not shown.
export async function sourceOf(text, signal, ofFile = false) {
  const from = $("from").value;
  if (from !== AUTO && !ofFile) return from;
  const beginning = text.slice(0, LOOK_AT).trim();
  if (!languageOf.has(beginning)) {
    const told = await ask("v1/detect", { text: whole(beginning) }, signal);
    remember(languageOf, beginning, told.detections[0][0]);
  }
  const found = languageOf.get(beginning);
  if (!ofFile) {
    now.detected = found;
    showLanguages();
  }
  return found.language;
}
