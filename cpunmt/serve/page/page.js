// The page of cpunmt's server: joins its parts.

import { closeChoices, openChoices, placeChoices } from "./choices.js";
import { showDoubts } from "./doubts.js";
import { clearJobs, translateFiles } from "./files.js";
import { keepGlossary } from "./glossary.js";
import { listenToHistory } from "./history.js";
import { fillSelect, fillTargets, showLanguages } from "./languages.js";
import { failed, say, tell } from "./messages.js";
import { outputText, showCounter, showTexts, showTools } from "./panes.js";
import { listenToPickers } from "./picker.js";
import { chooseScheme, scheme } from "./scheme.js";
import { linkScrolling } from "./scrolling.js";
import { ask } from "./server.js";
import { $, AUTO, element, keep, kept, known, now, number } from "./state.js";
import { addressOf, LONGEST_ADDRESS, soon, translate } from "./translating.js";
import { atCursor, light, pointed, reach, step, stepSentence, unlight } from "./words.js";

function showMode() {
  now.mode = document.querySelector('input[name="mode"]:checked').value;
  const [html, file] = [now.mode === "html", now.mode === "file"];
  $("panes").hidden = file;
  $("files").hidden = !file;
  $("output").hidden = html;
  $("panes").classList.toggle("markup-source", html);
  $("markup").hidden = !html;
  $("hint").hidden = html || file;
  $("history-box").hidden = html || file;
  $("link").hidden = html;
  $("shade-label").hidden = html;
  showShade();
  $("source").placeholder = html ? "Paste HTML" : "Type or paste a text";
  $("preview").srcdoc = "";
  $("code").textContent = "";
  closeChoices();
  tell("");
  showLanguages();
  showCounter();
  showDoubts([]);
  if (!html && !file) showTexts();
  translate();
}

function showShade() {
  $("output").classList.toggle("shaded", $("shade").checked);
  $("legend").hidden = now.mode !== "text" || !$("shade").checked;
}

// Stores the chosen languages for the next visit.
function chosen() {
  keep(localStorage, "cpunmt-languages", `${$("from").value} ${$("to").value}`);
  showLanguages();
  translate();
}

function swap() {
  const from = $("from").value === AUTO ? now.detected.language : $("from").value;
  const to = $("to").value;
  const text = now.mode === "file" ? "" : outputText();
  $("from").value = to;
  fillTargets(from);
  if (text.trim()) $("source").value = text;
  if (now.mode === "text") showTexts();
  chosen();
}

function copyLink() {
  const q = $("source").value;
  const { length } = q;
  if (length <= LONGEST_ADDRESS) return copy(addressOf({ q }), $("link"), "Copy link");
  tell(`A link holds ${number(LONGEST_ADDRESS)} characters, and this text has ${number(length)}.`, true);
}

// Uses a text of the history again.
function useAgain(entry) {
  if ([...$("from").options].some((one) => one.value === entry.from)) $("from").value = entry.from;
  fillTargets(entry.to);
  $("source").value = entry.text;
  now.edited = true;
  chosen();
  $("source").focus();
}

async function copy(text, button, name) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", "unseen"); // without TLS this is the only clipboard
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    button.focus();
    if (!done) return tell("The browser does not let this page copy. Select the text, and copy it by hand.");
  }
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => (button.textContent = name), 2000);
}

