// The list of items, of any length. Only visible rows have elements.

import { get, imageURL } from "./api.js";
import { View, author, brief, counted, debounce, h, replace, sentence, time } from "./dom.js";
import { restoreItems } from "./edit.js";

const pageCount = 60;
/** The maximum height of the list in pixels: browsers limit the height of elements. A longer list scrolls faster. */
const tallest = 8_000_000;
/** The maximum number of items in a list that can be selected as a whole. */
const mostChosen = 5000;

export class ItemsView extends View {
  constructor(app) { super(app, { pages: new Map(), asked: new Map(), total: 0, selection: null }); }

  get query() {
    const parameters = this.app.parameters();
    const value = (name) => parameters.get(name) ?? "";
    return { words: value("words"), kind: value("kind"), category: value("category"), sort: value("sort"), where: parameters.getAll("where"), among: value("among") };
  }

  enter(root) {
    const set = (name) => (event) => this.set(name, event.target.value);
    this.search = h("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search", title: "Words in any order, and \"phrases\". The last word may be its beginning.", autocomplete: "off", oninput: debounce(200, () => { if (this.query.among !== "ever") this.set("words", this.search.value); }), onchange: () => this.set("words", this.search.value) });
    this.kind = h("select", { "aria-label": "Kind", onchange: set("kind") });
    this.category = h("select", { "aria-label": "Category", onchange: set("category") });
    this.sort = h("select", { "aria-label": "Sort", onchange: set("sort") });
    this.filter = h("input", { type: "text", class: "filter", id: "filter", placeholder: "stars>=4", "aria-label": "Filter: field, sign, value", title: "FIELD=VALUE, also != < <= > >= and ^= (begins with); FIELD=null if it is missing", onchange: () => this.set("where", this.filter.value) });
    this.among = h("select", { "aria-label": "Search among", id: "among", onchange: set("among") }, h("option", { value: "" }, "what is there"), h("option", { value: "deleted" }, "deleted"), h("option", { value: "ever" }, "ever"));
    this.select = h("button", { type: "button", id: "select", hidden: !this.app.isEditable, onclick: () => this.setSelection(this.selection ? null : []) });
    this.chosen = h("div", { class: "bar selection", role: "group", "aria-label": "Selection" });
    this.count = h("span", { class: "faint", role: "status" });
    this.space = h("div", { class: "space" });
    this.scroller = h("div", { class: "scroller", tabindex: "0", "aria-label": "Items", role: "region" }, this.space);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
    replace(root,
      h("div", { class: "toolbar" }, this.search, this.kind, this.category, this.sort, this.filter, this.select,
        this.among, h("span", { class: "grow" }), this.count), this.chosen,
      this.message = h("p", { class: "note", hidden: true }), this.scroller);
    this.scroller.addEventListener("keydown", (event) => this.moveFocus(event));
    this.update();
  }

  leave() { this.observer.disconnect(); super.leave(); }

  set(name, value) { this.app.setParameter(name, value, { replaces: name === "words" }); }

  /** Selects the items with these numbers. Null ends the selection. */
  setSelection(numbers) {
    this.selection = numbers && new Set(numbers);
    this.showSelection();
    this.draw();
  }

  showSelection() {
    const { app, selection, total } = this;
    this.select.textContent = selection ? "Cancel" : "Select";
    this.chosen.hidden = !selection;
    if (!selection) return;
    const focused = this.chosen.contains(document.activeElement) ? document.activeElement.id : "";
    replace(this.chosen, h("span", { role: "status" }, `${counted(selection.size, "item")} selected`),
      total <= mostChosen ? h("button", { type: "button", id: "select-all", onclick: () => this.selectAll() }, "All in the list") : null,
      app.at === null ? h("span", { class: "faint" }, "Go to the point in time to restore them to, on the timeline or with ←.")
        : h("button", { type: "button", id: "restore-selection", class: "primary", disabled: !selection.size, onclick: () => restoreItems(app, [...selection], app.at, () => this.setSelection(null)) }, `Restore them as of revision ${app.at}…`));
    if (focused) document.getElementById(focused)?.focus();
  }

  async selectAll() {
    const numbers = [...this.selection];
    const { total } = this;
    try {
      for (let offset = 0; offset < total;) {
        const { items } = await get("items", { ...this.parameters, offset, limit: 500 });
        if (!items.length) break;
        numbers.push(...items.map((item) => item.id));
        offset += items.length;
      }
    } catch (error) { this.fail(error); return; }
    if (this.selection) this.setSelection(numbers);
  }

  update() {
    const { query } = this;
    this.showSelection();
    if (document.activeElement !== this.search) this.search.value = query.words;
    if (document.activeElement !== this.filter) this.filter.value = query.where.join(" ");
    this.among.value = query.among;
    const filters = JSON.stringify(query);
    if (filters !== this.filters) { this.filters = filters; this.scroller.scrollTop = 0; }
    // The old rows stay until new ones arrive.
    this.generation = (this.generation ?? 0) + 1;
    this.asked.clear();
    this.begin();
    const isPast = query.among !== "";
    // Deleted entities and past states can be searched only by words and kind.
    for (const control of [this.category, this.sort, this.filter]) control.hidden = isPast;
    this.select.hidden = isPast || !this.app.isEditable;
    if (isPast) { this.kind.hidden = this.kind.options.length < 2; this.showPast(); return; }
    this.load(this.firstShown ? Math.floor(this.firstShown / pageCount) : 0, true);
  }

  /** The parameters of the request, without the page. */
  get parameters() {
    const { app, query } = this;
    const name = query.words.trim();
    const asked = /^\w+:\d+$/.test(name) ? { text: name } : { words: this.pattern };
    return { at: app.at === null ? undefined : `r${app.at}`, ...asked, kind: query.kind, category: query.category, sort: query.sort, where: query.where };
  }

  /** The words to search for. The last word may be unfinished, because results are shown while a person types. */
  get pattern() {
    const { words } = this.query;
    return /[^\s"*]$/u.test(words) ? `${words}*` : words;
  }

  async load(page, isNew = false) {
    const generation = this.generation;
    if (this.asked.has(page)) return;
    this.asked.set(page, true);
    // If items are large, a response has only the first items of the page. The next request continues after them.
    const part = this.shownGeneration === generation ? this.pages.get(page) : null;
    const known = part?.complete ? part.items : [];
    let found;
    try {
      found = await get("items", { ...this.parameters, offset: page * pageCount + known.length, limit: pageCount - known.length }, this.request.signal);
    } catch (error) {
      if (error.name !== "AbortError" && generation === this.generation) this.fail(error);
      return;
    }
    if (generation !== this.generation) return;
    if (this.shownGeneration !== generation) { this.shownGeneration = generation; this.pages.clear(); }
    this.message.hidden = true;
    if (found.complete && found.items.length) this.asked.delete(page);
    if (known.length) found = { ...found, items: [...known, ...found.items], labels: { ...part.labels, ...found.labels } };
    this.pages.set(page, found);
    this.total = found.total;
    if (isNew) { this.showGroups(found); this.showSelection(); }
    this.showCount(found);
    this.draw();
    // If the search has not ended, the next request continues it.
    if (found.complete) return;
    setTimeout(() => {
      if (generation !== this.generation) return;
      this.asked.delete(page);
      this.load(page);
    }, 30);
  }

  fail(error) {
    this.message.hidden = false;
    this.message.textContent = sentence(error.message);
    this.pages.clear();
    this.total = 0;
    this.draw();
  }

  showGroups(found) {
    const { query } = this;
    const option = (value, text) => h("option", { value }, text);
    const fill = (select, chosen, options) => {
      if (document.activeElement === select && select.options.length) return;
      replace(select, options.map(([value, text]) => option(value, text)));
      select.value = chosen;
      select.hidden = options.length < 2;
    };
    const count = (group) => (group.count === undefined ? "" : ` (${group.count.toLocaleString("en")})`);
    fill(this.kind, query.kind, [["", "All kinds"], ...found.kinds.map((kind) => [kind.kind, kind.kind + count(kind)])]);
    fill(this.category, query.category, [["", "All categories"], ...found.categories.map((category) => [String(category.id), category.name + count(category)])]);
    this.categories = new Map(found.categories.map((category) => [category.id, category]));
    // The server lists at most 200 categories. If it lists all, a category that it does not list was erased.
    this.hasAllCategories = found.categories.length < 200;
    const names = new Set(found.items.flatMap((item) => Object.keys(item.attributes)));
    const sorts = [["", "By number"], ["-@modified", "Last changed"], ["-@created", "Last added"], ...[...names].sort().slice(0, 40).flatMap((name) => [[name, `${name} ↑`], [`-${name}`, `${name} ↓`]])];
    if (query.sort && !sorts.some(([value]) => value === query.sort)) sorts.push([query.sort, query.sort]);
    fill(this.sort, query.sort, sorts);
  }

  showCount(found) {
    const { query } = this;
    this.scroller.hidden = found.total === 0;
    this.count.textContent = counted(found.total, "item") + (found.complete ? "" : " so far…");
    if (found.total === 0) {
      this.message.hidden = false;
      if (!found.complete) { this.message.textContent = "Searching…"; return; }
      const isFiltered = query.words || query.kind || query.category || query.where.length;
      this.message.textContent = isFiltered ? "Nothing was found here. It may have been deleted, or exist at another point in time."
        : this.app.facts.revision === 0 ? "This journal is empty. New entries will appear here." : "There are no items at this point in time.";
    }
  }

  /** Shows what a search among deleted entities, or in all past states, finds. */
  async showPast() {
    const generation = this.generation;
    const isEver = this.query.among === "ever";
    this.count.textContent = "Searching…";
    try {
      const { at, text, words, kind } = this.parameters;
      const { found, more } = await get("find", { [this.query.among]: 1, at, text, words, kind, limit: 200 }, this.request.signal);
      if (generation !== this.generation) return;
      this.total = 0;
      this.pages.clear();
      this.count.textContent = (more ? "more than " : "") + (isEver ? counted(found.length, "entity", "entities") : counted(found.length, "deleted entity", "deleted entities"));
      this.message.hidden = found.length > 0;
      this.scroller.hidden = found.length === 0;
      this.message.textContent = isEver ? "Nothing was found in any state." : "No such entity was deleted.";
      replace(this.space, found.map((entity) => this.pastRow(entity)));
      this.space.style.height = "";
    } catch (error) {
      if (error.name === "AbortError") return;
      this.count.textContent = "";
      this.fail(error);
    }
  }

  /** The row of an entity that a search among deleted entities, or in all past states, has found. */
  pastRow(entity) {
    const { periods } = entity;
    const end = periods?.at(-1).end;
    const content = [h("span", { class: "label" }, entity.label ?? entity.entity), h("span", { class: "entity" }, entity.entity), h("span", { class: "faint" }, entity.kind),
      periods ? h("span", { class: "faint" }, time(periods[0].start.date, true), " ", author(periods[0].start.author), " – ", end ? time(end.date, true) : this.app.at === null ? "now" : `revision ${this.app.at}`) : null];
    return entity.entity.startsWith("item:")
      ? h("a", { class: "row static", href: `/items/${entity.entity.slice(5)}` }, content)
      : h("div", { class: "row static" }, content);
  }

  get rowHeight() { return parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row-height")); }

  draw() {
    if (this.query.among) return;
    const { rowHeight } = this;
    const room = this.scroller.clientHeight;
    const full = this.total * rowHeight;
    const tall = Math.min(full, tallest);
    this.space.style.height = `${tall}px`;
    const top = this.scroller.scrollTop;
    const seen = Math.ceil(room / rowHeight) + 1;
    let first = Math.floor(top / rowHeight);
    let shift = first * rowHeight;
    if (full > tall) {
      first = Math.round((top / (tall - room)) * Math.max(0, this.total - seen + 1));
      shift = top;
    }
    first = Math.max(0, Math.min(first, this.total - 1));
    this.firstShown = first;
    const elements = [];
    for (let index = first; index < Math.min(this.total, first + seen); index += 1) {
      const page = this.pages.get(Math.floor(index / pageCount));
      const item = page?.items[index % pageCount];
      if (!item) this.load(Math.floor(index / pageCount));
      const place = { top: `${shift + (index - first) * rowHeight}px` };
      elements.push(item ? this.row(item, page, place) : h("div", { class: "row", style: place }));
    }
    const focused = document.activeElement?.dataset?.item;
    replace(this.space, elements);
    if (focused) this.space.querySelector(`[data-item="${focused}"]`)?.focus({ preventScroll: true });
  }

  thumbnail(item) {
    if (!item.images.length) return h("span", { class: "thumb", "aria-hidden": "true" });
    return h("img", { class: "thumb", src: imageURL(item.images[0], `${this.app.revision}`), alt: "", loading: "lazy", onerror: (event) => event.target.replaceWith(h("span", { class: "thumb" })) });
  }

  chip(item) {
    const category = this.categories?.get(item.category);
    if (!item.category) return null;
    return h("span", { class: "chip" }, h("i", { class: "swatch", style: category?.color ? { background: category.color } : {} }), category?.name ?? `category:${item.category}${this.hasAllCategories ? " (erased)" : ""}`);
  }

  row(item, page, place) {
    const name = `item:${item.id}`;
    const label = page.labels[name] ?? name;
    const rest = Object.entries(item.attributes).filter(([, value]) => value !== label).slice(0, 4)
      .map(([key, value]) => `${key}: ${brief(value).slice(0, 60)}`).join(" · ");
    return this.place(item, place,
      this.thumbnail(item), h("span", { class: "label" }, label), h("span", { class: "rest" }, rest),
      this.chip(item), h("span", { class: "kind" }, item.kind));
  }

  /** The row of an item: a link or, while items are being selected, a checkbox. */
  place(item, style, ...content) {
    const { selection } = this;
    if (!selection) return h("a", { class: "row", href: `/items/${item.id}`, style, "data-item": item.id }, content);
    const box = h("input", { type: "checkbox", "data-item": item.id, checked: selection.has(item.id), onchange: () => {
      if (box.checked) selection.add(item.id); else selection.delete(item.id);
      this.showSelection();
    } });
    return h("label", { class: "row", style }, box, content);
  }

  moveFocus(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const rows = [...this.space.querySelectorAll("[data-item]")];
    const index = rows.indexOf(document.activeElement);
    const next = index < 0 ? rows[0] : rows[index + step];
    if (!next) { this.scroller.scrollTop += step * this.rowHeight; return; }
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
}
