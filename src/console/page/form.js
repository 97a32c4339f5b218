// A form for a message, made from its definition. It changes a value of JSON in place.

import { button, element, uniqueId } from "./dom.js";
import { freeForms, is64, isFloat, isInteger, textForms, typeText, wrappers } from "./schema.js";

export class Form {
  /** `onchange` is called when the user has changed `value`. */
  constructor(schema, type, onchange) {
    this.schema = schema;
    this.type = type;
    this.onchange = onchange;
    this.node = element("div", { class: "form", role: "group", "aria-label": "Message as a form" });
  }

  show(value) {
    this.value = value;
    this.node.replaceChildren(...this.fieldsOf(this.type, value));
    if (!this.node.hasChildNodes()) this.node.append(element("p", { class: "quiet" }, `${this.type} has no fields.`));
  }

  changed() {
    this.onchange(this.value);
  }

  // After a part was added or removed.
  rebuild() {
    this.show(this.value);
    this.changed();
  }

  fieldsOf(type, value) {
    const rows = [];
    const shown = new Set();
    for (const field of this.schema.fields(type)) {
      if (!field.oneof) rows.push(this.row(field, value));
      else if (!shown.has(field.oneof)) {
        shown.add(field.oneof);
        rows.push(this.choice(field.oneof, this.schema.fields(type).filter((one) => one.oneof === field.oneof), value));
      }
    }
    return rows;
  }

  keyIn(field, value) {
    return field.name in value && !(field.json in value) ? field.name : field.json;
  }

  label(field, id) {
    return element("label", { for: id, title: field.comment, class: field.deprecated ? "deprecated" : undefined },
                   field.json, " ", element("small", {}, typeText(field)));
  }

  row(field, value) {
    const key = this.keyIn(field, value);
    if (field.repeated) return this.repeated(field, value, key);
    if (field.mapKey) return this.map(field, value, key);
    if (this.hasParts(field)) return this.part(field, value, key);
    const id = uniqueId();
    const input = this.input(field, id, value[key], (given) => {
      if (given === undefined) delete value[key];
      else value[key] = given;
      this.changed();
    });
    return element("div", { class: "field" }, this.label(field, id), input, this.comment(field));
  }

  comment(field) {
    return field.comment ? element("p", { class: "comment" }, field.comment) : null;
  }

  hasParts(field) {
    return field.type === "group" || field.type === "message" && !(field.typeName in wrappers) && !(field.typeName in textForms) &&
           !freeForms.includes(field.typeName);
  }

  part(field, value, key) {
    const present = value[key] !== undefined && value[key] !== null;
    const legend = element("legend", { title: field.comment }, field.json, " ", element("small", {}, typeText(field)), " ",
      present ? button("Remove", () => (delete value[key], this.rebuild()), { "aria-label": `Remove ${field.json}` })
              : button("Add", () => ((value[key] = {}), this.rebuild()), { "aria-label": `Add ${field.json}` }));
    return element("fieldset", {}, legend, this.comment(field), ...(present ? this.fieldsOf(field.typeName, value[key]) : []));
  }

  repeated(field, value, key) {
    const items = Array.isArray(value[key]) ? value[key] : [];
    const one = { ...field, repeated: undefined };
    const rows = items.map((item, i) => {
      const remove = button("Remove", () => {
        items.splice(i, 1);
        if (items.length === 0) delete value[key];
        this.rebuild();
      }, { "aria-label": `Remove ${field.json} ${i + 1}` });
      if (this.hasParts(one))
        return element("fieldset", {}, element("legend", {}, `${field.json} ${i + 1} `, remove), ...this.fieldsOf(field.typeName, item ?? {}));
      const id = uniqueId();
      return element("div", { class: "item" },
        this.input(one, id, item, (given) => {
          items[i] = given ?? this.schema.empty(one);
          this.changed();
        }, `${field.json} ${i + 1}`), remove);
    });
    const add = button("Add", () => {
      value[key] = [...items, this.schema.empty(one)];
      this.rebuild();
    }, { "aria-label": `Add ${field.json}` });
    return element("fieldset", {}, element("legend", { title: field.comment }, field.json, " ", element("small", {}, typeText(one)), " ", add),
                   this.comment(field), ...rows);
  }

