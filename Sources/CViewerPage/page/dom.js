// Makes elements without parsing markup, so that the contents of a journal become text and are never run.

import { numberText, stringify } from "./json.js";

/** Makes an element, for example `h("a", {class: "x", href: "/", onclick}, "text", child)`. */
export function h(tag, properties = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
}

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** A date in the reader's time zone. The title of the element is the exact date in UTC. */
export function time(text, isShort) {
  if (!text) return null;
  const date = new Date(text);
  return h("time", { datetime: text, title: text }, (isShort ? dayOnly : dateTime).format(date));
}

export function counted(count, singular, plural = singular + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? singular : plural}`;
}

export function authorText(name) { return name === null ? "(erased)" : name || "(no author)"; }

export function author(name) { return h("span", { class: name ? "author" : "author faint" }, authorText(name)); }

/** The date of an entry and, if it differs, the date by the clock. */
export function when(entry) {
  return [time(entry.date), entry.clockDate ? [" (the clock said ", time(entry.clockDate), ")"] : null];
}

/** A message of the server as a sentence. If it begins with the name of an entity, the name stays in lower case. */
export function sentence(text) {
  const isNamed = /^[a-z]+:\d/.test(text);
  return (isNamed ? text : text.charAt(0).toUpperCase() + text.slice(1)).replace(/[.!?]?$/, ".");
}

/** The first line of a note that is not blank. */
export function subject(note) {
  return note === null ? "(erased)" : note.trimStart().split("\n", 1)[0];
}

/** A JSON value as text for people. */
export function valueText(value) {
  if (value === undefined) return "(none)";
  if (value === null) return "null";
  if (typeof value === "string") return value;
  const number = numberText(value);
  if (number !== null) return number;
  if (typeof value === "object" && !Array.isArray(value)) {
    const keys = Object.keys(value);
    if (keys.length === 1) {
      if (keys[0] === "$date") {
        const date = new Date(value.$date);
        return Number.isNaN(date.valueOf()) ? value.$date : dateTime.format(date);
      }
      if (keys[0] === "$data") return counted(Math.floor((value.$data.replace(/=+$/, "").length * 3) / 4), "byte");
      if (keys[0] === "$double") return value.$double;
    }
  }
  return typeof value === "object" ? stringify(value) : String(value);
}

/** Characters that are invisible or reorder text, except line feeds. The command line escapes the same characters. */
const unseen = /([\u0000-\u0009\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069])/;

export function visibleText(text) {
  const parts = text.split(unseen);
  // Making an element for each part would take too long.
  if (parts.length > 2000) return parts.map((part, index) => (index % 2 ? escaped(part) : part)).join("");
  return parts.map((part, index) => {
    if (index % 2 === 0) return part;
    return part === "\t" ? h("span", { class: "tab" }, part) : h("span", { class: "escaped" }, escaped(part));
  });
}

function escaped(character) {
  return { "\t": "\\t", "\r": "\\r" }[character] ?? `\\u{${character.codePointAt(0).toString(16)}}`;
}

/** Whether two values look the same, such as data of one size or two spellings of a text. */
export function looksSame(first, second, limit = Infinity) {
  return valueText(first).slice(0, limit).normalize() === valueText(second).slice(0, limit).normalize();
}

/** A value as text for people. If the other value looks the same, the text shows a difference, such as a digest. */
export function distinctValue(value, other, limit = Infinity) {
  const shown = visibleText(valueText(value).slice(0, limit));
  if (value === undefined || other === undefined || !looksSame(value, other, limit)) return shown;
  const is = (name, ...all) => all.every((one) => one !== null && typeof one === "object" && Object.keys(one).join() === name);
  if (is("$date", value)) return value.$date;
  if (is("$data", value, other)) return [shown, digestNote(Uint8Array.from(atob(value.$data), (character) => character.charCodeAt(0)))];
  if (typeof value === "string" && typeof other === "string") return [shown, digestNote(new TextEncoder().encode(value))];
  return visibleText(stringify(value).slice(0, limit));
}

/** An element with the first digits of the SHA-256 of bytes, which the browser computes asynchronously. */
function digestNote(bytes) {
  const note = h("span", {}, "");
  // `subtle` is missing on insecure connections.
  if (!crypto.subtle) note.textContent = " (differs)";
  crypto.subtle?.digest("SHA-256", bytes).then((digest) => {
    const digits = [...new Uint8Array(digest).slice(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    note.textContent = ` (SHA-256 ${digits}…)`;
  });
  return note;
}

/** A value on one line, for example `first edition, classic` or `amount 27, currency EUR`. */
export function brief(value) {
  const text = valueText(value);
  if (value === null || typeof value !== "object" || !/^[[{]/.test(text)) return text.split("\n", 1)[0];
  const parts = Array.isArray(value) ? value.map(brief) : Object.entries(value).map(([key, one]) => `${key} ${brief(one)}`);
  return parts.join(", ");
}

/** The name and the label of an entity. For an item, they are a link. */
export function entityLink(name, label, at) {
  const [kind, number] = name.split(":");
  const text = [h("span", { class: "entity" }, name), label ? [" ", label] : null];
  if (kind !== "item") return h("span", {}, text);
  return h("a", { href: `/items/${number}${at ? `?at=${at}` : ""}` }, text);
}

export function debounce(milliseconds, body) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => body(...values), milliseconds);
  };
}

export function openDialog(title, ...content) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => dialog.close() }, "✕");
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, h("div", { class: "bar" }, heading, close), content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A part of the page below the timeline. */
export class View {
  constructor(app, fields = {}) { Object.assign(this, { app, ...fields }); }

  update() {}

  leave() { this.request?.abort(); }

  /** Aborts the previous request of the view, and returns the signal for a new one. */
  begin() {
    this.request?.abort();
    this.request = new AbortController();
    return this.request.signal;
  }

  /** A button to load more with. It stays until that has succeeded. */
  moreButton(text, load) {
    const note = h("div", { role: "alert" });
    const button = h("button", { type: "button", onclick: async () => {
      button.disabled = true;
      try { await load(this.begin()); bar.remove(); } catch (error) { this.report(note, error); }
      button.disabled = false;
    } }, text);
    const bar = h("div", {}, button, note);
    return bar;
  }

  report(element, error) { if (error.name !== "AbortError") replace(element, h(element.matches("ol") ? "li" : "p", { class: "note" }, sentence(error.message))); }
}
