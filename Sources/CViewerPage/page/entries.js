// The list of entries, an entry, and the differences between two points in time.

import { get } from "./api.js";
import { changeBlock } from "./changes.js";
import { View, author, counted, debounce, h, replace, sentence, subject, when } from "./dom.js";
import { restoreEverything, revertEntry } from "./edit.js";

function countsText(counts) {
  return [["add", "+"], ["update", "~"], ["delete", "−"]].filter(([name]) => counts[name]).map(([name, sign]) => sign + counts[name].toLocaleString("en")).join(" ");
}

export class EntriesView extends View {
  enter(root) {
    const parameters = this.app.parameters();
    const input = (name, label) => h("input", { type: "search", "aria-label": label, placeholder: label, value: parameters.get(name) ?? "", oninput: debounce(200, (event) => this.app.setParameter(name, event.target.value, { replaces: true })) });
    this.list = h("ol", { class: "entries" });
    this.tail = h("div");
    replace(root, h("h1", {}, "Entries"), h("div", { class: "toolbar" }, input("author", "Author"), input("note", "Note")), this.list, this.tail);
    this.update();
  }

  update() { this.load(null, this.begin()).catch((error) => this.report(this.list, error)); }

  async load(until, signal) {
    const parameters = this.app.parameters();
    const found = await get("entries", { until: `r${until ?? this.app.revision}`, author: parameters.get("author"), note: parameters.get("note"), events: 0, limit: 50 }, signal);
    const rows = [...found.entries, ...found.unreadable ?? []].sort((a, b) => b.revision - a.revision).map((entry) => h("li", {}, h("a", { href: `/entries/${entry.revision}` },
      h("span", { class: "revision" }, entry.revision),
      entry.message ? h("span", { class: "bad" }, sentence(entry.message))
        : [h("span", { class: "label" }, subject(entry.note ?? "") || h("span", { class: "faint" }, "(no note)")), h("span", { class: "counts" }, countsText(entry.counts)), author(entry.author), h("span", { class: "dates" }, when(entry))])));
    if (until === null) replace(this.list, rows.length ? rows : h("li", { class: "note" }, "There are no such entries.")); else this.list.append(...rows);
    replace(this.tail, found.next === null ? null : this.moreButton("Older entries", (signal) => this.load(found.next, signal)));
  }
}

export class EntryView extends View {
  async enter(root) {
    this.root = root;
    const { app, revision } = this;
    this.tail = h("div", {});
    try {
      const found = await get(`entries/r${revision}`, {}, this.begin());
      const { entry } = found;
      const tags = app.facts.tags.filter((tag) => tag.revision === revision);
      const link = (number, text) => (number > (app.facts.base ?? 0) && number <= app.facts.revision ? h("a", { href: `/entries/${number}` }, text) : null);
      replace(root,
        h("div", { class: "heading" }, h("h1", {}, `Entry ${revision.toLocaleString("en")}`), tags.map((tag) => h("span", { class: "chip" }, "⚑ ", tag.name)), h("span", { class: "grow" }),
          link(revision - 1, "◀ previous"), link(revision + 1, "next ▶"),
          h("a", { href: `/?at=${revision}` }, "Show this state"),
          app.isEditable ? h("button", { type: "button", class: "primary", id: "revert", onclick: () => revertEntry(app, revision) }, "Revert this entry…") : null),
        h("dl", { class: "facts" }, h("dt", {}, "Who"), h("dd", {}, author(entry.author)), h("dt", {}, "When"), h("dd", {}, when(entry)),
          entry.note ? [h("dt", {}, "Why"), h("dd", { class: "full" }, entry.note)] : null,
          Object.entries(entry.metadata ?? {}).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]),
          h("dt", {}, "Digest"), h("dd", { class: "digest" }, entry.digest)),
        h("h2", {}, counted(entry.eventCount, "change")), this.tail);
      this.append(found);
    } catch (error) { this.report(root, error); }
  }

  append(found) {
    const { revision } = this;
    for (const event of found.entry.events) this.tail.append(changeBlock(event, { label: found.labels[event.entity], before: revision - 1, after: revision }));
    const shown = found.offset + found.entry.events.length;
    if (shown >= found.entry.eventCount) return;
    this.tail.append(this.moreButton(counted(found.entry.eventCount - shown, "more change"), async (signal) => this.append(await get(`entries/r${revision}`, { offset: shown }, signal))));
  }
}

export class CompareView extends View {
  enter(root) {
    this.root = root;
    const { app } = this;
    const points = h("datalist", { id: "points" }, ["now", "yesterday", "1 hour ago", ...app.facts.tags.map((tag) => tag.name)].map((value) => h("option", { value })));
    const input = (name, label) => h("label", {}, label, " ", h("input", { type: "text", name, list: "points", autocomplete: "off", required: true }));
    this.form = h("form", { class: "toolbar", onsubmit: (event) => { event.preventDefault(); this.ask(); } }, input("from", "From"), input("to", "to"), points,
      h("button", { type: "submit", class: "primary" }, "Compare"), h("button", { type: "button", onclick: () => { const { from, to } = this.form.elements; [from.value, to.value] = [to.value, from.value]; this.ask(); } }, "Swap"));
    this.result = h("div", { id: "differences", "aria-live": "polite" });
    replace(root, h("h1", {}, "Compare"), h("p", { class: "faint" }, "A point in time is a revision (120), now, a date (2026-08-01), yesterday, “5 minutes ago” or a tag."), this.form, this.result);
    this.update();
  }

  ask() {
    const { from, to } = this.form.elements;
    this.app.navigate(`/compare?${new URLSearchParams({ from: from.value, to: to.value, ...(this.app.at === null ? { at: "now" } : {}) })}`);
  }

  update() {
    const parameters = this.app.parameters();
    const { from, to } = this.form.elements;
    from.value = parameters.get("from") ?? String(Math.max(this.app.revision - 1, this.app.facts.base ?? 0));
    to.value = parameters.get("to") ?? (this.app.at === null ? "now" : String(this.app.at));
    this.load(0, this.begin()).catch((error) => this.report(this.result, error));
  }

  async load(offset, signal) {
    const selector = (text) => (text.trim() === "now" ? "HEAD" : text.trim());
    const { from, to } = this.form.elements;
    if (this.app.facts.revision === 0) { replace(this.result, h("p", { class: "note" }, "This journal is empty: there is nothing to compare.")); return; }
    const found = await get("diff", { from: selector(from.value), to: selector(to.value), offset }, signal);
    const blocks = found.differences.map((change) => changeBlock(change, { label: found.labels[change.entity], before: found.from, after: found.to }));
    const shown = offset + found.differences.length;
    const more = shown < found.total ? this.moreButton(counted(found.total - shown, "more difference"), (signal) => this.load(shown, signal)) : null;
    if (offset === 0) {
      replace(this.result, h("div", { class: "heading" }, h("h2", {}, found.total ? counted(found.total, "difference") : "No differences"), h("span", { class: "faint" }, `revision ${found.from} → ${found.to}`), h("span", { class: "grow" }),
        this.app.isEditable && found.total && found.from < this.app.facts.revision ? h("button", { type: "button", onclick: () => restoreEverything(this.app, found.from) }, `Restore everything as of ${found.from}…`) : null), blocks, more);
    } else this.result.append(...blocks, ...(more ? [more] : []));
  }
}
