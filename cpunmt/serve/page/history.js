// The last texts, kept in the browser.

import { $, element, keep, kept } from "./state.js";

const MOST = 50; // texts
const LONGEST = 5000; // characters of a kept text
const PLACE = "cpunmt-history";
const AFTER = 3000; // milliseconds without a key: before, a text is in the making
const OFF = "cpunmt-history-off"; // "1": none is wanted, in all tabs
let timer = 0;

const isWanted = () => kept(localStorage, OFF) !== "1" && $("history-keep").checked;

function entries() {
  try {
    const found = JSON.parse(kept(localStorage, PLACE) || "[]");
    const names = ["from", "to", "text", "made"];
    return Array.isArray(found) ? found.filter((one) => names.every((name) => typeof one?.[name] === "string")) : [];
  } catch {
    return []; // something else was kept there
  }
}

const grownFrom = (one, other) => one.from === other.from && one.to === other.to
  && (one.text.startsWith(other.text) || other.text.startsWith(one.text));

// Keeps a text and its translation, after a pause. It replaces the last one if it goes on from it.
export function note(entry) {
  clearTimeout(timer);
  if (!entry.text.trim() || entry.text.length > LONGEST) return;
  timer = setTimeout(() => {
    if (!isWanted()) return;
    const [last, ...before] = entries();
    const others = last && !grownFrom(entry, last) ? [last, ...before] : before;
    const all = [entry, ...others.filter((one) => !(one.text === entry.text && grownFrom(one, entry)))].slice(0, MOST);
    keep(localStorage, PLACE, JSON.stringify(all));
    showHistory();
  }, AFTER);
}

function showHistory() {
  const all = entries();
  $("history-count").textContent = all.length ? `(${all.length})` : "";
  $("history-clear").disabled = !all.length;
  const items = all.map((entry, i) => {
    const item = document.createElement("li");
    const button = element("button", "");
    button.type = "button";
    button.value = i;
    for (const text of [entry.text, entry.made]) {
      const part = element("span", "", text.slice(0, 200));
      part.dir = "auto";
      button.append(part);
    }
    button.append(element("small", "", `${entry.from} → ${entry.to}`));
    item.append(button);
    return item;
  });
  $("history-list").replaceChildren(...items);
}

function clearHistory() {
  clearTimeout(timer);
  keep(localStorage, PLACE, "");
  showHistory();
}

// Calls `use` with an entry that is chosen.
export function listenToHistory(use) {
  const showChoice = () => ($("history-keep").checked = kept(localStorage, OFF) !== "1");
  showChoice();
  $("history-keep").addEventListener("change", () => {
    keep(localStorage, OFF, $("history-keep").checked ? "" : "1");
    if (!$("history-keep").checked) clearHistory();
  });
  $("history-clear").addEventListener("click", clearHistory);
  $("history-list").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) use(entries()[button.value]);
  });
  addEventListener("storage", () => { // of another tab
    showChoice();
    showHistory();
  });
  showHistory();
}
