// What this browser keeps: the history, the saved calls and the theme. The values of secrets are kept in memory only.

const historyKey = "coracle-console-history";
const savedKey = "coracle-console-saved";
const historyMax = 100;
const exportForm = "coracle console, version 1";

/** Whether metadata of this name is a secret, which exports leave out unless asked. */
export const isSecret = (name) => /^(authorization|proxy-authorization|cookie|set-cookie)$|token|secret|password|passwd|api-?key|session|credential/i.test(name);

export const withoutSecrets = (call) => ({ ...call, metadata: call.metadata.map(([name, value]) => [name, isSecret(name) ? "" : value]) });

function read(key) {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(value) ? value.filter(isCall) : [];
  } catch {
    return [];
  }
}

const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string");

function isCall(call) {
  return typeof call?.method === "string" && Array.isArray(call.messages) && call.messages.every((one) => typeof one === "string") &&
         Array.isArray(call.metadata) && call.metadata.every(isPair);
}

class List {
  constructor(key, max) {
    this.key = key;
    this.max = max;
    this.calls = read(key);
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
    try {
      localStorage.setItem(this.key, JSON.stringify(this.calls.map(withoutSecrets)));
    } catch {
      // Full, or switched off: the list lives as long as the page.
    }
    for (const listener of this.listeners) listener();
  }
}

/** Calls are {method, messages, metadata, timeoutMs, compression}; those of the history have {at, ms, status}, saved ones a name. */
export const past = new List(historyKey, historyMax);
export const saved = new List(savedKey, Infinity);

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
