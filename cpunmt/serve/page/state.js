// The shared state of the page: the document's elements, the server's features, and the current work.

export const $ = (id) => document.getElementById(id);
export const AUTO = "auto";
export const known = { pause: 500, limit: 0, texts: 100, alternatives: 0, keyed: false, detection: false, languages: [] };
// `edited`: the field has changed since its text was shown; the mirror and the words do not fit it.
export const now = {
  mode: "text", asking: null, timer: 0, again: 0, parts: [], edited: false, detected: null, choosing: null,
};

export function element(name, kind, text = "") {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
}

export const nameOf = (code) => known.languages.find((one) => one.code === code)?.name ?? code;
export const number = (count) => count.toLocaleString("en");
export const percent = (logarithm) => `${Math.round(100 * Math.exp(logarithm))} %`;

export function kept(store, name) {
  try {
    return store.getItem(name) || "";
  } catch {
    return ""; // a browser may forbid it
  }
}

export function keep(store, name, value) {
  try {
    store.setItem(name, value);
  } catch {
    // then only this page knows it
  }
}
