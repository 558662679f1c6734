// Restoring: a preview of the changes, then one entry, then an offer to undo it.

import { post } from "./api.js";
import { changeBlock, fieldName } from "./changes.js";
import { author, counted, h, openDialog, replace, sentence, subject, when } from "./dom.js";

export function restoreItems(app, numbers, at, done) { propose(app, `Restore ${counted(numbers.length, "item")} as of revision ${at}`, "restore", { entities: numbers.map((number) => `item:${number}`), at: `r${at}` }, done); }
export function restoreEntity(app, name, at) { propose(app, `Restore ${name} as of revision ${at}`, "restore", { entities: [name], at: `r${at}` }); }
export function restoreField(app, name, field, at) { propose(app, `Restore ${fieldName(field)} of ${name} as of revision ${at}`, "restore", { entities: [name], fields: [field], at: `r${at}` }); }
export function restoreEverything(app, at) { propose(app, `Restore everything as of revision ${at}`, "restore", { all: true, at: `r${at}` }); }
export function revertEntry(app, revision) { propose(app, `Revert entry ${revision}`, "revert", { revision }); }

/** Previews a request, and carries it out after confirmation. */
async function propose(app, title, path, request, done = () => {}) {
  const content = h("div", { class: "preview" }, h("p", { class: "note" }, "Computing what would change…"));
  const note = h("input", { type: "text", placeholder: "Why (optional)", "aria-label": "Why" });
  const confirm = h("button", { type: "button", class: "primary", id: "confirm", disabled: true }, "Commit");
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const keep = h("input", { type: "checkbox", id: "keep-new", onchange: () => { request.keepNew = keep.checked; preview(); } });
  const keeps = path === "restore" && !request.fields ? h("label", { class: "check" }, keep, "Keep what was added since") : null;
  const dialog = openDialog(title, content, keeps, h("div", { class: "bar actions" }, note, cancel, confirm));
  let plan = null;
  let turn = 0;

  const preview = async () => {
    turn += 1;
    const mine = turn;
    confirm.disabled = true;
    try {
      const found = await post(path, { ...request, dryRun: true });
      if (mine !== turn) return;
      plan = found;
    } catch (error) {
      if (mine === turn) replace(content, h("p", { class: "note bad" }, sentence(error.message)));
      return;
    }
    const isBlocked = plan.conflicts.length > 0;
    const choose = (later, text) => h("button", { type: "button", onclick: () => { request.later = later; preview(); } }, text);
    replace(content,
      h("p", {}, plan.changes.length ? (isBlocked ? "Overriding what conflicts: " : "") + counted(plan.changes.length, "entity would change", "entities would change") + ":" : "There is nothing to do: everything is already as requested."),
      plan.changes.slice(0, 50).map((change) => changeBlock(change, { label: plan.labels[change.entity] })),
      plan.changes.length > 50 ? h("p", { class: "faint" }, `… and ${counted(plan.changes.length - 50, "more")}`) : null,
      edits(plan.undoes, "Later edits that it would undo"), edits(plan.conflicts, "Conflicting later edits"),
      plan.problem ? h("p", { class: "note bad" }, sentence(plan.problem)) : null,
      isBlocked ? h("div", { class: "bar" }, path === "restore" ? null : choose("keep", "Keep them, revert the rest"), choose("override", path === "restore" ? "Delete what was added since" : "Override them")) : null);
    confirm.disabled = isBlocked || Boolean(plan.problem) || plan.changes.length === 0;
    if (!confirm.disabled && document.activeElement !== keep) confirm.focus();
  };

  confirm.addEventListener("click", async () => {
    confirm.disabled = true;
    try {
      const made = await post(path, { ...request, plan: plan.plan, ...(note.value ? { note: note.value } : {}) });
      dialog.close();
      done();
      app.setPoint(null);
      await app.refresh();
      toast(app, `Entry ${made.revision}: ${note.value || made.note}`, true);
    } catch (error) {
      // If the journal takes no more commits, `refresh` shows it.
      if (error.status >= 500) app.refresh().catch(() => {});
      replace(content, h("p", { class: "note bad" }, sentence(error.message)), error.status === 409 ? h("button", { type: "button", onclick: preview }, "Preview again") : null);
    }
  });
  preview();
}

function edits(list, title) {
  if (!list.length) return null;
  return h("section", { class: "edits" }, h("h3", {}, title), h("ul", {}, list.slice(0, 20).map((edit) => h("li", {},
    h("a", { href: `/entries/${edit.revision}` }, `entry ${edit.revision}`), ", ", when(edit), ", ", author(edit.author), ` ${edit.entity} ${edit.fields.map(fieldName).join(", ")} `, h("span", { class: "faint" }, subject(edit.note))))),
    list.length > 20 ? h("p", { class: "faint" }, `… and ${list.length - 20} more`) : null);
}

export function toast(app, text, offersUndo) {
  const undo = offersUndo ? h("button", { type: "button", id: "undo", onclick: async () => {
    element.remove();
    try {
      const done = await post("undo", {});
      await app.refresh();
      toast(app, `Entry ${done.revision}: ${done.note}`, false);
    } catch (error) { toast(app, sentence(error.message), false); }
  } }, "Undo") : null;
  const element = h("div", { class: "toast" }, h("span", {}, text), undo, h("button", { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: () => element.remove() }, "✕"));
  document.getElementById("toasts").replaceChildren(element);
  if (!offersUndo) setTimeout(() => element.remove(), 8000);
}
