// Search in long lists of languages: a dialog stands for the list.

import { $, element } from "./state.js";

const MANY = 15; // languages of a list without search
let chosen = null; // the list that is searched

const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

// Shows each list, or the button in its place.
export function showPickers() {
  for (const list of [$("from"), $("to")]) {
    const [button, long] = [$(`${list.id}-search`), list.options.length > MANY];
    list.hidden = long;
    button.hidden = !long;
    button.textContent = list.selectedOptions[0]?.textContent ?? "";
    button.setAttribute("aria-label", `${list.labels[0].textContent}: ${button.textContent}`);
  }
}

function listMatches() {
  const wanted = plain($("search-field").value.trim());
  const fits = ({ textContent, value }) => plain(textContent).split(/[\s(]+/).some((word) => word.startsWith(wanted))
    || plain(textContent).startsWith(wanted) || value.toLowerCase() === wanted;
  const items = [...chosen.options].filter(fits).map((option) => {
    const item = document.createElement("li");
    const button = element("button", "", option.textContent);
    button.type = "button";
    button.value = option.value;
    if (option.selected) button.setAttribute("aria-current", "true");
    item.append(button);
    return item;
  });
  $("search-list").replaceChildren(...items);
  $("search-none").textContent = items.length ? "" : "No language of this name";
}

function open(list) {
  chosen = list;
  $("search-title").textContent = list.id === "from" ? "Translate from" : "Translate to";
  $("search-field").value = "";
  listMatches();
  $("search").showModal();
  $("search-list").querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  $("search-field").focus();
}

function pick(button) {
  $("search").close();
  if (!button) return;
  chosen.value = button.value;
  chosen.dispatchEvent(new Event("change"));
}

export function listenToPickers() {
  for (const list of [$("from"), $("to")]) $(`${list.id}-search`).addEventListener("click", () => open(list));
  $("search-field").addEventListener("input", listMatches);
  $("search-close").addEventListener("click", () => pick(null));
  $("search-list").addEventListener("click", (event) => pick(event.target.closest("button")));
  $("search").addEventListener("keydown", (event) => {
    const buttons = [...$("search-list").querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      (buttons[at + by] ?? $("search-field")).focus();
    } else if (event.key === "Escape") {
      event.preventDefault(); // else it empties the field first
      pick(null);
    } else if (event.key === "Enter" && document.activeElement === $("search-field")) {
      event.preventDefault();
      if (buttons.length) pick(buttons[0]);
    }
  });
  $("search").addEventListener("click", (event) => {
    if (event.target === $("search")) pick(null); // beside the dialog
  });
}
