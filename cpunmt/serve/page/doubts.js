// Hints at what may be wrong with a translation.

import { $ } from "./state.js";

const reasons = JSON.parse($("doubts").dataset.reasons); // doubt -> what may be wrong

export const reasonsOf = (doubts) =>
  Object.entries(reasons).filter(([name]) => doubts.includes(name)).map(([, reason]) => reason).join("; ");

// Returns the doubts about a translation. Text that is kept as it is belongs to no sentence.
export const doubtsOf = ({ sentences, doubts }) =>
  (sentences ?? []).some((one) => one.doubts) ? sentences.flatMap((one) => one.doubts ?? []) : doubts ?? [];

// Shows the reasons of some doubts below the translation.
export function showDoubts(doubts) {
  $("doubts-said").textContent = reasonsOf(doubts);
  $("doubts").hidden = !doubts.length;
}
