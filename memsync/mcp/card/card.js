// The card in a client (MCP Apps): why a recall found what it did, what this session was given, and the queue to decide.
// What memories say arrives as data and is shown as text alone; nothing here makes an element of it.
"use strict";

const main = document.querySelector("main");
const answers = new Map();
let last = 0, found = null, view = "why", card = null, size = "";

function send(message) { window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); }

function ask(method, params) {
  const id = ++last;
  return new Promise((resolve, reject) => { answers.set(id, { resolve, reject }); send({ id, method, params }); });
}

function make(tag, text, kind) {
  const one = document.createElement(tag);
  if (text) one.textContent = text;
  if (kind) one.className = kind;
  return one;
}

function press(text, key, act) {
  const one = make("button", text);
  if (key) { one.dataset.key = key; one.append(" ", make("kbd", key)); }
  one.addEventListener("click", act);
  return one;
}

function show(...parts) {
  const tabs = make("nav");
  for (const [name, text, open] of [["why", "Found", showWhy], ["session", "This session", showSession], ["review", "Review", () => showReview({})]]) {
    const tab = press(text, "", open);
    tab.setAttribute("aria-pressed", String(view === name));
    tabs.append(tab);
  }
  main.replaceChildren(tabs, ...parts.filter(Boolean));
}

function list(rows) {
  const all = make("ul");
  for (const parts of rows) { const row = make("li"); row.append(...parts.filter(Boolean)); all.append(row); }
  return all;
}

function explain(one, { query, floor = 0 }) {
  const facts = [one.id, one.memory_type, `importance ${one.importance}`, one.scope];
  if (!query) return facts.join(" · ");
  const parts = Object.entries(one.parts || {}).filter(([, value]) => value).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  if (one.confidence !== undefined) facts.push(`${one.confidence < floor ? "weak: " : ""}confidence ${one.confidence.toFixed(2)}`);
  return facts.concat(parts).join(" · ");
}

function showWhy() {
  view = "why";
  if (!found) return show(make("p", "waiting for the answer", "soft"));
  if (!found.memories) return show(make("p", found.text || "nothing is known about that", "text"));
  const rows = found.memories.map((one) => [
    make("div", one.content, "text"),
    make("div", explain(one, found), "soft"),
    ...[one.flagged, ...(one.stale || [])].filter(Boolean).map((text) => make("div", text, "bad")),
  ]);
  const head = found.query ? `for “${found.query}”` : "the most important";
  show(make("p", `${rows.length} ${rows.length === 1 ? "memory" : "memories"} ${head}`, "soft"), list(rows),
    found.degraded ? make("p", `found by words only, because ${found.degraded}`, "soft") : null);
}

async function call(name, given) {
  const result = await ask("tools/call", { name, arguments: given });
  if (result.isError) throw new Error((result.content || []).map((part) => part.text || "").join(" "));
  return result.structuredContent;
}

function fail(error) { show(make("p", String((error && error.message) || error), "bad")); }

async function showSession() {
  view = "session";
  try { drawSession(await call("session_card", {})); } catch (error) { fail(error); }
}

function drawSession(answer) {
  view = "session";
  show(make("p", answer.said, "soft"), list(answer.events.map((each) => [
    make("div", `${each.what}${each.text ? `: ${each.text}` : ""}`, "text"),
    make("div", [each.why, each.at].filter(Boolean).join(" · "), "soft"),
  ])));
}

async function showReview(given) {
  view = "review";
  try { drawReview(await call("review_card", given)); } catch (error) { fail(error); }
}

function drawReview(answer) {
  view = "review";
  card = answer.card || null;
  const said = answer.said ? make("p", answer.said, answer.failed ? "bad" : "good") : null;
  const undo = press("undo", "u", () => showReview({ action: "undo" }));
  if (!card) return show(said, make("p", answer.is_reading ? "still reading: look again" : "Nothing waits for a decision."), undo);
  const texts = make("div", "", "both");
  const side = (name, text) => { const one = make("div"); one.append(make("div", name, "soft"), make("div", text, "text")); return one; };
  texts.append(side("in question", card.text));
  if (card.other) texts.append(side("stored", card.other));
  for (const copy of card.copies || []) texts.append(side(copy.lost ? `to drop; lost: ${copy.lost}` : "to drop", copy.text));
  const choices = list(Object.entries(card.actions).map(([action, how]) => [choose(action, how)]));
  const walk = make("p");
  if (answer.before) walk.append(press("before", "k", () => showReview({ at: answer.before })), " ");
  if (answer.after) walk.append(press("next", "j", () => showReview({ at: answer.after })), " ");
  walk.append(undo);
  show(said, make("p", `${answer.number} of ${answer.total}${answer.is_reading ? ", still reading" : ""} · ${card.kind} · ${card.why}`, "soft"), texts, choices, walk);
}

function choose(action, how) {
  const row = make("div");
  const decide = (text) => showReview({ at: card.name, was: card.was, action, ...(text === undefined ? {} : { text }) });
  row.append(press(action, how.key, () => {
    if (how.draft === undefined) return decide();
    const area = make("textarea");
    area.value = how.draft;
    area.setAttribute("aria-label", "The text to write");
    row.replaceChildren(area, press("write", "", () => decide(area.value)));
    area.focus();
  }), " ", make("span", how.does, "soft"));
  return row;
}

document.addEventListener("keydown", (event) => {
  if (event.target.closest("textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const one = [...document.querySelectorAll("button[data-key]")].find((each) => each.dataset.key === event.key);
  if (one) { event.preventDefault(); one.click(); }
});

function receive(result) {
  const text = (result.content || []).map((part) => part.text || "").join("\n");
  const answer = (result._meta && result._meta["memsync/found"]) || result.structuredContent || { text };
  if (answer.events) return drawSession(answer);
  if (answer.total !== undefined) return drawReview(answer);
  found = answer;
  showWhy();
}

function colour(context) {
  if (context && (context.theme === "light" || context.theme === "dark")) document.documentElement.style.colorScheme = context.theme;
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  if (!message.method) {
    const waiting = answers.get(message.id);
    answers.delete(message.id);
    if (waiting) message.error ? waiting.reject(new Error(message.error.message)) : waiting.resolve(message.result);
  } else if (message.method === "ui/notifications/tool-result") {
    receive(message.params || {});
  } else if (message.method === "ui/notifications/host-context-changed") {
    colour(message.params);
  } else if (message.id !== undefined) {
    send({ id: message.id, result: {} }); // ping, teardown: there is nothing to put in order
  }
});

new ResizeObserver(() => {
  const { scrollWidth: width } = document.documentElement, height = Math.ceil(document.body.getBoundingClientRect().height);
  if (`${width}×${height}` === size) return;
  size = `${width}×${height}`;
  send({ method: "ui/notifications/size-changed", params: { width, height } });
}).observe(document.body);

showWhy();
ask("ui/initialize", { appInfo: { name: "memsync", version: "1" }, appCapabilities: {}, protocolVersion: "2026-01-26" })
  .then((result) => { colour(result.hostContext); send({ method: "ui/notifications/initialized", params: {} }); }, fail);
