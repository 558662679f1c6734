// Shows changes: old and new values, texts line by line, and images before and after.

import { imageURL } from "./api.js";
import { distinctValue, entityLink, h, visibleText } from "./dom.js";

export const signs = { add: ["+", "added"], update: ["~", "changed"], delete: ["−", "deleted"] };

/** The element for the change of one entity: `{entity, operation, changes}` as `diff --json` prints it. */
export function changeBlock(change, { label, before, after } = {}) {
  const [sign, word] = signs[change.operation];
  const rows = Object.entries(change.changes ?? {}).map(([field, { old, new: value }]) => fieldRow(field, old, value, change.operation));
  const isImage = change.entity.startsWith("image:");
  return h("section", { class: `change ${change.operation}` },
    h("h3", {}, h("span", { class: "sign", role: "img", "aria-label": word }, sign), " ", entityLink(change.entity, label, change.operation === "delete" ? before : null)),
    change.erased ? h("p", { class: "note" }, "(erased)") : null,
    isImage ? imagePair(change, before, after) : null,
    rows.length ? h("table", { class: "fields" }, h("tbody", {}, rows)) : null);
}

export function fieldName(field) { return field.startsWith("@") ? field.slice(1) : field; }

function fieldRow(field, old, value, operation) {
  const name = h("th", { scope: "row" }, fieldName(field));
  if (typeof old === "string" && typeof value === "string" && (old.includes("\n") || value.includes("\n"))) {
    return h("tr", {}, name, h("td", {}, lineDifference(old, value)));
  }
  const isUpdate = operation === "update";
  return h("tr", {}, name, h("td", {},
    old !== undefined ? h("del", {}, shown(field, old, value)) : isUpdate ? h("span", { class: "faint" }, "(none)") : null,
    isUpdate || old !== undefined && value !== undefined ? h("span", { class: "arrow", "aria-label": "became" }, " → ") : null,
    value !== undefined ? h("ins", {}, shown(field, value, old)) : isUpdate ? h("span", { class: "faint" }, "(none)") : null));
}

function shown(field, value, other) {
  if (field === "@color" && typeof value === "string") {
    return [h("i", { class: "swatch", style: { background: value } }), " ", value];
  }
  return distinctValue(value, other);
}

/** The difference of two texts line by line, with two lines of context. */
export function lineDifference(old, value) {
  const [a, b] = [old.split("\n"), value.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const steps = middle(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const lines = [];
  const line = (tag, text) => h(tag, {}, text ? visibleText(text) : " ");
  const context = (text) => lines.push(line("div", text));
  if (start > 2) lines.push(h("div", { class: "faint" }, `… ${start - 2} lines`));
  a.slice(Math.max(0, start - 2), start).forEach(context);
  for (const [sign, text] of steps) lines.push(line({ " ": "div", "-": "del", "+": "ins" }[sign], text));
  const tail = a.slice(a.length - end);
  tail.slice(0, 2).forEach(context);
  if (tail.length > 2) lines.push(h("div", { class: "faint" }, `… ${tail.length - 2} lines`));
  return h("div", { class: "lines" }, lines);
}

/** The difference by the longest common subsequence or, if the texts are long, all old and then all new lines. */
function middle(a, b) {
  if (a.length * b.length > 250000) return [...a.map((text) => ["-", text]), ...b.map((text) => ["+", text])];
  const best = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { steps.push([" ", a[i]]); i += 1; j += 1; }
    else if (i < a.length && (j === b.length || best[i + 1][j] >= best[i][j + 1])) { steps.push(["-", a[i]]); i += 1; }
    else { steps.push(["+", b[j]]); j += 1; }
  }
  return steps;
}

/** An image before and after. If both exist, a slider shows one over the other. */
function imagePair(change, before, after) {
  const number = change.entity.split(":")[1];
  const bytes = change.changes?.["@sha256"];
  const name = change.changes?.["@name"]?.new ?? change.changes?.["@name"]?.old ?? change.entity;
  if (!bytes) return null;
  const image = (at, text) => h("img", { src: imageURL(number, at), alt: `${name}, ${text}`, loading: "lazy", onerror: (event) => event.target.replaceWith(h("span", { class: "note" }, "no picture")) });
  if (bytes.old === undefined) return h("div", { class: "pair single" }, image(after, "as it was added"));
  if (bytes.new === undefined) return h("div", { class: "pair single" }, image(before, "as it was deleted"));
  const top = h("div", { class: "top-image" }, image(after, "after"));
  const slider = h("input", {
    type: "range", min: "0", max: "100", value: "50", "aria-label": "Before and after",
    oninput: () => top.style.setProperty("clip-path", `inset(0 0 0 ${slider.value}%)`),
  });
  top.style.setProperty("clip-path", "inset(0 0 0 50%)");
  return h("div", { class: "pair" }, h("div", { class: "stack" }, image(before, "before"), top),
    h("div", { class: "bar" }, h("span", {}, "before"), slider, h("span", {}, "after")));
}
