"use strict";
// Keys, the choice of rows, and reading a page again when the files change. Nothing here builds HTML.

const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// What somebody has begun to type is not taken away by a change of the files, and outlives the desk: this tab keeps it until it is saved.
const isDirty = () => $("form[data-guard][data-dirty]") !== null;
const fields = (form) => [...form.elements].filter((one) => one.name && one.name !== "form" && (one.type !== "hidden" || one.name === "was"));
const draftOf = (form) => ["draft", form.getAttribute("action"), ...["id", "scope", "name", "key", "action"].map((name) => $(`input[type=hidden][name=${name}]`, form)?.value)].join(" ");
function keepDraft(form) {
  const said = fields(form).map((one) => [one.name, one.type === "checkbox" ? one.checked : one.value]);
  sessionStorage.setItem(draftOf(form), JSON.stringify(said));
}
function takeDraft(form) {
  const said = JSON.parse(sessionStorage.getItem(draftOf(form)) || "[]");
  const each = fields(form).filter((one, place) => said[place] && said[place][0] === one.name);
  if (!each.length || each.length !== said.length) return;
  each.forEach((one, place) => { if (one.type === "checkbox") one.checked = said[place][1]; else one.value = said[place][1]; });
  form.setAttribute("data-dirty", "");
  const box = form.closest("details");
  if (box) box.open = true;
  $("#kept").hidden = false;
}
function settleDrafts() {
  const sent = sessionStorage.getItem("sent");
  sessionStorage.removeItem("sent");
  if (sent && $("#done")) sessionStorage.removeItem(sent); // it is stored now
  for (const form of all("form[data-guard]")) if ($("main [role=alert]")) keepDraft(form); else takeDraft(form); // of what was refused the page has it
}
settleDrafts();
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-guard]");
  if (form) { form.setAttribute("data-dirty", ""); keepDraft(form); }
});
document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-guard]")) sessionStorage.setItem("sent", draftOf(event.target));
  event.target.removeAttribute("data-dirty");
});
addEventListener("beforeunload", (event) => { if (isDirty()) event.preventDefault(); });

// Changes of the files: heard only while the page is seen, because a browser has few connections to one host.
let source = null;
let seen = Number(document.body.dataset.changes);
let open = ""; // the address of the memory that stands beside the list
let leaving = false; // for the page that a form leads to: what it was sent from may be gone by then
function listen() {
  if (document.hidden || leaving) {
    if (source) source.close();
    source = null;
  } else if (!source) {
    source = new EventSource("/events");
    source.addEventListener("error", () => { $("#ended").hidden = leaving; });
    source.addEventListener("open", () => { $("#ended").hidden = true; });
    source.addEventListener("change", (event) => {
      if (Number(event.data) === seen) return;
      seen = Number(event.data);
      if (isDirty() || $("details.edit[open], dialog[open]")) $("#stale").hidden = false;
      else {
        htmx.trigger(document.body, "files-changed");
        if (open) show(open);
      }
    });
  }
}
document.addEventListener("visibilitychange", listen);
document.addEventListener("submit", (event) => { if (!event.defaultPrevented && event.target.method === "post" && !event.target.closest("[hx-boost=true]")) { leaving = true; listen(); } });
addEventListener("pageshow", () => { leaving = false; listen(); });
listen();

const showTab = () => { const tab = $("header.top [aria-current]"), head = tab?.closest("header"); if (head) head.scrollLeft = tab.offsetLeft - head.clientWidth / 2; }; // a phone has room for some
showTab();

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
  if (row) { setCurrent(row); $("a", row).focus({ preventScroll: true }); peek($("a.what", row)); }
}

// Where there is room a memory opens beside the list, also the one that j and k come to, once they rest.
const hasRoom = () => $("#beside")?.checkVisibility();
let pause = 0;
function show(url) {
  open = url;
  htmx.ajax("GET", url, { target: "#beside", select: "#main > *", swap: "innerHTML" });
}
function peek(link) {
  clearTimeout(pause);
  if (link && hasRoom()) pause = setTimeout(show, 120, link.getAttribute("href"));
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("#found a.what");
  if (!link || !hasRoom() || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  setCurrent(link.closest("li"));
  show(link.getAttribute("href"));
});

// A card is swapped in place. A key that comes while the next one is on its way is not taken, and that stands there until it can have been read.
const READ = 2000; // milliseconds
let asking = false;
let refused = 0, refusedAt = 0;
function refuse() {
  refused += 1;
  refusedAt = Date.now();
  $("#refused").textContent = `${refused === 1 ? "Key" : `${refused} keys`} not taken: the next card was not there yet.`;
}
function take() {
  if (refused && Date.now() - refusedAt < READ) return; // of keys in a row it says how many
  refused = 0;
  $("#refused").textContent = "";
}
document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.boosted) asking = true; });
for (const end of ["htmx:afterSettle", "htmx:sendError", "htmx:responseError"]) document.addEventListener(end, (event) => {
  if (event.detail.boosted) asking = false; // before it is settled a form of the new card would load a whole page
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const detail = event.detail;
  if (!detail.boosted || detail.xhr.status < 400 || !detail.xhr.responseText.includes('id="page"')) return;
  detail.shouldSwap = true; // what was refused says why
  detail.isError = false;
});
document.addEventListener("htmx:sendError", (event) => { if (event.detail.boosted) $("#ended").hidden = false; });
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
document.addEventListener("htmx:afterSwap", (event) => {
  if (["page", "beside"].includes(event.detail.target.id)) settleDrafts();
  if (event.detail.target.id === "page") { $("#main").focus({ preventScroll: true }); showTab(); }
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
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target.form?.matches("form[data-guard], #try form")) event.target.form.requestSubmit();
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
  const button = [...all("main [data-key]"), ...all("[data-key]")].find((one) => one.dataset.key === event.key && one.offsetParent !== null);
  if (button && asking) { event.preventDefault(); if (!event.repeat) refuse(); }
  else if (button && !event.repeat) { event.preventDefault(); take(); button.focus(); button.click(); }
  else if (!button && act[event.key] && !(event.key === "x" && event.repeat)) { event.preventDefault(); act[event.key](); }
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-show]");
  if (opener) {
    const box = $(opener.dataset.show);
    event.preventDefault(); // a summary would close again what was just opened
    box.open = opener.tagName !== "SUMMARY" || !box.open;
    const field = $("textarea", box) || $("input:not([type=hidden])", box);
    if (box.open && field) { field.focus(); field.selectionStart = field.value.length; } // a caret at the end: what is typed is added
  }
  if (event.target.closest("[data-drop]")) {
    for (const form of all("form[data-guard]")) { sessionStorage.removeItem(draftOf(form)); form.removeAttribute("data-dirty"); }
    location.reload();
  }
  if (event.target.closest("[data-all]")) { for (const row of rows()) chosen.add(row.dataset.id); showChosen(); }
  if (event.target.closest("[data-none]")) { chosen.clear(); showChosen(); }
});
showChosen();
