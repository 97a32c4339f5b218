// The dialog of `coracle console` that chooses a server: its address, its security, and where its definitions come from.

import { perform } from "./api.js";
import { button, element, uniqueId } from "./dom.js";

function labelled(text, input, hint) {
  input.id = uniqueId();
  return element("div", { class: "field" }, element("label", { for: input.id }, text), input, hint ? element("p", { class: "comment" }, hint) : null);
}

const select = (options) => element("select", {}, ...options.map(([value, text]) => element("option", { value }, text)));

async function base64Of(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

export class ServerDialog {
  /** `connect` gets the settings, and throws an Error if it cannot connect. */
  constructor(about, connect) {
    this.connect = connect;
    this.address = element("input", { value: about.address ?? "", placeholder: "localhost:50051 or unix:/path", required: true, spellcheck: false, autocomplete: "off" });
    this.security = select([["tls", "TLS"], ["plaintext", "plaintext"], ["unverified", "TLS, any certificate (for tests)"]]);
    this.security.value = about.security ?? "tls";
    this.ca = select([]);
    this.certificate = select([]);
    this.serverName = element("input", { placeholder: "as in the address", spellcheck: false, autocomplete: "off" });
    this.source = select([["reflection", "the server's reflection"], ["files", ".proto files or descriptor sets"]]);
    this.files = element("input", { type: "file", multiple: true, accept: ".proto,.pb,.bin,.protoset,.desc,.binpb" });
    this.folder = element("input", { type: "file", webkitdirectory: true });
    this.headers = element("textarea", { rows: 2, placeholder: "name: value", spellcheck: false });
    this.failure = element("p", { class: "failure", role: "alert" });
    this.tls = element("fieldset", {}, element("legend", {}, "TLS"),
      labelled("Trusted CA", this.ca), labelled("Client certificate", this.certificate), labelled("Server name", this.serverName),
      this.certificateForm());
    this.uploads = element("div", {}, labelled("Files", this.files, "With what they import, unless it is google/protobuf."),
                           labelled("or a folder", this.folder, "Names of imports begin below it."));
    this.node = element("dialog", { class: "server", "aria-label": "Server" }, element("h2", {}, "Server"),
      element("form", { onsubmit: (event) => {
        event.preventDefault();
        this.submit();
      } }, labelled("Address", this.address), labelled("Security", this.security), this.tls,
      labelled("Definitions", this.source), this.uploads, labelled("Metadata of reflection", this.headers, "One a line; the calls of the page have their own."),
      this.failure, element("div", { class: "actions" }, element("button", { class: "main" }, "Connect"), button("Close", () => this.node.close()))));
    for (const input of [this.security, this.source]) input.addEventListener("change", () => this.update());
    this.listCertificates(about.certificates ?? []);
    if (about.files) this.source.prepend(element("option", { value: "given", selected: true }, "the files of the command line"));
    this.update();
    document.body.append(this.node);
  }

  open(failure = "") {
    this.failure.textContent = failure;
    if (!this.node.open) this.node.showModal();
  }

  update() {
    this.tls.hidden = this.security.value === "plaintext";
    this.uploads.hidden = this.source.value !== "files";
  }

  // --- certificates: the program keeps them in memory, and the page knows their names only

  certificateForm() {
    const name = element("input", { placeholder: "a name for it", spellcheck: false, autocomplete: "off" });
    const chain = element("input", { type: "file", accept: ".pem,.crt,.cer" });
    const key = element("input", { type: "file", accept: ".pem,.key" });
    const failure = element("p", { class: "failure", role: "alert" });
    const added = element("p", { class: "comment", role: "status" });
    const add = button("Add", async () => {
      failure.textContent = added.textContent = "";
      try {
        if (!name.value.trim() || !chain.files[0]) throw new Error("a name and a certificate file are needed");
        const { certificates } = await perform("add-certificate", {
          name: name.value.trim(), certificate: await chain.files[0].text(), ...(key.files[0] ? { key: await key.files[0].text() } : {}) });
        this.listCertificates(certificates);
        (key.files[0] ? this.certificate : this.ca).value = name.value.trim();
        added.textContent = `The program has ${name.value.trim()} now; it is chosen above.`;
        for (const input of [name, chain, key]) input.value = "";
      } catch (error) {
        failure.textContent = error.message;
      }
    });
    const remove = button("Forget all", async () => {
      this.listCertificates((await perform("forget-certificates")).certificates);
      added.textContent = "The program has no certificates now.";
    });
    return element("details", {}, element("summary", {}, "Certificates"),
      element("p", { class: "comment" }, "PEM files. They stay in the memory of the program until it ends; the page cannot read them again."),
      labelled("Name", name), labelled("Certificate or CA", chain), labelled("Private key", key, "With a key it is a certificate for this client, without one a CA."),
      failure, added, element("div", { class: "actions" }, add, remove));
  }

  listCertificates(certificates) {
    const fill = (to, first, some) => {
      const before = to.value;
      to.replaceChildren(element("option", { value: "" }, first), ...some.map((one) => element("option", { value: one.name }, one.name)));
      to.value = some.some((one) => one.name === before) ? before : "";
    };
    fill(this.ca, "those of the system", certificates.filter((one) => !one.hasKey));
    fill(this.certificate, "none", certificates.filter((one) => one.hasKey));
  }

  // --- connecting

  async settings() {
    const settings = { address: this.address.value.trim(), security: this.security.value, definitions: this.source.value };
    if (settings.security !== "plaintext")
      Object.assign(settings, { ca: this.ca.value, certificate: this.certificate.value, serverName: this.serverName.value.trim() });
    if (settings.definitions === "files") {
      const given = [...this.files.files, ...this.folder.files];
      settings.protos = [];
      settings.descriptorSets = [];
      for (const file of given) {
        // The browser puts the folder's own name before the names in it.
        const name = file.webkitRelativePath ? file.webkitRelativePath.split("/").slice(1).join("/") : file.name;
        if (name.endsWith(".proto")) settings.protos.push([name, await file.text()]);
        else if (!file.webkitRelativePath) settings.descriptorSets.push(await base64Of(file));
      }
      if (settings.protos.length + settings.descriptorSets.length === 0) throw new Error("choose .proto files or descriptor sets");
    }
    const headers = this.headers.value.split("\n").map((line) => line.trim()).filter(Boolean);
    settings.metadata = headers.map((line) => {
      const colon = line.indexOf(":", 1);
      if (colon < 0) throw new Error(`metadata has the form "name: value", not "${line}"`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    });
    return settings;
  }

  async submit() {
    this.failure.textContent = "";
    this.node.setAttribute("aria-busy", "true");
    try {
      await this.connect(await this.settings());
      this.node.close();
    } catch (error) {
      this.failure.textContent = error.message;
    }
    this.node.removeAttribute("aria-busy");
  }
}