  map(field, value, key) {
    const entries = value[key] && typeof value[key] === "object" ? value[key] : {};
    const one = { ...field, mapKey: undefined };
    const rows = Object.entries(entries).map(([name, item]) => {
      const nameInput = element("input", { value: name, "aria-label": `Key of ${field.json}`, onchange: () => {
        const changed = {};
        for (const [other, kept] of Object.entries(entries)) changed[other === name ? nameInput.value : other] = kept;
        value[key] = changed;
        this.rebuild();
      } });
      const remove = button("Remove", () => (delete entries[name], this.rebuild()), { "aria-label": `Remove ${field.json} ${name}` });
      if (this.hasParts(one)) return element("fieldset", {}, element("legend", {}, nameInput, " ", remove), ...this.fieldsOf(field.typeName, item ?? {}));
      return element("div", { class: "item" }, nameInput,
        this.input(one, uniqueId(), item, (given) => {
          entries[name] = given ?? this.schema.empty(one);
          this.changed();
        }, `Value of ${field.json} ${name}`), remove);
    });
    const add = button("Add", () => {
      let name = field.mapKey === "string" ? "key" : field.mapKey === "bool" ? "true" : "0";
      for (let i = 1; name in entries; i++) name = field.mapKey === "string" ? `key${i}` : field.mapKey === "bool" ? "false" : String(i);
      value[key] = { ...entries, [name]: this.schema.empty(one) };
      this.rebuild();
    }, { "aria-label": `Add to ${field.json}` });
    return element("fieldset", {}, element("legend", { title: field.comment }, field.json, " ", element("small", {}, typeText(field)), " ", add),
                   this.comment(field), ...rows);
  }

  choice(name, fields, value) {
    const chosen = fields.find((field) => this.keyIn(field, value) in value);
    const id = uniqueId();
    const select = element("select", { id, onchange: () => {
      for (const field of fields) {
        delete value[field.json];
        delete value[field.name];
      }
      const field = fields.find((one) => one.json === select.value);
      if (field) value[field.json] = this.schema.empty(field);
      this.rebuild();
    } }, element("option", { value: "" }, "none"), ...fields.map((field) => element("option", { value: field.json, selected: field === chosen }, field.json)));
    return element("fieldset", {}, element("legend", {}, element("label", { for: id }, name, " ", element("small", {}, "one of")), " ", select),
                   chosen ? this.row({ ...chosen, oneof: undefined }, value) : null);
  }

  /** An input of one value; `give` gets the value, or undefined if it is left out. */
  input(field, id, value, give, label) {
    const type = wrappers[field.typeName] ?? field.type;
    if (type === "bool") {
      // Without a value it is false; a bool that may be absent has three states.
      if (field.optional || field.oneof || field.typeName in wrappers)
        return this.select(id, label, ["", "true", "false"], value === undefined || value === null ? "" : String(value), (text) => give(text === "" ? undefined : text === "true"));
      return element("input", { id, type: "checkbox", checked: value === true, "aria-label": label, onchange: (event) => give(event.target.checked || undefined) });
    }
    if (type === "enum") {
      const names = this.schema.enumValues(field.typeName).map((one) => one.name);
      const known = typeof value === "number" ? this.schema.enumValues(field.typeName).find((one) => one.number === value)?.name ?? String(value) : value;
      const listed = known === undefined || names.includes(known) ? names : [...names, known];
      return this.select(id, label, ["", ...listed], known ?? "", (text) => give(text === "" ? undefined : text));
    }
    const free = field.type === "message" && freeForms.includes(field.typeName);
    const text = value === undefined || value === null ? "" : free ? JSON.stringify(value) : String(value);
    const input = element(type === "string" && text.includes("\n") || free ? "textarea" : "input", {
      id, value: text, "aria-label": label, spellcheck: false, autocomplete: "off",
      placeholder: textForms[field.typeName]?.example ?? (free ? "JSON" : type === "bytes" ? "base64" : isInteger(type) || isFloat(type) ? "0" : undefined),
      inputMode: isInteger(type) ? "numeric" : isFloat(type) ? "decimal" : undefined,
      oninput: () => {
        const given = this.parsed(field, type, free, input.value);
        input.setCustomValidity(given === invalid ? "not valid" : "");
        input.setAttribute("aria-invalid", String(given === invalid));
        give(given === invalid ? input.value : given);
      },
    });
    return input;
  }

  select(id, label, values, chosen, give) {
    return element("select", { id, "aria-label": label, onchange: (event) => give(event.target.value) },
                   ...values.map((value) => element("option", { value, selected: value === chosen }, value === "" ? "—" : value)));
  }

  parsed(field, type, free, text) {
    if (text === "" && !(field.optional || field.oneof) ) return undefined;
    if (free) {
      try {
        return JSON.parse(text);
      } catch {
        return invalid;
      }
    }
    if (isInteger(type)) {
      if (!/^-?\d+$/.test(text)) return text === "" ? undefined : invalid;
      return is64(type) ? text : Number(text);
    }
    if (isFloat(type)) return text === "" ? undefined : Number.isNaN(Number(text)) ? (text === "NaN" ? text : invalid) : Number.isFinite(Number(text)) ? Number(text) : text;
    return text;
  }
}

const invalid = Symbol("invalid");
