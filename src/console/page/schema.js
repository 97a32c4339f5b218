// The definitions of a server's messages: what a value of JSON may contain, and what is wrong with one.

const integers = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n], sint32: [-(2n ** 31n), 2n ** 31n - 1n], sfixed32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n], fixed32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n], sint64: [-(2n ** 63n), 2n ** 63n - 1n], sfixed64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n], fixed64: [0n, 2n ** 64n - 1n],
};
export const isInteger = (type) => type in integers;
export const is64 = (type) => type.endsWith("64");
export const isFloat = (type) => type === "float" || type === "double";

/** The messages that JSON writes in a form of their own (protobuf.dev/programming-guides/json). */
export const wrappers = {
  "google.protobuf.DoubleValue": "double", "google.protobuf.FloatValue": "float", "google.protobuf.Int64Value": "int64",
  "google.protobuf.UInt64Value": "uint64", "google.protobuf.Int32Value": "int32", "google.protobuf.UInt32Value": "uint32",
  "google.protobuf.BoolValue": "bool", "google.protobuf.StringValue": "string", "google.protobuf.BytesValue": "bytes",
};
export const textForms = {
  "google.protobuf.Timestamp": { example: "2024-05-01T12:00:00Z", form: /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/ },
  "google.protobuf.Duration": { example: "1.5s", form: /^-?\d+(\.\d{1,9})?s$/ },
  "google.protobuf.FieldMask": { example: "title,genres", form: /^[\w.,]*$/ },
};
export const freeForms = ["google.protobuf.Any", "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"];

export const isWellKnown = (name) => name in wrappers || name in textForms || freeForms.includes(name);

export class Schema {
  constructor(description) {
    this.services = description.services;
    this.errors = description.errors;
    this.messages = description.messages;
    this.enums = description.enums;
  }

  method(path) {
    for (const service of this.services)
      for (const method of service.methods) if (method.path === path) return method;
    return undefined;
  }

  /** The name of the file that defines the service of a method. */
  fileOf(path) {
    return this.services.find((service) => service.name === path.split("/")[1])?.file ?? "";
  }

  hasReflection() {
    return this.services.some((service) => service.name.startsWith("grpc.reflection."));
  }

  fields(type) {
    return this.messages[type]?.fields ?? [];
  }

  field(type, key) {
    return this.fields(type).find((field) => field.json === key || field.name === key);
  }

  enumValues(type) {
    return this.enums[type]?.values ?? [];
  }

  /** A value that shows the fields of a message: those of messages and repeated fields are left out. */
  template(type) {
    const value = {};
    const chosen = new Set();
    for (const field of this.fields(type)) {
      if (field.repeated || field.mapKey || field.deprecated || field.optional) continue;
      if (field.oneof && chosen.has(field.oneof)) continue;
      if (field.oneof || field.type === "message" || field.type === "group") continue;
      value[field.json] = this.empty(field);
    }
    return value;
  }

  /** A value of a field, or of one element of it. */
  empty(field) {
    if (field.type === "message" || field.type === "group") {
      if (field.typeName in wrappers) return this.empty({ type: wrappers[field.typeName] });
      if (field.typeName in textForms) return field.typeName.endsWith("FieldMask") ? "" : textForms[field.typeName].example;
      if (field.typeName === "google.protobuf.ListValue") return [];
      if (field.typeName === "google.protobuf.Value") return null;
      return {};
    }
    if (field.type === "bool") return false;
    if (field.type === "string" || field.type === "bytes") return "";
    if (field.type === "enum") return this.enumValues(field.typeName)[0]?.name ?? 0;
    return is64(field.type) ? "0" : 0;
  }

