"use strict";
// Keys, the choice of rows, and reading a page again when the files change. Nothing here builds HTML.

const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// The token has done its work: it is in the cookie, and need not stay in the history.
if (location.search.includes("token=")) {
  const url = new URL(location.href);
  url.searchParams.delete("token");
  history.replaceState(null, "", url);
}

// What somebody has begun to type is not taken away by a change of the files.
const isDirty = () => $("form[data-guard][data-dirty]") !== null;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-guard]");
  if (form) form.setAttribute("data-dirty", "");
});
document.addEventListener("submit", (event) => event.target.removeAttribute("data-dirty"));
addEventListener("beforeunload", (event) => { if (isDirty()) event.preventDefault(); });

// Changes of the files: heard only while the page is seen, because a browser has few connections to one host.
let source = null;
let seen = Number(document.body.dataset.changes);
let leaving = false; // for the page that a form leads to: what it was sent from may be gone by then
function listen() {
  if (document.hidden || leaving) {
    if (source) source.close();
    source = null;
  } else if (!source) {
    source = new EventSource("/events");
    source.addEventListener("change", (event) => {
      if (Number(event.data) === seen) return;
      seen = Number(event.data);
      if (isDirty() || $("details.edit[open], dialog[open]")) $("#stale").hidden = false;
      else htmx.trigger(document.body, "files-changed");
    });
  }
}
document.addEventListener("visibilitychange", listen);
document.addEventListener("submit", (event) => { if (!event.defaultPrevented && event.target.method === "post") { leaving = true; listen(); } });
addEventListener("pageshow", () => { leaving = false; listen(); });
listen();

// Rows: which one is current, and which are chosen, also after they have come anew.
const chosen = new Set();
let current = null;
const rows = () => all("ol.rows > li[data-id]");

function showChosen() {
  const there = new Set(rows().map((row) => row.dataset.id));
  for (const id of chosen) if (!there.has(id)) chosen.delete(id);
  for (const box of all("li[data-id] input[name=pick]")) box.checked = chosen.has(box.closest("li").dataset.id);
  const bar = $("#chosen");
  if (!bar) return;
  bar.hidden = chosen.size === 0;
  $("output", bar).value = `${chosen.size} chosen`;
}
function setCurrent(row) {
  for (const other of rows()) other.classList.toggle("current", other === row);
  current = row ? row.dataset.id : null;
  if (row) row.scrollIntoView({ block: "nearest" });
}
function move(step) {
  const list = rows();
  const at = list.findIndex((row) => row.dataset.id === current);
  const row = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1)];
  if (row) { setCurrent(row); $("a", row).focus({ preventScroll: true }); }
}
document.addEventListener("change", (event) => {
  if (!event.target.matches("li[data-id] input[name=pick]")) return;
  const id = event.target.closest("li").dataset.id;
  if (event.target.checked) chosen.add(id); else chosen.delete(id);
  showChosen();
});
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.triggeringEvent && event.detail.triggeringEvent.type === "files-changed" && rows().length)
    event.detail.parameters.shown = rows().length;
});
document.addEventListener("htmx:afterSwap", () => {
  showChosen();
  if (!current) return;
  const row = rows().find((one) => one.dataset.id === current) || null;
  setCurrent(row);
  if (row && document.activeElement === document.body) $("a", row).focus({ preventScroll: true }); // it was on the old one
});
document.addEventListener("htmx:responseError", () => { $("#stale").hidden = false; });

// Keys: whatever has data-key is clicked by it; lists have j, k, Enter and x beside.
const isTyping = (target) => target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && isTyping(event.target)) { event.preventDefault(); event.target.blur(); return; }
  if (isTyping(event.target)) return;
  const act = {
    j: () => move(1),
    k: () => move(-1),
    x: () => rows().filter((row) => row.dataset.id === current).forEach((row) => $("input[name=pick]", row)?.click()),
    "/": () => $("[type=search]")?.focus(),
    "?": () => $("#keys")?.showModal(),
  };
  const button = all("[data-key]").find((one) => one.dataset.key === event.key && one.offsetParent !== null);
  if (button && !event.repeat) { event.preventDefault(); button.focus(); button.click(); }
  else if (!button && act[event.key] && !(event.key === "x" && event.repeat)) { event.preventDefault(); act[event.key](); }
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-show]");
  if (opener) {
    const box = $(opener.dataset.show);
    event.preventDefault(); // a summary would close again what was just opened
    box.open = opener.tagName !== "SUMMARY" || !box.open;
    if (box.open) $("textarea, input:not([type=hidden])", box)?.focus();
  }
  if (event.target.closest("[data-all]")) { for (const row of rows()) chosen.add(row.dataset.id); showChosen(); }
  if (event.target.closest("[data-none]")) { chosen.clear(); showChosen(); }
});
showChosen();
