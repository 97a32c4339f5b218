// The page: connects, and shows the method that is chosen.

import { openEvents, perform, performHere } from "./api.js";
import { byId, element } from "./dom.js";
import { lastCalls, setUpTabs, showLists } from "./lists.js";
import { MethodView } from "./method_view.js";
import { Schema } from "./schema.js";
import { ServerDialog } from "./server_dialog.js";
import { setUpTheme } from "./theme.js";
import { filterTree, markChosen, moveInTree, showTree } from "./tree.js";

let about = {};
let server = null; // {id, schema, address, security, ...}
let dialog = null;
let views = new Map(); // by the path of the method
let current = null;

function showConnection(text, isFailure = false) {
  byId("connection").replaceChildren(element("span", { class: isFailure ? "failure" : "" }, text));
}

// Of the page of a server: it calls its own server, with what a method says.
function ownSettings() {
  const plaintext = location.protocol === "http:";
  const settings = { address: location.port ? location.host : `${location.host}:${plaintext ? 80 : 443}`, security: plaintext ? "plaintext" : "tls" };
  const shell = { own: true, other: [], givenHeaders: [], givenReflectHeaders: [], importDirs: [], protos: [], descriptorSets: [], uploaded: [] };
  return [settings, { shell, deadline: "", compression: "" }];
}

/** `calls` has what the methods begin with, and what lines for a shell need. Throws an Error. */
async function connect(settings, calls) {
  showConnection("Connecting …");
  let reached;
  try {
    reached = await performHere("connect", { settings });
  } catch (error) {
    showConnection(server ? serverText() : "Not connected", !server);
    throw error;
  }
  const chosen = current?.method.path;
  server = { ...settings, ...calls, id: reached.server, schema: new Schema(reached.schema), compressions: about.compressions };
  views = new Map();
  current = null;
  showTree(server.schema, choose);
  showConnection(serverText());
  if (chosen && server.schema.method(chosen)) choose(chosen);
  else byId("main").replaceChildren(welcome());
}

function serverText() {
  if (about.own) return `Calls ${location.host}, the server that this page is part of`;
  const how = { plaintext: "plaintext", unverified: "TLS, not verified" }[server.security] ?? "TLS";
  return `${server.address} (${how})`;
}

function welcome() {
  const count = server.schema.services.reduce((sum, service) => sum + service.methods.length, 0);
  const shortcuts = byId("shortcuts-dialog").querySelector("dl").cloneNode(true);
  return element("section", { id: "welcome" }, element("h2", {}, "Choose a method"),
                 element("p", { class: "quiet" }, count === 1 ? "The server has one method." : `The server has ${count} methods.`),
                 lastCalls((call) => server.schema.method(call.method), open),
                 element("section", { class: "shortcuts", "aria-label": "Shortcuts" }, element("h3", {}, "Shortcuts"), shortcuts));
}

function choose(path) {
  const method = server?.schema.method(path);
  if (!method) {
    showConnection(`The server has no method ${path}`, true);
    return;
  }
  if (!views.has(path)) views.set(path, new MethodView(server, method));
  current = views.get(path);
  byId("main").replaceChildren(current.node);
  markChosen(path);
  fold(true);
}

// Of the history, or of the saved calls.
function open(call) {
  choose(call.method);
  if (current?.method.path === call.method) current.load(call);
}

// On a narrow screen, where the tree stands above the method, it gives way to it.
function fold(on) {
  byId("fold").setAttribute("aria-expanded", String(!on));
  if (on && byId("fold").checkVisibility()) byId("main").scrollIntoView();
}

function setUpKeys() {
  byId("shortcuts").addEventListener("click", () => byId("shortcuts-dialog").showModal());
  byId("fold").addEventListener("click", () => fold(byId("fold").getAttribute("aria-expanded") === "true"));
  byId("filter").addEventListener("input", filterTree);
  byId("services").addEventListener("keydown", moveInTree);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") current?.callOrSend();
    else if ((event.ctrlKey || event.metaKey) && event.key === ".") current?.cancel();
    else if (event.key === "/" && !event.target.matches("input, textarea, select")) {
      fold(false);
      byId("services-tab").click();
      byId("filter").focus();
    } else return;
    event.preventDefault();
  });
}

async function begin() {
  setUpTheme();
  setUpTabs();
  setUpKeys();
  showLists(open);
  try {
    about = await perform("about");
    await openEvents(() => showConnection("The connection to the console was lost: load the page again", true));
  } catch (error) {
    showConnection(error.message, true);
    return;
  }
  if (!about.own) {
    dialog = new ServerDialog(about, connect);
    byId("connect").hidden = false;
    byId("connect").addEventListener("click", () => dialog.open());
  }
  try {
    if (about.own) await connect(...ownSettings());
    else if (about.given.address) await dialog.connectNow();
    else {
      showConnection("Not connected");
      dialog.open();
    }
  } catch (error) {
    if (dialog) dialog.open(error.message);
    else showConnection(error.message, true);
  }
}

begin();
