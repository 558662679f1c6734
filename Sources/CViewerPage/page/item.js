// An item: its fields and who set them, its images, its history, and a report to print.

import { get, imageURL } from "./api.js";
import { changeBlock, fieldName, signs } from "./changes.js";
import { View, author, authorText, counted, distinctValue, h, looksSame, openDialog, replace, sentence, subject, time, valueText, when } from "./dom.js";
import { restoreEntity, restoreField } from "./edit.js";

const shownChanges = 500;

export class ItemView extends View {
  enter(root) { this.root = root; this.update(); }

  async update() {
    const { app, name } = this;
    const at = app.at === null ? undefined : `r${app.at}`;
    const wanted = (promise) => promise.catch((error) => (error.name === "AbortError" ? Promise.reject(error) : error));
    let found;
    try {
      const signal = this.begin();
      found = await Promise.all([
        wanted(get(`entities/${name}`, { at }, signal)), wanted(get(`entities/${name}/blame`, { at }, signal)),
        wanted(this.changes(signal)),
      ]);
    } catch { return; }
    const [entity, blame, history] = found;
    if (history instanceof Error) { this.report(this.root, history); return; }
    this.history = history;
    const strip = this.strip(history);
    if (entity instanceof Error) {
      const last = history.history.find((change) => change.revision <= app.revision);
      const isDeleted = last?.event.operation === "delete";
      replace(this.root, h("h1", {}, name), h("p", { class: "note" }, sentence(entity.message)),
        isDeleted ? h("p", {}, h("a", { href: `/items/${this.number}?at=${last.revision - 1}` }, "Show it before it was deleted")) : null,
        isDeleted && app.isEditable ? h("p", {}, h("button", { type: "button", class: "primary", id: "restore-item", onclick: () => restoreEntity(app, name, last.revision - 1) }, "Restore this item…")) : null, strip);
      return;
    }
    const item = entity.entity;
    const blamed = new Map((blame instanceof Error ? [] : blame.blame).map((line) => [line.field, line]));
    replace(this.root,
      h("div", { class: "heading" }, h("h1", {}, entity.label ?? name), h("span", { class: "entity" }, name), h("span", { class: "kind" }, item.kind),
        entity.category ? h("a", { class: "chip", href: `/?category=${entity.category.id}` }, h("i", { class: "swatch", style: entity.category.color ? { background: entity.category.color } : {} }), entity.category.erased ? `category:${entity.category.id} (erased)` : entity.category.name) : null,
        h("span", { class: "grow" }),
        app.at !== null && app.isEditable ? h("button", { type: "button", class: "primary", id: "restore-item", onclick: () => restoreEntity(app, name, app.at) }, "Restore this item…") : null,
        h("a", { href: `/items/${this.number}/report` }, "Report")),
      h("div", { class: "columns" },
        h("section", { "aria-label": "Attributes" }, this.attributes(item, blamed)),
        entity.images.length ? h("section", { class: "gallery", "aria-label": "Images" }, entity.images.map((image) => this.figure(image, entity.revision))) : null),
      strip);
  }

  /** The newest changes or, if they are all after the shown point in time, the newest changes up to that point. */
  async changes(signal) {
    const { app, name } = this;
    const history = await get(`entities/${name}/history`, { limit: shownChanges }, signal);
    if (history.next === null || history.history.at(-1).revision <= app.revision) return history;
    return { ...await get(`entities/${name}/history`, { at: `r${app.revision}`, limit: shownChanges }, signal), end: app.revision };
  }

  attributes(item, blamed) {
    const { app } = this;
    const fields = [...Object.entries(item.attributes)].sort(([a], [b]) => (a < b ? -1 : 1));
    const row = ([field, value]) => {
      const key = field.startsWith("@") ? "@" + field : field;
      const line = blamed.get(key);
      const text = valueText(value);
      const clock = line?.clockDate ? ` (the clock said ${new Date(line.clockDate).toLocaleString()})` : "";
      const note = line ? `Set by ${authorText(line.author)}, ${new Date(line.date).toLocaleString()}${clock}, revision ${line.revision}${line.note ? ": " + subject(line.note) : ""}` : "";
      const who = line ? h("span", { class: "who" }, author(line.author), " ", time(line.date, true), " ", line.note ? h("span", { class: "faint" }, subject(line.note)) : null) : null;
      return h("tr", { "data-field": field }, h("th", { scope: "row" }, field),
        h("td", {}, h("button", { type: "button", class: "value", title: note, "aria-description": note, onclick: () => this.showValues(key) }, text.length > 2000 ? text.slice(0, 2000) + "…" : text === "" ? "“”" : text)),
        h("td", { class: "blame" }, who),
        app.isEditable && app.at !== null ? h("td", {}, h("button", { type: "button", class: "quiet restore-field", "aria-label": `Restore ${field}`, title: `Restore ${field} as of revision ${app.at}`, onclick: () => restoreField(app, this.name, key, app.at) }, "↺")) : null);
    };
    return fields.length ? h("table", { class: "attributes" }, h("tbody", {}, fields.map(row))) : h("p", { class: "note" }, "This item has no attributes.");
  }

  figure(image, at) {
    const address = imageURL(image.id, at);
    return h("figure", {}, h("a", { href: address, target: "_blank", rel: "noopener" }, h("img", { src: address, alt: image.name, loading: "lazy" })),
      h("figcaption", {}, image.name, h("span", { class: "faint" }, ` ${counted(image.byteCount, "byte")}`)));
  }

