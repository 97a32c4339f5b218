// The history, and the saved calls with their export and import.

import { button, byId, download, element } from "./dom.js";
import { exported, imported, past, saved } from "./store.js";

function entry(list, call, open) {
  const name = call.name ?? call.method.split("/").pop();
  const facts = [call.status, call.at && new Date(call.at).toLocaleTimeString()].filter(Boolean).join(" · ");
  return element("li", {},
    element("button", { type: "button", class: "entry", title: call.method, onclick: () => open(call) }, name,
            element("small", {}, call.name ? call.method : "", " ", facts)),
    button("Remove", () => list.remove(call), { "aria-label": `Remove ${name}` }));
}

export function showLists(open) {
  const history = byId("history");
  const drawHistory = () => history.replaceChildren(
    element("div", { class: "actions" }, button("Clear", () => past.clear())),
    element("ul", { class: "entries" }, ...past.calls.map((call) => entry(past, call, open))),
    past.calls.length === 0 ? element("p", { class: "quiet" }, "Calls that were made stand here.") : "");
  past.listeners.push(drawHistory);
  drawHistory();

  const panel = byId("saved");
  const secrets = element("input", { type: "checkbox" });
  const failure = element("p", { class: "failure", role: "alert" });
  const file = element("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "File to import", onchange: async () => {
    failure.textContent = "";
    try {
      for (const call of imported(await file.files[0].text()).reverse()) saved.add(call);
    } catch (error) {
      failure.textContent = error.message;
    }
    file.value = "";
  } });
  const list = element("ul", { class: "entries" });
  panel.replaceChildren(
    element("div", { class: "actions" }, button("Export", () => download("coracle-console.json", exported(saved.calls, secrets.checked))),
            button("Import …", () => file.click()), file),
    element("label", { class: "secrets" }, secrets, " with secrets (authorization and the like)"), failure, list);
  const drawSaved = () => list.replaceChildren(...saved.calls.map((call) => entry(saved, call, open)));
  saved.listeners.push(drawSaved);
  drawSaved();
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
