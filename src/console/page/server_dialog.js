// The dialog of `coracle console` that chooses a server: its address, its security, and where its definitions come from. It begins
// with the options of the command line.

import { perform } from "./api.js";
import { button, element, shown, uniqueId } from "./dom.js";
import { pairOf } from "./lines.js";

function labelled(text, input, hint) {
  input.id = uniqueId();
  return element("div", { class: "field" }, element("label", { for: input.id }, text), input, hint ? element("p", { class: "comment" }, hint) : null);
}

const select = (options) => element("select", {}, ...options.map(([value, text]) => element("option", { value }, text)));

// The choice of a file of the command line; no certificate of the page has this name.
const commandLine = " ";
const fileName = (path) => path.split("/").pop();

const linesOf = (area) => area.value.split("\n").map((line) => line.trim()).filter(Boolean);

async function base64Of(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

export class ServerDialog {
  /** `given` has the options of the command line; `connect` gets the settings, and throws an Error if it cannot connect. */
  constructor({ given, certificates, compressions }, connect) {
    this.given = given;
    this.connect = connect;
    const lines = (content, placeholder) => element("textarea", { rows: 2, value: content.join("\n"), placeholder, spellcheck: false });
    this.address = element("input", { value: given.address, placeholder: "localhost:50051 or unix:/path", required: true, spellcheck: false, autocomplete: "off",
                                      onchange: () => this.readScheme() });
    this.security = select([["tls", "TLS"], ["plaintext", "plaintext"], ["unverified", "TLS, any certificate (for tests)"]]);
    this.security.value = given.security;
    this.ca = select([]);
    this.certificate = select([]);
    this.serverName = element("input", { value: given.serverName, placeholder: "as in the address", spellcheck: false, autocomplete: "off" });
    this.source = select([["reflection", "the server's reflection"], ["files", ".proto files or descriptor sets"]]);
    if (given.protos.length + given.descriptorSets.length > 0)
      this.source.prepend(element("option", { value: "given", selected: true }, `${[...given.protos, ...given.descriptorSets].map(fileName).join(", ")} (command line)`));
    this.files = element("input", { type: "file", multiple: true, accept: ".proto,.pb,.bin,.protoset,.desc,.binpb" });
    this.folder = element("input", { type: "file", webkitdirectory: true });
    this.reflectHeaders = lines(given.reflectHeaders, "name: value");
    this.headers = lines(given.headers, "name: value");
    this.deadline = element("input", { value: given.timeoutMs ?? "", placeholder: "none", inputMode: "decimal", autocomplete: "off" });
    this.compression = select([["", "none"], ...compressions.map((name) => [name, name])]);
    this.compression.value = given.compression;
    this.failure = element("p", { class: "failure", role: "alert" });
    this.tls = element("fieldset", {}, element("legend", {}, "TLS"),
      labelled("Trusted CA", this.ca), labelled("Client certificate", this.certificate), labelled("Server name", this.serverName),
      this.certificateForm());
    this.uploads = element("div", { class: "rows" }, labelled("Files", this.files, "With what they import, unless it is google/protobuf."),
                           labelled("or a folder", this.folder, "Names of imports begin below it."));
    this.reflection = labelled("Metadata of reflection", this.reflectHeaders, "One pair a line, in addition to that of every call.");
    this.node = element("dialog", { class: "server", "aria-label": "Server" }, element("h2", {}, "Server"),
      element("form", { onsubmit: (event) => {
        event.preventDefault();
        this.submit();
      } }, labelled("Address", this.address), labelled("Security", this.security), this.tls,
      labelled("Definitions", this.source), this.uploads, this.reflection,
      element("fieldset", {}, element("legend", {}, "Calls"),
        labelled("Metadata of every call", this.headers, "One pair a line."),
        labelled("Deadline in ms", this.deadline, "Each method begins with it."), labelled("Compression", this.compression),
        given.other.length > 0 ? element("p", { class: "comment" }, `Also from the command line: ${given.other.join(" ")}`) : null),
      this.failure, element("div", { class: "actions" }, element("button", { class: "main" }, "Connect"), button("Close", () => this.node.close()))));
    for (const input of [this.security, this.source]) input.addEventListener("change", () => this.update());
    this.listCertificates(certificates);
    if (given.ca) this.ca.value = commandLine;
    if (given.certificate) this.certificate.value = commandLine;
    this.update();
    document.body.append(this.node);
  }

  open(failure = "") {
    this.failure.textContent = shown(failure);
    if (!this.node.open) this.node.showModal();
  }

  update() {
    this.tls.hidden = this.security.value === "plaintext";
    for (const input of [this.ca, this.serverName]) input.parentElement.hidden = this.security.value !== "tls";
    this.uploads.hidden = this.source.value !== "files";
    this.reflection.hidden = this.source.value !== "reflection";
  }

  // http://host and https://host are addresses for the command, too.
  readScheme() {
    const [, scheme, rest] = /^(https?):\/\/([^/]*)\/?$/i.exec(this.address.value.trim()) ?? [];
    if (!scheme) return;
    const plaintext = scheme.toLowerCase() === "http";
    this.address.value = /:\d+$/.test(rest) ? rest : `${rest}:${plaintext ? 80 : 443}`;
    if (plaintext || this.security.value === "plaintext") this.security.value = plaintext ? "plaintext" : "tls";
    this.update();
  }

  // --- certificates: the program keeps them in memory, and the page knows their names only

  certificateForm() {
    const name = element("input", { placeholder: "a name for it", spellcheck: false, autocomplete: "off" });
    const chain = element("input", { type: "file", accept: ".pem,.crt,.cer" });
    const key = element("input", { type: "file", accept: ".pem,.key" });
    const failure = element("p", { class: "failure", role: "alert" });
    const told = element("p", { class: "comment", role: "status" });
    this.certificateList = element("ul", { class: "certificates", "aria-label": "Certificates of the program" });
    const change = async (action, body, text) => {
      failure.textContent = told.textContent = "";
      try {
        this.listCertificates((await perform(action, body)).certificates);
        told.textContent = shown(text);
        return true;
      } catch (error) {
        failure.textContent = shown(error.message);
        return false;
      }
    };
    this.removeCertificate = (removed) => change("remove-certificate", { name: removed }, `The program does not have ${removed} any more.`);
    const add = button("Add", async () => {
      const called = name.value.trim();
      if (!called || !chain.files[0]) {
        failure.textContent = "a name and a certificate file are needed";
        return;
      }
      const body = { name: called, certificate: await chain.files[0].text(), file: chain.files[0].name };
      if (key.files[0]) Object.assign(body, { key: await key.files[0].text(), keyFile: key.files[0].name });
      if (!(await change("add-certificate", body, `The program has ${called} now; it is chosen above.`))) return;
      (key.files[0] ? this.certificate : this.ca).value = called;
      for (const input of [name, chain, key]) input.value = "";
    });
    this.removeAll = button("Remove all", () => change("remove-certificates", {}, "The program has no certificates now."));
    return element("details", {}, element("summary", {}, "Certificates"), element("div", { class: "rows" },
      element("p", { class: "comment" }, "PEM files. They stay in the memory of the program until it ends; the page cannot read them again."),
      this.certificateList,
      labelled("Name", name), labelled("Certificate or CA", chain), labelled("Private key", key, "With a key it is a certificate for this client, without one a CA."),
      failure, told, element("div", { class: "actions" }, add, this.removeAll)));
  }

  listCertificates(certificates) {
    this.certificates = certificates;
    const fill = (to, first, file, some) => {
      const before = to.value;
      const options = [["", first], ...(file ? [[commandLine, `${fileName(file)} (command line)`]] : []), ...some.map((one) => [one.name, one.name])];
      to.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
      to.value = options.some(([value]) => value === before) ? before : "";
    };
    fill(this.ca, "those of the system", this.given.ca, certificates.filter((one) => !one.hasKey));
    fill(this.certificate, "none", this.given.certificate, certificates.filter((one) => one.hasKey));
    this.certificateList.replaceChildren(...certificates.map((one) => element("li", {},
      element("span", {}, one.name, " ", element("small", {}, one.hasKey ? `certificate, ${one.file}` : `CA, ${one.file}`)),
      button("Remove", () => this.removeCertificate(one.name), { "aria-label": `Remove ${one.name}` }))));
    this.removeAll.hidden = certificates.length === 0;
  }

  // --- connecting

  /** What the program gets. Throws an Error. */
  async settings() {
    this.readScheme();
    const settings = { address: this.address.value.trim(), security: this.security.value, definitions: this.source.value, headers: linesOf(this.headers) };
    if (settings.security !== "plaintext")
      Object.assign(settings, this.certificate.value === commandLine ? { givenCertificate: true } : { certificate: this.certificate.value });
    if (settings.security === "tls")
      Object.assign(settings, this.ca.value === commandLine ? { givenCa: true } : { ca: this.ca.value }, { serverName: this.serverName.value.trim() });
    if (settings.definitions === "reflection") settings.reflectHeaders = linesOf(this.reflectHeaders);
    if (settings.definitions === "files") {
      settings.protos = [];
      settings.descriptorSets = [];
      for (const file of [...this.files.files, ...this.folder.files]) {
        // The browser puts the folder's own name before the names in it.
        const name = file.webkitRelativePath ? file.webkitRelativePath.split("/").slice(1).join("/") : file.name;
        if (name.endsWith(".proto")) settings.protos.push([name, await file.text()]);
        else if (!file.webkitRelativePath) settings.descriptorSets.push(await base64Of(file));
      }
      if (settings.protos.length + settings.descriptorSets.length === 0) throw new Error("choose .proto files or descriptor sets");
    }
    for (const line of [...settings.headers, ...settings.reflectHeaders ?? []]) pairOf(line);
    return settings;
  }

  /** What lines for a shell need beside the settings. A file that was chosen in the page has a name, and no folder. */
  shell(settings) {
    const shell = { ca: "", certificate: "", key: "", other: this.given.other, givenHeaders: this.given.headers, givenReflectHeaders: this.given.reflectHeaders,
                    importDirs: [], protos: [], descriptorSets: [], uploaded: [] };
    const certificate = (name) => this.certificates.find((one) => one.name === name);
    if (settings.givenCa) shell.ca = this.given.ca;
    else if (settings.ca) shell.ca = certificate(settings.ca)?.file;
    if (settings.givenCertificate) [shell.certificate, shell.key] = [this.given.certificate, this.given.key];
    else if (settings.certificate) [shell.certificate, shell.key] = [certificate(settings.certificate)?.file, certificate(settings.certificate)?.keyFile];
    if (!settings.givenCa) shell.uploaded.push(shell.ca);
    if (!settings.givenCertificate) shell.uploaded.push(shell.certificate, shell.key);
    if (settings.definitions === "given")
      [shell.importDirs, shell.protos, shell.descriptorSets] = [this.given.importDirs, this.given.protos, this.given.descriptorSets];
    if (settings.definitions === "files") {
      shell.importDirs = [...new Set([...this.folder.files].map((file) => file.webkitRelativePath.split("/")[0]))];
      shell.protos = settings.protos.map(([name]) => name);
      shell.descriptorSets = [...this.files.files].map((file) => file.name).filter((name) => !name.endsWith(".proto"));
    }
    return shell;
  }

  /** What the methods begin with. Throws an Error. */
  calls() {
    const deadline = this.deadline.value.trim();
    if (deadline && !(Number(deadline) > 0)) throw new Error("the deadline is a number of milliseconds above 0");
    return { deadline, compression: this.compression.value };
  }

  /** Connects as the dialog says. Throws an Error. */
  async connectNow() {
    const settings = await this.settings();
    await this.connect(settings, { ...this.calls(), shell: this.shell(settings) });
  }

  async submit() {
    this.failure.textContent = "";
    this.node.setAttribute("aria-busy", "true");
    try {
      await this.connectNow();
      this.node.close();
    } catch (error) {
      this.failure.textContent = shown(error.message);
    }
    this.node.removeAttribute("aria-busy");
  }
}
