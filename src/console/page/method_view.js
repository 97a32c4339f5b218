// One method: its request, the calls that are made of it, and what they return.

import { listen, performHere } from "./api.js";
import { button, coloredJson, copyText, download, duration, element, indentedJson, shown, uniqueId } from "./dom.js";
import { Editor } from "./editor.js";
import { Form } from "./form.js";
import { coracleLine, curlLine, filesWithoutFolders, pairOf, requestText } from "./lines.js";
import { kindOf } from "./schema.js";
import { askForCall } from "./lists.js";
import { isSecret, past, saved } from "./store.js";

const messagesShown = 1000; // of one call; the oldest go first
const wrongShown = 8;
let lastCall = 0;

export class MethodView {
  /** `server` is the one that is connected at the moment: the settings of the dialog, {id, schema, compressions}, and what calls begin with. */
  constructor(server, method) {
    this.server = server;
    this.method = method;
    this.call = null; // that runs
    this.lastStatus = "OK"; // of the last call; what a request file expects
    this.queued = []; // the further messages of a call that was loaded
    this.lostFocus = false; // whether the control that had the focus is hidden
    this.follows = false; // whether the next frame scrolls to the last message
    this.editor = new Editor(server.schema, method.input, () => this.editorChanged());
    this.form = new Form(server.schema, method.input, (value) => this.formChanged(value));
    this.node = element("article", { "aria-label": method.path }, this.heading(), element("div", { class: "panes" }, this.request(), this.response()));
    this.text = JSON.stringify(server.schema.template(method.input), null, 2);
    this.deadline.value = server.deadline;
    this.compression.value = server.compression;
    this.update();
  }

  // --- the parts of the page

  heading() {
    const [, service, name] = this.method.path.split("/");
    return element("header", { class: "method" },
      element("h2", {}, element("small", {}, service, " / "), name, " ", element("span", { class: "kind" }, kindOf(this.method))),
      this.method.deprecated ? element("p", { class: "deprecated" }, "deprecated") : null,
      this.method.comment ? element("p", { class: "comment" }, this.method.comment) : null,
      element("p", { class: "types" }, this.method.clientStreaming ? "stream " : "", this.method.input, " → ",
              this.method.serverStreaming ? "stream " : "", this.method.output));
  }

  request() {
    this.problems = element("ul", { class: "problems", "aria-live": "polite", "aria-label": "What is wrong with the message" });
    const deadline = uniqueId();
    const compression = uniqueId();
    this.deadline = element("input", { id: deadline, placeholder: "none", inputMode: "decimal", size: 8, autocomplete: "off" });
    this.compression = element("select", { id: compression }, ...["", ...this.server.compressions].map((name) => element("option", { value: name }, name || "none")));
    this.pairs = element("div", { class: "pairs" });
    this.send = button("Call", () => this.callOrSend(), { class: "main" });
    this.end = button("End requests", () => this.endRequests());
    this.stop = button("Cancel", () => this.cancel());
    this.start = button("Start only", () => this.begin(undefined));
    this.failure = element("p", { class: "failure", role: "alert" });
    this.secrets = element("input", { type: "checkbox" });
    this.copied = element("p", { class: "comment copied", role: "status" });
    const { clientStreaming, serverStreaming } = this.method;
    return element("section", { class: "request", "aria-label": "Request" },
      element("div", { class: "bar" },
        element("div", { class: "actions" }, this.send, clientStreaming ? this.start : null, clientStreaming ? this.end : null, this.stop),
        element("div", { class: "options" },
          element("label", { for: deadline }, "Deadline ", element("small", {}, "ms")), this.deadline,
          element("label", { for: compression }, "Compression"), this.compression)),
      this.failure,
      this.choice(),
      this.panes = element("div", { class: "message-panes", data: { shown: "form" } },
        element("div", { class: "form-pane" }, element("h3", {}, "Form"), this.form.node),
        element("div", { class: "json-pane" }, element("h3", {}, "JSON ", button("Indent", () => (this.text = indentedJson(this.text)))), this.editor.node, this.problems)),
      element("h3", {}, "Metadata ", button("Add", () => this.addPair("", "").querySelector("input").focus(), { "aria-label": "Add metadata" })),
      this.pairs,
      this.general(),
      element("div", { class: "actions" },
        button("Save …", () => this.save()),
        button("Copy as coracle call", (event) => this.copyLine(coracleLine, event.target)),
        clientStreaming || serverStreaming ? null : button("Copy as curl", (event) => this.copyLine(curlLine, event.target)),
        button("Request file", () => this.downloadRequest(), { title: "A file for coracle test" }),
        element("label", { class: "secrets" }, this.secrets, " include secret metadata")), this.copied);
  }