  /** What is wrong with a value as a message of that type: texts that begin with the path of the field. */
  check(type, value, path = "") {
    if (type in wrappers) return value === null ? [] : this.checkScalar({ type: wrappers[type] }, value, path);
    if (type in textForms) {
      if (typeof value === "string" && textForms[type].form.test(value)) return [];
      return [`${path || type}: a ${type.split(".").pop()} is text such as "${textForms[type].example}"`];
    }
    if (type === "google.protobuf.ListValue") return Array.isArray(value) ? [] : [`${path}: must be an array`];
    if (type === "google.protobuf.Value") return [];
    if (value === null || typeof value !== "object" || Array.isArray(value)) return [`${path || "the message"}: must be an object { }`];
    if (type === "google.protobuf.Struct") return [];
    if (type === "google.protobuf.Any")
      return "@type" in value || Object.keys(value).length === 0 ? [] : [`${path}: an Any names its type in "@type"`];
    if (!this.messages[type]) return [];
    const wrong = [];
    const chosen = {};
    for (const [key, part] of Object.entries(value)) {
      const at = path ? `${path}.${key}` : key;
      const field = this.field(type, key);
      if (!field) {
        wrong.push(`${at}: ${type} has no such field${this.similar(type, key)}`);
        continue;
      }
      if (part === null && field.typeName !== "google.protobuf.Value") continue;
      if (field.oneof) {
        if (chosen[field.oneof]) wrong.push(`${at}: only one of ${chosen[field.oneof]} and ${key} may be set`);
        chosen[field.oneof] = key;
      }
      wrong.push(...this.checkField(field, part, at));
    }
    for (const field of this.fields(type))
      if (field.required && !(field.json in value) && !(field.name in value))
        wrong.push(`${path ? `${path}.` : ""}${field.json}: is required`);
    return wrong;
  }

  checkField(field, value, at) {
    if (field.repeated) {
      if (!Array.isArray(value)) return [`${at}: must be an array [ ]`];
      return value.flatMap((one, i) => this.checkOne(field, one, `${at}[${i}]`));
    }
    if (field.mapKey) {
      if (typeof value !== "object" || Array.isArray(value)) return [`${at}: must be an object { }`];
      return Object.entries(value).flatMap(([key, one]) => [
        ...(field.mapKey === "string" ? [] : this.checkScalar({ type: field.mapKey }, field.mapKey === "bool" ? key === "true" || (key !== "false" && key) : key, `${at}["${key}"]`)),
        ...this.checkOne(field, one, `${at}["${key}"]`)]);
    }
    return this.checkOne(field, value, at);
  }

  checkOne(field, value, at) {
    return field.type === "message" || field.type === "group" ? this.check(field.typeName, value, at) : this.checkScalar(field, value, at);
  }

  checkScalar(field, value, at) {
    const { type } = field;
    if (type === "bool") return typeof value === "boolean" ? [] : [`${at}: must be true or false`];
    if (type === "string") return typeof value === "string" ? [] : [`${at}: must be text in quotes`];
    if (type === "bytes")
      return typeof value === "string" && /^[\w+/-]*={0,2}$/.test(value) ? [] : [`${at}: must be base64 in quotes`];
    if (type === "enum") {
      const values = this.enumValues(field.typeName);
      if (typeof value === "number") return Number.isInteger(value) ? [] : [`${at}: must be a whole number or a name`];
      return values.some((one) => one.name === value) ? [] : [`${at}: ${field.typeName} has no value ${JSON.stringify(value)}`];
    }
    if (isFloat(type)) {
      const fits = typeof value === "number" || ["NaN", "Infinity", "-Infinity"].includes(value) ||
                   (typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value)));
      return fits ? [] : [`${at}: must be a number`];
    }
    if (isInteger(type)) {
      let number;
      try {
        number = typeof value === "number" || (typeof value === "string" && value.trim()) ? BigInt(value) : undefined;
      } catch {
        number = undefined;
      }
      if (number === undefined) return [`${at}: must be a whole number`];
      const [least, most] = integers[type];
      return number >= least && number <= most ? [] : [`${at}: is not between ${least} and ${most} (${type})`];
    }
    return [];
  }

  similar(type, key) {
    const same = this.fields(type).find((field) => field.json.toLowerCase() === key.toLowerCase().replaceAll("_", ""));
    const near = same ?? this.fields(type).find((field) => distance(field.json, key) <= Math.min(2, Math.ceil(key.length / 3)));
    return near ? `: did you mean ${near.json}?` : "";
  }
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

