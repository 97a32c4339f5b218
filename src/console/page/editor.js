// The JSON editor: a text area with colors below it, completion from the definitions, and a list of what is wrong.

import { coloredJson, element, uniqueId } from "./dom.js";
import { completions } from "./schema.js";

const lineHeight = 20; // as console.css has it
const offered = 12;

export class Editor {
  /** `onchange` is called with the text when the user has changed it. */
  constructor(schema, type, onchange) {
    this.schema = schema;
    this.type = type;
    this.onchange = onchange;
    const list = uniqueId();
    this.colors = element("pre", { class: "editor-colors", "aria-hidden": "true" });
    this.area = element("textarea", {
      class: "editor-text", spellcheck: false, autocomplete: "off", "aria-label": "Message as JSON", "aria-controls": list,
      "aria-autocomplete": "list", wrap: "off",
      oninput: (event) => this.changed(event), onscroll: () => this.scrolled(), onkeydown: (event) => this.key(event),
      onblur: () => this.close(), onclick: () => this.close(),
    });
    this.list = element("ul", { class: "completions", id: list, role: "listbox", "aria-label": "Completions", hidden: true });
    this.node = element("div", { class: "editor" }, this.colors, this.area, this.list);
    this.options = [];
    this.chosen = 0;
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.scrollLeft = 0;
    this.paint();
    this.close();
  }

  paint() {
    this.colors.replaceChildren(coloredJson(this.area.value), "\n");
    this.area.rows = Math.min(Math.max(this.area.value.split("\n").length + 1, 8), 28);
    this.scrolled();
  }

  scrolled() {
    this.colors.scrollTop = this.area.scrollTop;
    this.colors.scrollLeft = this.area.scrollLeft;
  }

  changed(event) {
    this.paint();
    this.onchange(this.text);
    if (event.inputType?.startsWith("insert") && /["{[:,\w]/.test(event.data ?? "")) this.complete(false);
    else this.close();
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.complete(true);
      return;
    }
    if (!this.list.hidden) {
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in steps) this.choose(this.chosen + steps[event.key]);
      else if (event.key === "Enter" && !event.ctrlKey || event.key === "Tab") this.accept(this.chosen);
      else if (event.key === "Escape") this.close();
      else return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      this.breakLine();
    }
  }

  // A new line is as deep as its braces say.
  breakLine() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    const after = this.area.value.slice(this.area.selectionEnd);
    const indent = /[ ]*$/.exec(/(?:^|\n)([ ]*)[^\n]*$/.exec(before)[1])[0];
    const opens = /[{[]\s*$/.test(before);
    const closes = /^\s*[}\]]/.test(after);
    this.insert(`\n${indent}${opens ? "  " : ""}`, opens && closes ? `\n${indent}` : "");
  }

  insert(text, after = "") {
    this.area.setRangeText(text + after, this.area.selectionStart, this.area.selectionEnd, "end");
    const at = this.area.selectionEnd - after.length;
    this.area.setSelectionRange(at, at);
    this.paint();
    this.onchange(this.text);
  }

  /** Offers what may stand at the cursor; a single option is taken at once if the user has asked for it. */
  complete(asked) {
    const at = this.area.selectionStart;
    const found = completions(this.schema, this.type, this.area.value.slice(0, at));
    this.begin = found.begin;
    this.options = found.options.slice(0, offered);
    if (this.options.length === 0) return this.close();
    if (asked && this.options.length === 1) return this.accept(0);
    this.list.replaceChildren(...this.options.map((option, i) =>
      element("li", { role: "option", id: `${this.list.id}-${i}`, onmousedown: (event) => {
        event.preventDefault();
        this.accept(i);
      } }, element("span", {}, option.label), element("small", {}, option.hint))));
    const before = this.area.value.slice(0, this.begin).split("\n");
    this.list.style.setProperty("--row", String(before.length * lineHeight - this.area.scrollTop));
    this.list.style.setProperty("--column", `${before.at(-1).length}ch`);
    this.list.hidden = false;
    this.choose(0);
  }

  choose(i) {
    this.chosen = (i + this.options.length) % this.options.length;
    [...this.list.children].forEach((item, j) => item.setAttribute("aria-selected", String(j === this.chosen)));
    this.area.setAttribute("aria-activedescendant", this.list.children[this.chosen].id);
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
  }

  accept(i) {
    const option = this.options[i];
    const end = this.area.selectionStart;
    this.close();
    this.area.setSelectionRange(this.begin, end);
    const closing = { "{": "}", "[": "]" }[option.text] ?? "";
    this.insert(option.text, closing);
    if (option.text.endsWith(": ")) this.complete(false);
  }

  close() {
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }
}
