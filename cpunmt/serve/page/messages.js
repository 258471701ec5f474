// Messages of the page: in a box, to screen readers, and while it waits.

import { Refused } from "./server.js";
import { $, now } from "./state.js";

export function tell(text, plain = false) {
  $("message").textContent = text;
  $("message").hidden = !text;
  $("message").classList.toggle("plain", plain);
}

export function say(text) {
  $("status").textContent = text;
}

export function busy(is) {
  $("busy").hidden = !is;
  $("output").setAttribute("aria-busy", String(is));
  if (is) say("");
}

// Shows an error; `again` retries the work of a busy or absent server.
export function failed(error, again) {
  if (!(error instanceof Refused)) {
    tell("Something went wrong on this page. Load it again.");
    throw error;
  }
  if (error.status === 403) {
    $("key-form").hidden = false;
    $("key").focus();
  }
  const message = /[.?!]$/.test(error.message) ? error.message : `${error.message}.`;
  if (!error.retryAfter || !again) return tell(message);
  tell(`${message} It is tried again in ${error.retryAfter} s.`);
  now.again = setTimeout(again, 1000 * error.retryAfter);
}
