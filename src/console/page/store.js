// What this browser keeps: the history, the saved calls and the theme. The values of secrets are kept in memory only.

const historyKey = "coracle-console-history";
const savedKey = "coracle-console-saved";
const collectionsKey = "coracle-console-collections";
const historyMax = 100;
const exportForm = "coracle console, version 1";

/** Whether metadata of this name is a secret, which exports leave out unless asked. */
export const isSecret = (name) => /^(authorization|proxy-authorization|cookie|set-cookie)$|token|secret|password|passwd|api-?key|session|credential/i.test(name);

const withoutSecrets = (call) => ({ ...call, metadata: call.metadata.map(([name, value]) => [name, isSecret(name) ? "" : value]) });

function read(key, isOne) {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(value) ? value.filter(isOne) : [];
  } catch {
    return [];
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Full, or switched off: the list lives as long as the page.
  }
}

const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string");

function isCall(call) {
  return typeof call?.method === "string" && Array.isArray(call.messages) && call.messages.every((one) => typeof one === "string") &&
         Array.isArray(call.metadata) && call.metadata.every(isPair) &&
         ["name", "collection"].every((text) => call[text] === undefined || typeof call[text] === "string");
}

class List {
  constructor(key, max) {
    this.key = key;
    this.max = max;
    this.calls = read(key, isCall);
    this.listeners = [];
  }

  add(call) {
    this.calls = [call, ...this.calls].slice(0, this.max);
    this.keep();
  }

  remove(call) {
    this.calls = this.calls.filter((one) => one !== call);
    this.keep();
  }

  clear() {
    this.calls = [];
    this.keep();
  }

  keep() {
    write(this.key, this.calls.map(withoutSecrets));
    for (const listener of this.listeners) listener();
  }
}

// Each saved call is in a collection, which may be empty.
class Collections extends List {
  constructor() {
    super(savedKey, Infinity);
    this.calls = this.calls.map((call) => ({ ...call, collection: call.collection || firstCollection }));
    this.names = [...new Set([...read(collectionsKey, (name) => typeof name === "string"), ...this.calls.map((call) => call.collection)])];
  }

  keep() {
    this.names = [...new Set([...this.names, ...this.calls.map((call) => call.collection)])];
    write(collectionsKey, this.names);
    super.keep();
  }

  of(name) {
    return this.calls.filter((call) => call.collection === name);
  }

  /** Throws an Error if there is one of that name. */
  create(name) {
    if (this.names.includes(name)) throw new Error(`there is a collection ${name}`);
    this.names.push(name);
    this.keep();
  }

  /** Throws an Error if there is another one of that name. */
  rename(from, to) {
    if (from === to) return;
    if (this.names.includes(to)) throw new Error(`there is a collection ${to}`);
    this.names = this.names.map((name) => (name === from ? to : name));
    this.calls = this.calls.map((call) => (call.collection === from ? { ...call, collection: to } : call));
    this.keep();
  }

  removeCollection(name) {
    this.names = this.names.filter((one) => one !== name);
    this.calls = this.calls.filter((call) => call.collection !== name);
    this.keep();
  }

  move(call, to) {
    this.calls = this.calls.map((one) => (one === call ? { ...call, collection: to } : one));
    this.keep();
  }

  /** Adds calls of a file, also those of a history. */
  addImported(calls) {
    const added = calls.map(({ at, ms, status, ...call }) => ({ ...call, name: call.name || call.method.split("/").pop(), collection: call.collection || importedCollection }));
    this.calls = [...added, ...this.calls];
    this.keep();
  }
}

export const firstCollection = "Saved calls";
const importedCollection = "Imported";

/** Calls are {method, messages, metadata, timeoutMs, compression}; those of the history have {at, ms, status}, saved ones {name, collection}. */
export const past = new List(historyKey, historyMax);
export const saved = new Collections();

export function exported(calls, secrets) {
  return JSON.stringify({ form: exportForm, calls: secrets ? calls : calls.map(withoutSecrets) }, null, 2) + "\n";
}

/** Throws an Error for a text that is no export. */
export function imported(text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error("the file is not JSON");
  }
  if (content?.form !== exportForm || !Array.isArray(content.calls) || !content.calls.every(isCall))
    throw new Error(`the file is no export of this page ("form" is not "${exportForm}")`);
  return content.calls;
}
