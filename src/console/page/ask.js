// A dialog that asks for a few texts.

import { button, element, shown, uniqueId } from "./dom.js";

/**
 * `fields` are {label, value, options}: with options, one of them. Calls `take` with the texts when the user confirms; the dialog
 * stays open with the message if that throws an Error.
 */
export function ask(title, fields, confirm, take) {
  const inputs = fields.map(({ value, options }) => options
    ? element("select", { id: uniqueId() }, ...options.map((one) => element("option", { value: one, selected: one === value }, one)))
    : element("input", { id: uniqueId(), value, required: true, spellcheck: false, autocomplete: "off" }));
  const failure = element("p", { class: "failure", role: "alert" });
  const rows = fields.map(({ label }, i) => element("div", { class: "field" }, element("label", { for: inputs[i].id }, label), inputs[i]));
  const submit = (event) => {
    event.preventDefault();
    try {
      take(...inputs.map((input) => input.value.trim()));
      dialog.close();
    } catch (error) {
      failure.textContent = shown(error.message);
    }
  };
  const dialog = element("dialog", { class: "ask", "aria-label": title, onclose: () => dialog.remove() }, element("h2", {}, title),
    element("form", { onsubmit: submit }, ...rows, failure,
            element("div", { class: "actions" }, element("button", { class: "main" }, confirm), button("Cancel", () => dialog.close()))));
  document.body.append(dialog);
  dialog.showModal();
  inputs[0]?.select?.();
}