  /** On a narrow screen, the form or the editor is shown. */
  choice() {
    const buttons = [["form", "Form"], ["json", "JSON"]].map(([shown, name]) => button(name, (event) => {
      this.panes.dataset.shown = shown;
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === event.target));
    }, { "aria-pressed": String(shown === "form") }));
    return element("div", { class: "choice", role: "group", "aria-label": "Shown" }, ...buttons);
  }

  /** The metadata that all calls of the server have, without secrets. */
  general() {
    const lines = this.server.headers ?? [];
    if (lines.length === 0) return null;
    const shown = ([name, value]) => [name, isSecret(name) && !/\$\{\w+\}/.test(value) ? "•••" : value];
    return element("div", { class: "general" }, element("p", { class: "comment" }, "With every call of this server, unless a pair above has the same name:"),
                   pairsTable(lines.map((line) => shown(pairOf(line)))));
  }

  copyLine(line, from) {
    try {
      const call = this.described();
      copyText(line(call, this.server, this.secrets.checked), from);
      this.nameFolders("Run the line", filesWithoutFolders(call, this.server, line === coracleLine));
    } catch (error) {
      this.failure.textContent = shown(error.message);
    }
  }

  nameFolders(advice, files) {
    this.copied.textContent = files.length > 0 ? `${advice} in the folder of ${files.join(", ")}, or write the folder before each name: the page does not know it.` : "";
  }

  downloadRequest() {
    try {
      const call = this.described();
      download(`${this.method.name}.grpc`, requestText(call, this.server, this.secrets.checked, this.lastStatus), "text/plain");
      this.nameFolders("Keep the file", filesWithoutFolders(call, this.server, true));
    } catch (error) {
      this.failure.textContent = shown(error.message);
    }
  }

  response() {
    this.status = element("p", { class: "status", role: "status" }, element("span", { class: "quiet" }, "No call yet."));
    this.details = element("div", { class: "details" });
    this.headers = element("details", { hidden: true });
    this.trailers = element("details", { hidden: true });
    this.messages = element("ol", { class: "messages", "aria-label": "Messages", tabIndex: 0 });
    this.answer = element("section", { class: "response", "aria-label": "Response" }, element("h3", {}, "Response"),
                          this.status, this.details, this.headers, this.messages, this.trailers);
    return this.answer;
  }

  addPair(name, value) {
    const nameInput = element("input", { value: name, placeholder: "name", "aria-label": "Name of metadata", spellcheck: false, autocomplete: "off" });
    const valueInput = element("input", { value, placeholder: "value", "aria-label": "Value of metadata", spellcheck: false, autocomplete: "off" });
    const row = element("div", { class: "pair" }, nameInput, valueInput, button("Remove", () => row.remove(), { "aria-label": "Remove metadata" }));
    this.pairs.append(row);
    return row;
  }

  // --- the message: the editor has the text, and the form shows it

  get text() {
    return this.editor.text;
  }

  set text(text) {
    this.editor.text = text;
    this.editorChanged();
  }

  editorChanged() {
    const { value, wrong } = this.read();
    if (value && typeof value === "object" && !Array.isArray(value) && wrong.every((one) => !one.includes("must be a"))) this.form.show(value);
    this.showProblems(wrong);
  }

  formChanged(value) {
    this.editor.text = JSON.stringify(value, null, 2);
    this.showProblems(this.read().wrong);
  }

  read() {
    try {
      const value = JSON.parse(this.text);
      return { value, wrong: this.server.schema.check(this.method.input, value) };
    } catch (error) {
      return { wrong: [`not valid JSON: ${error.message}`] };
    }
  }

  showProblems(wrong) {
    this.problems.replaceChildren(...wrong.slice(0, wrongShown).map((text) => element("li", {}, text)));
  }

  // --- the call

  update() {
    const running = this.call !== null;
    this.send.textContent = running && this.method.clientStreaming ? "Send message" : this.method.clientStreaming ? "Start and send" : "Call";
    const focused = document.activeElement;
    this.send.disabled = running && (!this.method.clientStreaming || this.call.ended || this.call.sending);
    this.end.disabled = !running || this.call.ended || this.call.sending;
    this.stop.disabled = !running;
    // Of a stream, those that can be used at this time have room in one row.
    this.start.hidden = running;
    this.end.hidden = this.method.clientStreaming && !running;
    this.stop.hidden = this.method.clientStreaming && !running;
    // The focus of one that goes away waits until another one takes it.
    this.lostFocus ||= Boolean(focused?.hidden) && this.node.contains(focused);
    if (!this.lostFocus || this.send.disabled) return;
    this.lostFocus = false;
    if (document.activeElement === document.body) this.send.focus();
  }

  callOrSend() {
    if (this.send.disabled) return;
    if (this.call) this.sendMessage(this.text);
    else this.begin(this.text);
  }

  /** What is entered, as the history and exports have it. Throws an Error. */
  described(messages = [this.text]) {
    const deadline = this.deadline.value.trim();
    if (deadline && !(Number(deadline) > 0)) throw new Error("the deadline is a number of milliseconds above 0");
    const metadata = [...this.pairs.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim())).filter(([name]) => name);
    return { method: this.method.path, messages, metadata, timeoutMs: deadline ? Number(deadline) : null, compression: this.compression.value };
  }

  async begin(json) {
    this.failure.textContent = "";
    const name = String(++lastCall);
    // "unsent" are the messages whose sending the program has not told of yet.
    const call = { name, ended: !this.method.clientStreaming, sending: true, messages: [], unsent: json === undefined ? [] : [json], received: 0, at: Date.now() };
    try {
      call.described = this.described(call.messages);
      this.call = call;
      this.clearResponse();
      this.update();
      listen(name, (event) => this.happened(call, event));
      const { metadata, timeoutMs, compression } = call.described;
      await performHere("start", { server: this.server.id, call: name, method: this.method.path, json, metadata, timeoutMs, compression });
      this.showProgress(call);
    } catch (error) {
      this.call = null;
      this.status.replaceChildren(element("span", { class: "quiet" }, "The call was not made."));
      this.failure.textContent = shown(error.message);
    }
    call.sending = false;
    this.update();
  }

  async sendMessage(json) {
    const { call } = this;
    await this.ask(call, { json });
  }

  async endRequests() {
    const { call } = this;
    if (await this.ask(call, { last: true })) call.ended = true;
    this.update();
  }

  async cancel() {
    if (this.call) await this.ask(this.call, { cancel: true });
  }

  async ask(call, request) {
    this.failure.textContent = "";
    if (!request.cancel) call.sending = true;
    if (request.json !== undefined) call.unsent.push(request.json);
    this.update();
    let done = false;
    try {
      await performHere("send", { call: call.name, ...request });
      done = true;
    } catch (error) {
      if (request.json !== undefined) call.unsent.pop();
      if (this.call === call) this.failure.textContent = shown(error.message);
    }
    if (!request.cancel) call.sending = false;
    this.update();
    return done;
  }

  happened(call, event) {
    if (event.kind === "headers") this.showPairs(this.headers, "Headers", event.metadata);
    else if (event.kind === "sent") {
      const json = call.unsent.shift();
      call.messages.push(json);
      this.addMessage("sent", call.messages.length, event.ms, json, event);
      this.showProgress(call);
      if (this.queued.length > 0) this.text = indentedJson(this.queued.shift());
    } else if (event.kind === "message") {
      call.received++;
      this.addMessage("received", call.received, event.ms, event.json, event);
      this.showProgress(call);
    } else if (event.kind === "end") this.ended(call, event);
  }

  ended(call, event) {
    this.call = null;
    const took = event.ms === null ? "" : `${duration(event.ms)}, `;
    this.status.replaceChildren(
      element("strong", { class: event.code === 0 ? "ok" : "not-ok" }, event.status), " ",
      element("span", { class: "quiet" }, `${took}${call.messages.length} sent, ${call.received} received`));
    if (event.message) this.details.append(element("p", { class: "status-message" }, event.message));
    for (const detail of event.details)
      this.details.append(element("figure", {}, element("figcaption", {}, detail.type),
        element("pre", {}, detail.json === undefined ? `base64: ${detail.base64}` : coloredJson(shown(indentedJson(detail.json))))));
    this.showPairs(this.trailers, "Trailers", event.trailers);
    this.answer.scrollIntoView({ block: "nearest" });
    this.lastStatus = event.status;
    past.add({ ...call.described, at: call.at, ms: event.ms, status: event.status });
    this.update();
  }

  clearResponse() {
    this.status.replaceChildren(element("span", { class: "running" }, "Running …"));
    this.details.replaceChildren();
    this.messages.replaceChildren();
    this.headers.hidden = true;
    this.trailers.hidden = true;
  }

  showProgress(call) {
    if (this.call === call) this.status.replaceChildren(element("span", { class: "running" }, `Running … ${call.messages.length} sent, ${call.received} received`));
  }

  showPairs(at, title, pairs) {
    at.hidden = pairs.length === 0;
    at.replaceChildren(element("summary", {}, `${title} (${pairs.length})`),
      pairsTable(pairs));
  }

  addMessage(direction, number, ms, json, event = {}) {
    const facts = [`${direction} ${number}`, duration(ms)];
    if (event.bytes !== undefined) facts.push(`${event.bytes} bytes`);
    if (event.compressed) facts.push("compressed");
    const body = json === undefined ? element("pre", { class: "not-ok" }, `${event.error}\nbase64: ${event.base64}`) : element("pre", {}, coloredJson(shown(indentedJson(json))));
    this.followEnd();
    this.messages.append(element("li", { class: direction }, element("div", { class: "facts" }, element("span", {}, facts.join(" · ")),
      button("Copy", (click) => copyText(json === undefined ? event.base64 : indentedJson(json), click.target), { "aria-label": `Copy ${direction} ${number}` })), body));
    if (this.messages.childElementCount > messagesShown) this.messages.firstElementChild.remove();
  }

  // Once for all messages of a frame: to read the position makes the browser lay out the list.
  followEnd() {
    if (this.follows) return;
    this.follows = true;
    const { messages } = this;
    const atEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 40;
    requestAnimationFrame(() => {
      this.follows = false;
      if (atEnd) messages.scrollTop = messages.scrollHeight;
    });
  }

  // --- history and saved calls

  /** Shows a call of the history or of the saved ones. Of several messages, each is shown when the one before was sent. */
  load(call) {
    this.text = indentedJson(call.messages[0] ?? "{}");
    this.queued = call.messages.slice(1);
    this.pairs.replaceChildren();
    for (const [name, value] of call.metadata) this.addPair(name, value);
    this.deadline.value = call.timeoutMs ?? "";
    this.compression.value = call.compression ?? "";
    this.failure.textContent = "";
  }

  save() {
    let call;
    try {
      call = this.described();
    } catch (error) {
      this.failure.textContent = shown(error.message);
      return;
    }
    askForCall(this.method.name, (name, collection) => saved.add({ ...call, name, collection }));
  }
}

const pairsTable = (pairs) => element("table", {}, element("tbody", {}, ...pairs.map(([name, value]) =>
  element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)))));
