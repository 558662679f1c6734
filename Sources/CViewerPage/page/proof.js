// The newest digest, and how much of the history was checked.

import { get } from "./api.js";
import { View, counted, h, replace, sentence, time } from "./dom.js";

export class ProofView extends View {
  enter(root) { this.root = root; this.update(); }

  leave() { clearTimeout(this.timer); super.leave(); }

  async update() {
    clearTimeout(this.timer);
    let facts;
    try { facts = await get("journal", {}, this.begin()); } catch (error) { this.report(this.root, error); return; }
    const { health } = facts;
    const copy = h("button", { type: "button", id: "copy", onclick: async () => { await navigator.clipboard.writeText(facts.digest); copy.textContent = "Copied"; } }, "Copy");
    const isDone = health.checkedRevision >= health.lastRevision;
    replace(this.root, h("h1", {}, "Proof"),
      h("p", {}, "Each entry is sealed by a digest of its content and of the previous digest. Keep the newest digest elsewhere. It will reveal any change, loss or reordering of earlier entries."),
      h("dl", { class: "facts" }, h("dt", {}, "Newest entry"), h("dd", {}, facts.revision ? [`revision ${facts.revision.toLocaleString("en")}, `, time(facts.date)] : "none"),
        h("dt", {}, "Its digest"), h("dd", { class: "digest" }, facts.digest, " ", copy),
        h("dt", {}, "Checked"), h("dd", { id: "checked", class: health.problem ? "bad" : "" },
          health.problem ? sentence(health.problem.message)
            : facts.revision === 0 ? "there is nothing to check"
              : isDone ? `all ${counted(health.lastRevision, "entry", "entries")} that existed at opening were read, and are as committed`
                : `read up to entry ${health.checkedRevision.toLocaleString("en")} of ${health.lastRevision.toLocaleString("en")}, and all is well so far`),
        facts.base ? [h("dt", {}, "Pruned"), h("dd", {}, `history before revision ${facts.base} was removed`)] : null,
        h("dt", {}, "Journal"), h("dd", {}, facts.id)),
      h("p", { class: "faint" }, "journal verify reads everything, including images, layers and snapshots. Each item's page has a report that can be printed."));
    if (!health.problem && !isDone) this.timer = setTimeout(() => this.update(), 1000);
  }
}
