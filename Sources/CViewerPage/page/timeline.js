// The entries by time and author. Dragging moves through time; dragging on the strip below zooms.

import { get } from "./api.js";
import { author, authorText, h, replace, subject, time, when } from "./dom.js";

const width = 1000;
const height = 64;

export class Timeline {
  constructor(root, app) {
    Object.assign(this, { root, app, range: null, whole: null, shown: null, revision: 0, pending: null });
    root.hidden = false;
    this.chart = h("svg:svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.head = h("div", { class: "playhead" });
    this.flags = h("div", { class: "flags" });
    this.slider = h("div", {
      class: "scrubber", id: "scrubber", role: "slider", tabindex: "0", "aria-label": "Revision", "aria-valuemin": "0",
    }, this.chart, this.head);
    this.overview = h("svg:svg", { class: "overview", viewBox: `0 0 ${width} 16`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.window = h("div", { class: "window" });
    this.brush = h("div", { class: "brush", title: "Drag to zoom" }, this.overview, this.window);
    this.text = h("span", { class: "where", id: "where" });
    this.live = h("span", { class: "live", id: "live-mark", title: "New entries are shown as they are committed" }, "live");
    this.zoomOut = h("button", { type: "button", id: "zoom-out", onclick: () => this.zoom(null), hidden: true }, "Whole history");
    this.legend = h("div", { class: "legend" });
    const step = (count, label, text) => h("button", { type: "button", "aria-label": label, title: label, onclick: () => this.step(count) }, text);
    replace(root,
      h("div", { class: "controls" }, step(-1, "Previous entry", "‹"), step(1, "Next entry", "›"), this.text, h("span", { class: "grow" }), this.zoomOut, this.live),
      h("div", { class: "plot" }, this.flags, this.slider), this.brush,
      h("div", { class: "axis" }, this.from = h("span"), this.legend, this.to = h("span")));
    this.listen();
    new ResizeObserver(() => this.showFlags()).observe(this.slider);
    this.refresh();
  }

  listen() {
    const at = (event, element) => {
      const box = element.getBoundingClientRect();
      return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    };
    this.slider.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.slider.setPointerCapture(event.pointerId);
      this.isDragging = true;
      this.app.setPoint(this.revisionAt(at(event, this.slider)));
    });
    this.slider.addEventListener("pointermove", (event) => {
      if (!this.isDragging) return;
      this.pending = this.revisionAt(at(event, this.slider));
      // The point changes at most once in each frame.
      if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.app.setPoint(this.pending, { replaces: true }); });
    });
    const end = () => { this.isDragging = false; };
    this.slider.addEventListener("pointerup", end);
    this.slider.addEventListener("pointercancel", end);
    let first = null;
    this.brush.addEventListener("pointerdown", (event) => { first = at(event, this.brush); this.brush.setPointerCapture(event.pointerId); });
    this.brush.addEventListener("pointermove", (event) => {
      if (first === null) return;
      const second = at(event, this.brush);
      this.showWindow(Math.min(first, second), Math.max(first, second));
    });
    this.brush.addEventListener("pointerup", (event) => {
      const [low, high] = [first, at(event, this.brush)].sort((a, b) => a - b);
      first = null;
      if (!this.whole?.from) return;
      if (high - low < 0.005) { this.zoom(null); return; }
      const [from, to] = [Date.parse(this.whole.from), Date.parse(this.whole.to)];
      this.zoom([from + low * (to - from), from + high * (to - from)]);
    });
  }

  /** Shows a range of time in milliseconds; null for all. */
  zoom(range) { this.range = range; this.zoomOut.hidden = !range; this.refresh(); }

  async refresh() {
    if (this.isLoading) { this.isStale = true; return; }
    this.isLoading = true;
    try {
      this.whole = await get("timeline", { buckets: 200 });
      this.shown = this.range
        ? await get("timeline", { buckets: 200, from: new Date(this.range[0]).toISOString(), to: new Date(this.range[1]).toISOString() })
        : this.whole;
      this.draw();
      // The server is still reading the history.
      if (this.whole.through < this.whole.newest) setTimeout(() => this.refresh(), 200);
    } catch { /* Repeated when the next entry arrives. */ }
    this.isLoading = false;
    if (this.isStale) { this.isStale = false; this.refresh(); }
  }

  draw() {
    const { shown, whole } = this;
    const total = (bucket) => bucket.counts.reduce((sum, count) => sum + count, bucket.unreadable ?? 0);
    const most = Math.max(1, ...shown.buckets.map(total));
    const bars = [];
    const each = width / shown.bucketCount;
    for (const bucket of shown.buckets) {
      const all = total(bucket);
      // The height of a bar is the square root of its count, so that one entry is visible next to thousands.
      const full = Math.max(3, Math.sqrt(all / most) * height);
      let y = height;
      [...bucket.counts, bucket.unreadable ?? 0].forEach((count, index) => {
        if (!count) return;
        const part = (full * count) / all;
        y -= part;
        const place = index < shown.authors.length ? index : index < bucket.counts.length ? "others" : "unreadable";
        bars.push(h("svg:rect", { class: `author-${place}`, x: bucket.bucket * each, y, width: Math.max(each - 0.8, 1), height: part }));
      });
    }
    replace(this.chart, bars);
    const mostOfAll = Math.max(1, ...whole.buckets.map(total));
    replace(this.overview, whole.buckets.map((bucket) => {
      const tall = Math.max(2, Math.sqrt(total(bucket) / mostOfAll) * 16);
      return h("svg:rect", { x: bucket.bucket * (width / whole.bucketCount), y: 16 - tall, width: Math.max(width / whole.bucketCount - 0.6, 1), height: tall });
    }));
    if (this.range && whole.from) {
      const [from, to] = [Date.parse(whole.from), Date.parse(whole.to)];
      this.showWindow((this.range[0] - from) / (to - from || 1), (this.range[1] - from) / (to - from || 1));
    } else this.showWindow(0, 1);
    replace(this.from, time(shown.from, true));
    replace(this.to, time(shown.to, true));
    replace(this.legend,
      shown.authors.map((name, index) => h("span", { class: "key" }, h("i", { class: `swatch author-${index}` }), authorText(name))),
      shown.others ? h("span", { class: "key" }, h("i", { class: "swatch author-others" }), "others") : null,
      shown.buckets.some((bucket) => bucket.unreadable) ? h("span", { class: "key" }, h("i", { class: "swatch author-unreadable" }), "can’t be read") : null);
    this.showFlags();
    this.setRevision(this.revision);
  }

  /** Shows a flag for each tag, without its name if the next flag is too close. */
  showFlags() {
    const room = this.slider.clientWidth;
    const tags = [...this.app.facts.tags].map((tag) => [tag, this.placeOf(tag.revision)]).filter(([, place]) => place !== null)
      .sort((a, b) => a[1] - b[1]);
    replace(this.flags, tags.map(([tag, place], index) => {
      const next = tags[index + 1]?.[1] ?? 2;
      const isNarrow = (next - place) * room < 20 + 7 * Math.min(tag.name.length, 17);
      return h("button", {
        type: "button", class: "flag", style: { left: `${place * 100}%` }, title: `${tag.name}: revision ${tag.revision}`,
        "aria-label": tag.name, onclick: () => this.app.setPoint(tag.revision),
      }, isNarrow ? "⚑" : `⚑ ${tag.name}`);
    }));
  }

  showWindow(low, high) {
    this.window.style.left = `${low * 100}%`;
    this.window.style.width = `${(high - low) * 100}%`;
  }

  /** The position of a revision, from 0 to 1; null if the revision is not shown. */
  placeOf(revision) {
    const buckets = this.shown?.buckets ?? [];
    const bucket = buckets.find((bucket) => bucket.first <= revision && revision <= bucket.last);
    if (!bucket) return revision === 0 && !this.range ? 0 : null;
    return (bucket.bucket + (revision - bucket.first + 0.5) / (bucket.last - bucket.first + 1)) / this.shown.bucketCount;
  }

  /** The newest revision at or left of a position, which is from 0 to 1. */
  revisionAt(place) {
    const buckets = this.shown?.buckets ?? [];
    const exact = place * (this.shown?.bucketCount ?? 1);
    let found = null;
    for (const bucket of buckets) if (bucket.bucket <= exact) found = bucket;
    if (!found) return buckets.length ? buckets[0].first - 1 : 0;
    if (exact >= found.bucket + 1) return found.last;
    const count = found.last - found.first + 1;
    return Math.min(found.last, found.first + Math.floor((exact - found.bucket) * count));
  }

  setRevision(revision) {
    this.revision = revision;
    const place = this.placeOf(revision);
    this.head.hidden = place === null;
    if (place !== null) this.head.style.left = `${place * 100}%`;
    this.slider.setAttribute("aria-valuemax", this.app.facts.revision);
    this.slider.setAttribute("aria-valuenow", revision);
    this.slider.setAttribute("aria-valuetext", `revision ${revision} of ${this.app.facts.revision}`);
    if (this.app.facts.revision === 0) replace(this.text, "This journal is empty.");
  }

  setPoint(entry) {
    const { facts, at } = this.app;
    if (facts.revision === 0) return;
    replace(this.text, h("strong", {}, at === null ? "Now" : `Revision ${at.toLocaleString("en")}`),
      at === null ? `, revision ${facts.revision.toLocaleString("en")}` : ` of ${facts.revision.toLocaleString("en")}`,
      entry ? [" · ", when(entry), " · ", author(entry.author), entry.note ? h("span", { class: "subject" }, " " + subject(entry.note)) : null] : null);
    if (entry) this.slider.setAttribute("aria-valuetext", `revision ${entry.revision} of ${facts.revision}, ${authorText(entry.author)}, ${subject(entry.note ?? "")}`);
  }

  setLive(isLive) {
    this.live.classList.toggle("on", isLive);
    this.live.textContent = isLive ? "live" : "not connected";
  }

  step(count) { this.app.setPoint(this.app.revision + count); }

  handleKey(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -100, PageDown: 100 };
    const isHere = document.activeElement === this.slider;
    if ((event.key === "ArrowLeft" || event.key === "ArrowRight") || (isHere && steps[event.key])) {
      this.step(steps[event.key] * (event.shiftKey ? 10 : 1));
      return true;
    }
    if (event.key === "Home" && (isHere || document.activeElement === document.body)) { this.app.setPoint((this.app.facts.base ?? 0) + 1); return true; }
    if (event.key === "End" && (isHere || document.activeElement === document.body)) { this.app.setPoint(null); return true; }
    return false;
  }
}
