// The history, and the collections of saved calls, with their export and import.

import { ask } from "./ask.js";
import { button, byId, download, duration, element, shown } from "./dom.js";
import { exported, firstCollection, imported, past, saved } from "./store.js";

function timeOf(call) {
  const at = new Date(call.at);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

// What tells a call from others of the same method.
const excerpt = (call) => (call.messages.length > 1 ? `${call.messages.length} messages: ` : "") + (call.messages[0] ?? "").replace(/\s+/g, " ").slice(0, 200);

// Opens the call.
function callButton(call, open) {
  const method = call.method.split("/").pop();
  const name = call.name ?? method;
  const facts = call.status ? `${timeOf(call)}${call.ms > 0 ? ` · ${duration(call.ms)}` : ""}` : name === method ? "" : method;
  return element("button", { type: "button", class: "entry", title: call.method, onclick: () => open(call) }, name, " ",
                 call.status ? element("span", { class: `outcome ${call.status === "OK" ? "ok" : "not-ok"}` }, call.status) : null,
                 facts ? element("small", {}, facts) : null, element("small", { class: "excerpt" }, excerpt(call)));
}

function entry(list, call, open, more = null) {
  const remove = button("Remove", () => list.remove(call), { "aria-label": `Remove ${call.name ?? call.method.split("/").pop()}` });
  return element("li", {}, callButton(call, open), element("div", { class: "entry-actions" }, more, remove));
}

const lastShown = 5;

/** The last calls of the methods that `exists` knows, or null. */
export function lastCalls(exists, open) {
  const calls = past.calls.filter(exists).slice(0, lastShown);
  if (calls.length === 0) return null;
  return element("section", { "aria-label": "Last calls" }, element("h3", {}, "Last calls"),
                 element("ul", { class: "entries" }, ...calls.map((call) => element("li", {}, callButton(call, open)))));
}

function secretsBox() {
  const input = element("input", { type: "checkbox" });
  return { input, node: element("label", { class: "secrets" }, input, " export secret metadata too, such as authorization") };
}

function showHistory(open) {
  const secrets = secretsBox();
  const list = element("ul", { class: "entries" });
  const empty = element("p", { class: "quiet" }, "No call was made yet.");
  const actions = element("div", { class: "actions" }, button("Export", () => download("coracle-history.json", exported(past.calls, secrets.input.checked))),
                          button("Clear", () => past.clear()));
  byId("history").replaceChildren(actions, secrets.node, list, empty);
  const draw = () => {
    list.replaceChildren(...past.calls.map((call) => entry(past, call, open)));
    empty.hidden = past.calls.length > 0;
    actions.hidden = secrets.node.hidden = past.calls.length === 0;
  };
  past.listeners.push(draw);
  draw();
}

/** Asks for the name and the collection of a call that is saved. */
export function askForCall(name, take) {
  const collections = saved.names.length > 0 ? saved.names : [firstCollection];
  ask("Save the call", [{ label: "Name", value: name }, { label: "Collection", value: saved.lastUsed, options: collections }], "Save", (called, collection) => {
    saved.lastUsed = collection;
    take(called, collection);
  });
}

function collectionNode(name, open, secrets, closed) {
  const calls = saved.of(name);
  const others = (call) => saved.names.length < 2 ? null
    : element("select", { "aria-label": `Collection of ${call.name}`, title: "Moves the call to another collection", onchange: (event) => saved.move(call, event.target.value) },
              ...saved.names.map((one) => element("option", { value: one, selected: one === name }, one)));
  const fileName = `coracle-${name.replace(/[^\w-]+/g, "-")}.json`;
  return element("details", { class: "collection", open: !closed.has(name), ontoggle: (event) => closed[event.target.open ? "delete" : "add"](name) },
    element("summary", {}, name, " ", element("small", {}, String(calls.length))),
    element("div", { class: "actions" },
      button("Export", () => download(fileName, exported(calls, secrets.input.checked)), { "aria-label": `Export ${name}` }),
      button("Rename …", () => ask("Rename the collection", [{ label: "Name", value: name }], "Rename", (to) => saved.rename(name, to)), { "aria-label": `Rename ${name}` }),
      button("Delete …", () => ask(`Delete ${name} with ${calls.length === 1 ? "its call" : `its ${calls.length} calls`}?`, [], "Delete", () => saved.removeCollection(name)), { "aria-label": `Delete ${name}` })),
    element("ul", { class: "entries" }, ...calls.map((call) => entry(saved, call, open, others(call)))));
}

function showSaved(open) {
  const secrets = secretsBox();
  const failure = element("p", { class: "failure", role: "alert" });
  const file = element("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "File to import", onchange: async () => {
    failure.textContent = "";
    try {
      saved.addImported(imported(await file.files[0].text()));
    } catch (error) {
      failure.textContent = shown(error.message);
    }
    file.value = "";
  } });
  const empty = element("p", { class: "quiet" }, "No call is saved yet: a method has Save …");
  const exportAll = button("Export all", () => download("coracle-console.json", exported(saved.calls, secrets.input.checked)));
  const list = element("div", {});
  byId("saved").replaceChildren(
    element("div", { class: "actions" }, button("New collection …", () => ask("New collection", [{ label: "Name", value: "" }], "Create", (name) => saved.create(name))),
            button("Import …", () => file.click()), exportAll, file),
    secrets.node, failure, list, empty);
  const closed = new Set();
  const draw = () => {
    list.replaceChildren(...saved.names.map((name) => collectionNode(name, open, secrets, closed)));
    empty.hidden = saved.names.length > 0;
    exportAll.hidden = secrets.node.hidden = saved.calls.length === 0;
  };
  saved.listeners.push(draw);
  draw();
}

/** `open` gets a call that the user has chosen. */
export function showLists(open) {
  showHistory(open);
  showSaved(open);
}

export function setUpTabs() {
  const tabs = [...document.querySelectorAll('nav [role="tab"]')];
  const choose = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
  };
  for (const tab of tabs) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
  }
  choose(tabs[0]);
}
