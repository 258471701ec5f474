// The colours: light, dark, or as the system has them.

import { keep, kept } from "./state.js";

const system = matchMedia("(prefers-color-scheme: dark)");

export const scheme = () => kept(localStorage, "cpunmt-scheme") || "auto";

function show(wanted) {
  const dark = wanted === "dark" || (wanted === "auto" && system.matches);
  document.documentElement.dataset.scheme = dark ? "dark" : "light";
}

export function chooseScheme(wanted) {
  keep(localStorage, "cpunmt-scheme", wanted);
  show(wanted);
}

system.addEventListener("change", () => show(scheme()));
show(scheme());
