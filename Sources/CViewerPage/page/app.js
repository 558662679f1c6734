// START HERE: shows a view at a point in time, and follows new entries.

import { get } from "./api.js";
import { author, authorText, debounce, h, openDialog, replace, sentence, subject, when } from "./dom.js";
import { Timeline } from "./timeline.js";
import { ItemsView } from "./items.js";
import { ItemView, ReportView } from "./item.js";
import { CompareView, EntriesView, EntryView } from "./entries.js";
import { ProofView } from "./proof.js";
import { restoreEverything } from "./edit.js";

const main = document.getElementById("main");
const banner = document.getElementById("banner");
const alarm = document.getElementById("alarm");

/** The state that the views share. */
export const app = {
  /** The response of `/api/journal`. */
  facts: null,
  /** The revision that is shown, or null for the newest. */
  at: null,
  /** The entry at the shown revision, or null if there is none. */
  point: null,
  navigate, setPoint, setParameter, refresh, announce,
  get revision() { return this.at ?? this.facts.revision; },
  get isEditable() { return this.facts.editable; },
  parameters() { return new URLSearchParams(location.search); },
};

let view = null;
let viewPath = "";
let timeline = null;

const routes = [
  [/^\/(items)?$/, () => new ItemsView(app)],
  [/^\/items\/(\d+)$/, (number) => new ItemView(app, { number, name: `item:${number}` })],
  [/^\/items\/(\d+)\/report$/, (number) => new ReportView(app, { name: `item:${number}` })],
  [/^\/entries$/, () => new EntriesView(app)],
  [/^\/entries\/(\d+)$/, (number) => new EntryView(app, { revision: Number(number) })],
  [/^\/compare$/, () => new CompareView(app)],
  [/^\/proof$/, () => new ProofView(app)],
];

/** Shows the view at an address. The point in time stays the same unless the address names another. */
function navigate(address, { replaces = false } = {}) {
  const url = new URL(address, location.origin);
  if (app.at !== null && !url.searchParams.has("at")) url.searchParams.set("at", app.at);
  if (url.searchParams.get("at") === "now") url.searchParams.delete("at");
  history[replaces ? "replaceState" : "pushState"](null, "", url);
  render();
}

/** Sets a parameter of the page's address. Without a value, removes the parameter. */
function setParameter(name, value, options) {
  const url = new URL(location.href);
  url.searchParams.delete(name);
  if (value) url.searchParams.set(name, value);
  navigate(url.pathname + url.search, options);
}

/** Shows another point in time in the same view: a revision, or null for now. */
function setPoint(revision, { replaces = false } = {}) {
  if (revision !== null) {
    const oldest = app.facts.base ?? 0;
    revision = Math.max(oldest, Math.min(revision, app.facts.revision));
    if (revision === app.facts.revision) revision = null;
  }
  if (revision === app.at) return;
  const url = new URL(location.href);
  if (revision === null) url.searchParams.delete("at"); else url.searchParams.set("at", revision);
  history[replaces ? "replaceState" : "pushState"](null, "", url);
  render();
}