  strip(history) {
    const { app } = this;
    const chosen = history.history.find((change) => change.revision <= app.revision) ?? history.history[history.history.length - 1];
    const steps = [...history.history].reverse();
    const detail = h("div", { class: "detail" }, chosen ? this.event(chosen) : null);
    const count = counted(steps.length, "entry", "entries") + (history.end ? ` up to revision ${history.end}` : "") + (history.next ? ", and earlier ones" : "");
    const earlier = history.next ? h("li", {}, h("button", { type: "button", class: "step", id: "earlier", onclick: () => this.app.setPoint(history.next) }, "Earlier…")) : null;
    return h("section", { class: "history", "aria-label": "History" },
      h("h2", {}, `History`, h("span", { class: "faint" }, ` ${count}`)),
      h("ol", { class: "strip" }, earlier, steps.map((change) => h("li", {}, h("button", {
        type: "button", class: `step ${change.event.operation}`, "aria-current": change === chosen ? "step" : null,
        onclick: () => this.app.setPoint(change.revision),
      }, h("span", { class: "sign" }, signs[change.event.operation][0]), " ", time(change.date, true), h("br"), author(change.author))))), detail);
  }

  event(change) {
    return [h("p", { class: "headline" }, h("a", { href: `/entries/${change.revision}` }, `Entry ${change.revision}`), ", ", when(change), ", ", author(change.author), change.note ? ": " + subject(change.note) : ""),
      changeBlock({ entity: this.name, operation: change.event.operation, changes: change.changes, erased: change.event.erased }, { before: change.revision - 1, after: change.revision })];
  }

  showValues(field) {
    const values = this.history.history.filter((change) => field in change.changes)
      .map((change) => ({ ...change, value: change.changes[field].new }));
    const shownLength = 400;
    const shown = (step, index) => {
      const twin = [values[index + 1], values[index - 1]].find((near) => near?.value !== undefined && looksSame(near.value, step.value, shownLength));
      return distinctValue(step.value, twin?.value, shownLength);
    };
    const dialog = openDialog(`${fieldName(field)} over time`,
      h("table", { class: "over-time" }, h("tbody", {}, values.map((step, index) => h("tr", {},
        h("td", {}, h("button", { type: "button", class: "link", onclick: () => { dialog.close(); this.app.setPoint(step.revision); } }, `r${step.revision}`)),
        h("td", {}, when(step)), h("td", {}, author(step.author)), h("td", {}, step.value === undefined ? h("span", { class: "faint" }, "(none)") : shown(step, index)), h("td", { class: "faint" }, subject(step.note ?? "")))))));
  }
}

/** The changes of an entity up to a point in time, at most the newest 10,000, with the digests of their entries. */
async function wholeHistory(name, at, signal) {
  const whole = { history: [], digests: {}, next: at };
  for (let part = 0; part < 10 && whole.next !== null; part++) {
    const found = await get(`entities/${name}/history`, { at: whole.next, limit: 1000, digests: 1 }, signal);
    whole.history.push(...found.history);
    Object.assign(whole.digests, found.digests);
    whole.next = found.next;
  }
  return whole;
}

/** A report to print: an item and its history, with the digests that prove them. */
export class ReportView extends View {
  async enter(root) {
    const { app, name } = this;
    const at = app.at === null ? undefined : `r${app.at}`;
    try {
      const signal = this.begin();
      const [facts, blame, history, entity] = await Promise.all([
        get("journal", {}, signal), get(`entities/${name}/blame`, { at }, signal).catch(() => ({ blame: [] })),
        wholeHistory(name, at, signal), get(`entities/${name}`, { at }, signal).catch(() => null),
      ]);
      signal.throwIfAborted();
      replace(root, h("article", { class: "report" },
        h("div", { class: "heading" }, h("h1", {}, `Report on ${entity?.label ?? name}`), h("span", { class: "grow" }), h("button", { type: "button", class: "primary", onclick: () => print() }, "Print")),
        h("dl", { class: "facts" },
          h("dt", {}, "Item"), h("dd", {}, name, entity ? `, ${entity.entity.kind}` : ", does not exist at this point"),
          h("dt", {}, "Journal"), h("dd", {}, `${facts.name}, ${facts.id}`),
          h("dt", {}, "As of"), h("dd", {}, `revision ${app.revision} of ${facts.revision}`),
          h("dt", {}, "Newest digest"), h("dd", { class: "digest" }, facts.digest),
          h("dt", {}, "Report created"), h("dd", {}, time(new Date().toISOString()))),
        blame.blame.length ? [h("h2", {}, "Values"), h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ["Field", "Value", "Set by", "On", "Revision"].map((text) => h("th", {}, text)))),
          h("tbody", {}, blame.blame.map((line) => h("tr", {}, h("th", { scope: "row" }, fieldName(line.field)), h("td", {}, valueText(line.value)), h("td", {}, author(line.author)), h("td", {}, when(line)), h("td", {}, line.revision)))))] : null,
        h("h2", {}, "History"),
        history.history.map((change) => h("section", { class: "reported" },
          h("p", { class: "headline" }, h("strong", {}, `Entry ${change.revision}`), ", ", when(change), ", ", author(change.author), change.note ? ": " + subject(change.note) : ""),
          h("p", { class: "digest" }, history.digests[change.revision]),
          changeBlock({ entity: name, operation: change.event.operation, changes: change.changes }, { before: change.revision - 1, after: change.revision }))),
        history.next ? h("p", { class: "note" }, `Changes up to revision ${history.next} are not in this report. journal history prints all.`) : null,
        h("p", { class: "note" }, "Each digest seals its entry and all entries before it. If you keep the newest digest elsewhere, journal verify can prove that none of this was changed later.")));
    } catch (error) { this.report(root, error); }
  }
}

