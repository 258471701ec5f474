// Linked scrolling: both sides show the same paragraph at the same height.

import { $, now } from "./state.js";

const led = new WeakMap(); // a side -> where this module has scrolled it to: that event moves nothing
let leader = "source"; // the side that the user has scrolled last
const other = { source: "output", output: "source" };
const blocksOf = { source: "mirror", output: "output" }; // whose children are the paragraphs

// The reading line goes from the top of a side, at its beginning, to the bottom, at its end.
function placeOf(side) {
  const { scrollTop, scrollHeight, clientHeight } = $(side);
  const most = scrollHeight - clientHeight;
  if (scrollTop <= 0 || most <= 0) return 0;
  if (scrollTop >= most - 1) return Infinity;
  const line = (scrollTop * scrollHeight) / most;
  const blocks = $(blocksOf[side]).children;
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle].offsetTop <= line) low = middle;
    else high = middle - 1;
  }
  const block = blocks[low];
  return block ? low + Math.min(0.999, Math.max(0, (line - block.offsetTop) / block.offsetHeight)) : 0;
}

function scroll(side, place) {
  const { scrollHeight, clientHeight } = $(side);
  const most = scrollHeight - clientHeight;
  if (most <= 0) return;
  const block = $(blocksOf[side]).children[Math.floor(place)];
  const line = block ? block.offsetTop + (place % 1) * block.offsetHeight : scrollHeight;
  $(side).scrollTop = place ? (line * most) / scrollHeight : 0;
  led.set($(side), $(side).scrollTop);
}

// Scrolls the side that the user does not scroll, and the mirror.
export function follow() {
  if ($("mirror").scrollTop !== $("source").scrollTop) $("mirror").scrollTop = $("source").scrollTop;
  if (now.mode !== "text" || now.edited) return;
  scroll(other[leader], placeOf(leader));
  $("mirror").scrollTop = $("source").scrollTop;
}

export function linkScrolling() {
  for (const side of ["source", "output"]) {
    $(side).addEventListener("scroll", () => {
      const same = Math.abs($(side).scrollTop - led.get($(side))) < 1;
      led.delete($(side));
      if (!same) leader = side;
      if (side === "source" || !same) follow();
    });
  }
  addEventListener("resize", follow);
}