function render() {
  const text = app.parameters().get("at");
  const at = text === null ? null : Number(text);
  app.at = Number.isInteger(at) && at !== null && at >= 0 && at < app.facts.revision ? at : null;
  const path = location.pathname;
  for (const link of document.querySelectorAll("#views a")) {
    const target = new URL(link.href).pathname;
    const isCurrent = target === path || (target !== "/" && path.startsWith(target + "/")) || (target === "/" && path.startsWith("/items"));
    if (isCurrent) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.body.classList.toggle("printing", path.endsWith("/report"));
  if (view && viewPath === path) {
    view.update();
  } else {
    view?.leave();
    viewPath = path;
    view = null;
    for (const [pattern, make] of routes) {
      const match = path.match(pattern);
      if (match) { view = make(...match.slice(1)); break; }
    }
    if (view) { replace(main); view.enter(main); } else replace(main, h("p", { class: "note" }, "There is no such page."));
    main.scrollTop = 0;
  }
  updatePoint();
}

let pointRequest = null;

/** Shows the entry at the current point in the banner and in the timeline. */
async function updatePoint() {
  timeline?.setRevision(app.revision);
  pointRequest?.abort();
  pointRequest = new AbortController();
  const revision = app.revision;
  let entry = null;
  if (revision > (app.facts.base ?? 0)) {
    try {
      const found = await get("entries", { since: `r${revision - 1}`, until: `r${revision}`, events: 0 }, pointRequest.signal);
      entry = found.entries[0] ?? null;
    } catch (error) {
      if (error.name === "AbortError") return;
    }
  }
  app.point = entry;
  timeline?.setPoint(entry);
  banner.hidden = app.at === null;
  if (app.at === null) return;
  replace(banner,
    h("strong", {}, "This is a past state."), " ",
    h("span", {}, `As of revision ${app.at}`, entry ? [", ", when(entry), ", ", author(entry.author), entry.note ? ": " + subject(entry.note) : ""] : ""),
    h("span", { class: "grow" }),
    entry ? h("a", { href: `/entries/${app.at}` }, "What changed") : null,
    h("a", { href: `/compare?from=${app.at}&to=now&at=now` }, "Compare with now"),
    app.isEditable ? h("button", { type: "button", onclick: () => restoreEverything(app, app.at) }, "Restore everything…") : null,
    h("button", { type: "button", id: "to-now", class: "primary", onclick: () => setPoint(null) }, "Back to now"));
}

async function refresh() {
  app.facts = await get("journal");
  document.getElementById("name").textContent = app.facts.name.replace(/\.journal$/, "");
  showHealth();
  timeline?.refresh();
  view?.update();
  updatePoint();
}

let shownProblem = "null";
let healthTimer = 0;

/** Shows the problem of the journal. Until the background check has ended, gets the health every 3 seconds. */
function showHealth() {
  const { facts } = app;
  const { problem, endsAtDamage, checkedRevision, lastRevision } = facts.health;
  clearTimeout(healthTimer);
  if (!problem && checkedRevision < lastRevision) {
    healthTimer = setTimeout(() => get("journal").then(({ health }) => { facts.health = health; showHealth(); }).catch(() => {}), 3000);
  }
  // Screen readers must not read out an unchanged alert again.
  if (JSON.stringify(problem) === shownProblem) return;
  shownProblem = JSON.stringify(problem);
  alarm.hidden = !problem;
  if (!problem) return;
  const title = { damaged: "This journal is damaged.", poisoned: "This journal can’t be changed." }[problem.code] ?? "This journal can’t be read completely.";
  replace(alarm, h("p", {}, h("strong", {}, title), " ",
    sentence(problem.message), problem.revision ? ` This concerns entry ${problem.revision.toLocaleString("en")}.` : "", endsAtDamage ? ` What is shown ends with revision ${facts.revision.toLocaleString("en")}: all entries up to there can be proven, and nothing can be changed.` : problem.code === "poisoned" ? "" : " All that can be read is shown.",
    problem.advice ? " " + problem.advice : ""));
}

function announce(text) { document.getElementById("live").textContent = text; }

// A short pause lets many new entries appear together.
const refreshSoon = debounce(150, () => refresh().catch(() => {}));

function follow() {
  const source = new EventSource(`/api/events?after=${app.facts.revision}`);
  source.addEventListener("entry", (event) => {
    const entry = JSON.parse(event.data);
    announce(`Entry ${entry.revision} by ${authorText(entry.author)}: ${subject(entry.note ?? "")}`);
    refreshSoon();
  });
  source.addEventListener("open", () => timeline.setLive(true));
  source.addEventListener("error", () => timeline.setLive(false));
  addEventListener("pagehide", () => source.close());
}

function showKeys() {
  const keys = [
    ["← →", "previous entry, next entry"], ["⇧← ⇧→", "ten entries back, ten forward"], ["Home End", "first entry, now"],
    ["/", "search"], ["n", "back to now"], ["e", "what changed here"],
    ["g i, g e, g c, g p", "items, entries, compare, proof"], ["?", "this list"],
  ];
  openDialog("Keys", h("dl", { class: "keys" }, keys.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])));
}

let isGoing = false;

function handleKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (isTyping) { if (event.key === "Escape") event.target.blur(); return; }
  if (isGoing) {
    isGoing = false;
    const target = { i: "/", e: "/entries", c: "/compare", p: "/proof" }[event.key];
    if (target) { event.preventDefault(); navigate(target); }
    return;
  }
  if (timeline.handleKey(event)) { event.preventDefault(); return; }
  const actions = {
    "/": () => { if (viewPath !== "/") navigate("/"); document.getElementById("search")?.focus(); },
    n: () => setPoint(null), e: () => navigate(`/entries/${app.revision}`), g: () => { isGoing = true; }, "?": showKeys,
  };
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); }
}

function begin() {
  const url = new URL(location.href);
  if (url.searchParams.has("token")) { url.searchParams.delete("token"); history.replaceState(null, "", url); }
  document.getElementById("help").addEventListener("click", showKeys);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const target = new URL(link.href);
    if (target.origin !== location.origin || target.pathname.startsWith("/api/") || link.hash) return;
    event.preventDefault();
    navigate(target.pathname + target.search);
  });
  document.addEventListener("keydown", handleKey);
  addEventListener("popstate", render);
}

async function start() {
  begin();
  try {
    app.facts = await get("journal");
  } catch (error) {
    replace(main, h("div", { class: "alone", role: "alert" }, h("h1", {}, "This journal can’t be shown"), h("p", {}, sentence(error.message)), error.advice ? h("p", {}, error.advice) : null));
    return;
  }
  const name = app.facts.name.replace(/\.journal$/, "");
  document.title = name;
  document.getElementById("name").textContent = name;
  timeline = new Timeline(document.getElementById("timeline"), app);
  showHealth();
  render();
  follow();
}

start();
