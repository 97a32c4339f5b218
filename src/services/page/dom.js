// Elements of the page. Every text, also those that a server chose, becomes a text node.

// What moves, hides or reorders text: control characters but for line ends, and Unicode's format characters.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/gu;

/** A text that a server chose, with such characters as escapes of JSON: it must not imitate another text. */
export function shown(text) {
  const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(hidden, (character) => character.split("").map(escape).join(""));
}

/** Makes an element. `properties` are those of the object; `class`, `data` and ARIA attributes are set as such. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") made.className = value;
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (typeof child === "string" ? shown(child) : child)));
  return made;
}

export function button(text, onclick, properties = {}) {
  return element("button", { type: "button", onclick, ...properties }, text);
}

export function byId(id) {
  return document.getElementById(id);
}

let lastId = 0;
export function uniqueId() {
  return `made-${++lastId}`;
}

/** JSON with a span for each token, so that the style sheet colors it. The characters stay: the editor lies over them. */
export function coloredJson(text) {
  const fragment = document.createDocumentFragment();
  const token = /"(?:[^"\\]|\\.)*"?(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
  let at = 0;
  for (const match of text.matchAll(token)) {
    fragment.append(text.slice(at, match.index));
    const kind = match[0].startsWith('"') ? (match[1] ? "key" : "string") : /^[tfn]/.test(match[0]) ? "word" : "number";
    fragment.append(element("span", { class: `json-${kind}`, textContent: match[0] }));
    at = match.index + match[0].length;
  }
  fragment.append(text.slice(at));
  return fragment;
}

// protobuf escapes these for pages that put JSON into HTML.
const unescaped = (text) => text.replace(/\\(u003[ce]|.)/gi, (escape, code) => ({ u003c: "<", u003e: ">" })[code.toLowerCase()] ?? escape);

/** Indents JSON, without reading its numbers: those of more than 53 bits would change. */
export function indentedJson(text) {
  let out = "";
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === "{" || token === "[") {
      depth++;
      out += token + line();
    } else if (token === "}" || token === "]") {
      depth--;
      out += line() + token;
    } else if (token === ",") out += token + line();
    else if (token === ":") out += ": ";
    else out += /^[{[]/.test(token) ? token.replace(/\s+/, "") : unescaped(token);
  }
  return out;
}

/** A time with the unit that suits it. */
export function duration(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
}

export async function copyText(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { value: text });
    from.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = from.textContent;
  from.textContent = "Copied";
  setTimeout(() => (from.textContent = before), 1200);
}

export function download(name, text, type = "application/json") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