/** What may stand at the end of `text`, an unfinished message of that type: {begin, options}; options replace what follows begin. */
export function completions(schema, type, text) {
  const stack = [];
  let expected = { kind: "value", field: { type: "message", typeName: type } };
  const token = /\s+|"(?:[^"\\]|\\.)*("?)|[{}[\],:]|[^\s{}[\],:"]+/g;
  let unfinished = null;
  for (const match of text.matchAll(token)) {
    const word = match[0];
    const atEnd = match.index + word.length === text.length;
    const top = stack.at(-1);
    if (/^\s/.test(word)) continue;
    if (word.startsWith('"') ? match[1] === "" || word === '"' : !/[{}[\],:]/.test(word) && atEnd) {
      unfinished = { begin: match.index, text: word };
      break;
    }
    if (word === "{") {
      const field = expected.field;
      stack.push({ close: "}", type: field?.type === "message" ? field.typeName : undefined, map: expected.map, seen: new Set() });
      expected = { kind: "key" };
    } else if (word === "[") {
      stack.push({ close: "]", field: expected.field });
      expected = { kind: "value", field: expected.field };
    } else if (word === "}" || word === "]") {
      if (top?.close !== word) return { begin: text.length, options: [] };
      stack.pop();
      expected = { kind: "after" };
    } else if (word === ",") {
      if (!top) return { begin: text.length, options: [] };
      expected = top.close === "}" ? { kind: "key" } : { kind: "value", field: top.field };
    } else if (word === ":") {
      const field = top?.map ?? schema.field(top?.type, top?.key);
      const element = field && { ...field, repeated: undefined, mapKey: undefined };
      expected = { kind: "value", field: element, list: !top?.map && field?.repeated, map: !top?.map && field?.mapKey ? element : undefined };
    } else if (expected.kind === "key") {
      try {
        top.key = JSON.parse(word);
      } catch {
        return { begin: text.length, options: [] };
      }
      top.seen?.add(top.key);
      expected = { kind: "colon" };
    } else expected = { kind: "after" };
  }
  const begin = unfinished?.begin ?? text.length;
  const typed = unfinished?.text ?? "";
  return { begin, options: optionsAt(schema, stack.at(-1), expected).filter((one) => one.text.startsWith(typed) && one.text !== typed) };
}

function optionsAt(schema, top, expected) {
  if (expected.kind === "key" && top?.type && !top.map) {
    const taken = new Set(schema.fields(top.type).filter((field) => top.seen.has(field.json) && field.oneof).map((field) => field.oneof));
    return schema.fields(top.type)
      .filter((field) => !top.seen.has(field.json) && !taken.has(field.oneof))
      .map((field) => ({ text: `"${field.json}": `, label: field.json, hint: typeText(field) }));
  }
  if (expected.kind !== "value" || !expected.field) return [];
  if (expected.list) return [{ text: "[", label: "[ ]", hint: typeText(expected.field) }];
  if (expected.map) return [{ text: "{", label: "{ }", hint: "map" }];
  const { type, typeName } = expected.field;
  if (type === "enum") return schema.enumValues(typeName).map((one) => ({ text: `"${one.name}"`, label: one.name, hint: String(one.number) }));
  if (type === "bool" || typeName === "google.protobuf.BoolValue") return ["true", "false"].map((one) => ({ text: one, label: one, hint: "" }));
  if (type === "message" && !isWellKnown(typeName)) return [{ text: "{", label: "{ }", hint: typeName }];
  return [];
}

/** A field's type as a .proto spells it. */
export function typeText(field) {
  const one = field.typeName?.split(".").pop() ?? field.type;
  if (field.mapKey) return `map<${field.mapKey}, ${one}>`;
  return field.repeated ? `repeated ${one}` : one;
}

export const kindOf = (method) =>
  method.clientStreaming ? (method.serverStreaming ? "bidi" : "client stream") : method.serverStreaming ? "server stream" : "unary";
