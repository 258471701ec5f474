// Characters and paragraphs of a text.

// Half a character (a lone surrogate) cannot be sent.
export const whole = (text) => (text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Surrogate}/gu, "\ufffd"));

export function countOf(text) {
  let count = 0;
  for (const _ of text) count += 1; // characters as the server counts them, not UTF-16 units
  return count;
}

// The server counts characters, JavaScript UTF-16 units: position of the one -> position of the other.
export function unitsOf(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (position) => position;
  const units = [0];
  for (const one of text) units.push(units[units.length - 1] + one.length);
  return (position) => units[position] ?? text.length;
}

// Paragraphs, each with the blanks before it and the empty lines behind it: each begins a line.
export function partsOf(text) {
  const pieces = text.split(/(\r?\n[ \t]*\r?\n\s*)/);
  const parts = [];
  let lead = "";
  for (let i = 0; i < pieces.length; i += 2) {
    const [, gap, next] = /^(.*\n)?(.*)$/s.exec(pieces[i + 1] ?? "");
    parts.push({ lead, text: whole(pieces[i]), gap: gap ?? "" });
    lead = next;
  }
  return parts;
}