function listen() {
  const source = $("source");
  source.addEventListener("input", () => {
    if (!now.edited) unlight();
    now.edited = true; // what is shown follows after the pause: a key costs the same for any length
    closeChoices();
    showCounter();
    if (source.value) soon();
    else translate();
  });
  linkScrolling();
  source.addEventListener("mousemove", pointed);
  source.addEventListener("mouseleave", unlight);
  source.addEventListener("blur", unlight);
  document.addEventListener("selectionchange", atCursor);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      translate();
    } else if (event.key === "Escape") closeChoices(true);
  });

  const output = $("output");
  const leave = () => now.choosing || unlight(); // what is chosen for stays lit
  const sentenceAt = (event) => event.target.closest?.(".sentence");
  output.addEventListener("mousemove", pointed);
  output.addEventListener("mouseleave", leave);
  output.addEventListener("focusin", (event) => {
    reach(sentenceAt(event));
    if (!sentenceAt(event)?.querySelector(".lit")) light(sentenceAt(event)); // else a touch has lit a word of it
  });
  output.addEventListener("focusout", leave);
  output.addEventListener("click", (event) => {
    if (sentenceAt(event) && getSelection().isCollapsed) openChoices(sentenceAt(event));
  });
  output.addEventListener("keydown", (event) => {
    const sentence = sentenceAt(event);
    if (!sentence || event.ctrlKey || event.metaKey) return;
    const keys = { ArrowRight: () => step(sentence, 1), ArrowLeft: () => step(sentence, -1) };
    keys.ArrowDown = () => stepSentence(sentence, 1);
    keys.ArrowUp = () => stepSentence(sentence, -1);
    keys.Enter = keys[" "] = () => openChoices(sentence);
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  $("choices").addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const buttons = [...$("choices-list").querySelectorAll("button")];
    buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length]?.focus();
  });
  $("choices").addEventListener("focusout", (event) => {
    if (event.relatedTarget && !$("choices").contains(event.relatedTarget)) closeChoices();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!$("choices").contains(event.target)) closeChoices();
  });

  $("from").addEventListener("change", () => {
    fillTargets($("to").value);
    now.detected = null;
    chosen();
  });
  $("to").addEventListener("change", chosen);
  $("swap").addEventListener("click", swap);
  $("copy").addEventListener("click", () => copy(outputText(), $("copy"), "Copy"));
  $("link").addEventListener("click", copyLink);
  $("form").addEventListener("submit", (event) => event.preventDefault()); // it is for browsers without scripts
  $("examples-list").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    source.value = button.textContent;
    source.focus();
    now.edited = true;
    translate();
  });
  $("glossary").addEventListener("input", () => {
    if (keepGlossary()) soon();
  });
  listenToHistory(useAgain);
  listenToPickers();
  output.addEventListener("scroll", placeChoices);
  $("clear").addEventListener("click", () => {
    source.focus();
    source.select();
    if (!document.execCommand("delete")) source.value = ""; // so it can be taken back with Ctrl+Z
    showMode();
  });
  $("shade").addEventListener("change", () => {
    keep(localStorage, "cpunmt-shade", $("shade").checked ? "1" : "");
    showShade();
  });
  $("modes").addEventListener("change", showMode);
  $("scheme").addEventListener("change", () => chooseScheme($("scheme").value));

  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    keep(sessionStorage, "cpunmt-key", $("key").value);
    tell("");
    begin();
  });

  $("file").addEventListener("change", () => {
    translateFiles($("file").files);
    $("file").value = "";
  });
  $("jobs-clear").addEventListener("click", clearJobs);
  document.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    $("drop").classList.add("over");
  });
  document.addEventListener("dragleave", () => $("drop").classList.remove("over"));
  document.addEventListener("drop", (event) => {
    $("drop").classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    document.querySelector('input[value="file"]').checked = true;
    showMode();
    translateFiles(event.dataTransfer.files);
  });
}

// Reads the server's features; again after a key was entered.
async function begin() {
  try {
    const settings = await ask("frontend/settings");
    known.pause = settings.frontendTimeout;
    known.keyed = settings.keyRequired;
    if (known.keyed && !$("key").value && !kept(sessionStorage, "cpunmt-key")) {
      $("main").classList.add("locked");
      $("key-form").hidden = false;
      $("key").focus();
      return;
    }
    const told = await ask("v1/models");
    known.limit = told.limits.text;
    known.texts = told.limits.texts;
    known.alternatives = told.limits.alternatives;
    known.detection = told.detection;
    known.languages = told.languages;
    $("key-form").hidden = true;
    $("main").classList.remove("locked");
    tell("");
    const said = new URLSearchParams(location.search);
    const sources = told.languages.filter((one) => one.targets.length).map((one) => one.code);
    const last = kept(localStorage, "cpunmt-languages").split(" ");
    fillSelect($("from"), [...(known.detection ? [AUTO] : []), ...sources], said.get("source") ?? last[0]);
    fillTargets(said.get("target") ?? (last[1] || settings.language.target.code));
    showLanguages();
    if (!$("source").value) $("source").value = said.get("q") ?? history.state?.text ?? "";
    showTexts();
    showTools();
    if ($("source").value) translate();
  } catch (error) {
    failed(error, begin);
  }
}

$("scheme").value = scheme();
$("shade").checked = Boolean(kept(localStorage, "cpunmt-shade"));
showShade();
listen();
begin();
