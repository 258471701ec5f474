// The choice of languages, and detection of a text's language.

import { ask } from "./server.js";
import { $, AUTO, known, now } from "./state.js";
import { whole } from "./texts.js";
import { remember } from "./translations.js";

const LOOK_AT = 5000; // characters for detecting a text's language
const languageOf = new Map(); // beginning of a text -> its detected language
export const nameOf = (code) => known.languages.find((one) => one.code === code)?.name ?? code;
const targetsOf = (code) => known.languages.find((one) => one.code === code)?.targets ?? [];

export function fillSelect(select, codes, value) {
  const items = codes.map((code) => new Option(code === AUTO ? "Detect" : nameOf(code), code));
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
  const sure = found?.confidence > 0 ? `${nameOf(found.language)}, ${Math.round(100 * found.confidence)} %` : "";
  $("detected").textContent = !auto || !found ? "" : sure || `not recognized, taken for ${nameOf(found.language)}`;
  const from = auto ? found?.language : $("from").value;
  $("source").lang = from ?? "";
  $("swap").disabled = !from || !targetsOf($("to").value).includes(from);
}

export async function sourceOf(text, signal) {
  const from = $("from").value;
  if (from !== AUTO) return from;
  const beginning = text.slice(0, LOOK_AT).trim();
  if (!languageOf.has(beginning)) {
    const told = await ask("v1/detect", { text: whole(beginning) }, signal);
    remember(languageOf, beginning, told.detections[0][0]);
  }
  now.detected = languageOf.get(beginning);
  showLanguages();
  return now.detected.language;
}
