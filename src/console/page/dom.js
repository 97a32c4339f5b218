// Elements of the page. Every text, also those that a server chose, becomes a text node.

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
  made.append(...children.filter((child) => child !== null && child !== undefined));
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

/** JSON with a span for each token, so that the style sheet colors it. */
export function coloredJson(text) {
  const fragment = document.createDocumentFragment();
  const token = /"(?:[^"\\]|\\.)*"?(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
  let at = 0;
  for (const match of text.matchAll(token)) {
    fragment.append(text.slice(at, match.index));
    const kind = match[0].startsWith('"') ? (match[1] ? "key" : "string") : /^[tfn]/.test(match[0]) ? "word" : "number";
    fragment.append(element("span", { class: `json-${kind}` }, match[0]));
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

export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
