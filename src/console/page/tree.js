// The tree of services and their methods, with a filter.

import { byId, element } from "./dom.js";
import { kindOf } from "./schema.js";

const marks = { unary: "→", "client stream": "⇉", "server stream": "⇶", bidi: "⇄" };

export function showTree(schema, choose) {
  const tree = byId("tree");
  // Those of gRPC itself, such as reflection, stand last and closed.
  const isOfGrpc = (service) => service.name.startsWith("grpc.");
  const services = [...schema.services].sort((a, b) => isOfGrpc(a) - isOfGrpc(b));
  tree.replaceChildren(...services.map((service) =>
    element("details", { open: !isOfGrpc(service), class: "service" },
      element("summary", { title: service.comment }, ...nameParts(service.name)),
      service.comment ? element("p", { class: "comment" }, service.comment) : null,
      element("ul", {}, ...service.methods.map((method) =>
        element("li", {}, element("button", {
          type: "button", class: "method", title: method.comment, data: { path: method.path }, onclick: () => choose(method.path),
        }, element("span", { class: "mark", title: kindOf(method), "aria-hidden": "true" }, marks[kindOf(method)]), " ", method.name,
           method.comment ? element("small", {}, method.comment) : null)))))));
  if (schema.services.length === 0) tree.append(element("p", { class: "quiet" }, "The server has no services."));
  if (schema.errors) tree.append(element("p", { class: "failure" }, schema.errors));
  filterTree();
}

function nameParts(name) {
  const dot = name.lastIndexOf(".");
  return [name.slice(dot + 1), dot > 0 ? element("small", {}, name.slice(0, dot)) : null].filter(Boolean);
}

export function markChosen(path) {
  for (const one of byId("tree").querySelectorAll("button.method")) {
    if (one.dataset.path === path) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
}

export function filterTree() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const service of byId("tree").querySelectorAll("details.service")) {
    let any = false;
    for (const item of service.querySelectorAll("li")) {
      const text = `${item.firstElementChild.dataset.path} ${item.textContent}`.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
      any ||= !item.hidden;
    }
    service.hidden = !any && words.length > 0;
    if (any && words.length > 0) service.open = true;
  }
}

/** Up and down go from method to method. */
export function moveInTree(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const all = [...byId("tree").querySelectorAll("button.method")].filter((one) => one.offsetParent);
  const at = all.indexOf(document.activeElement);
  const next = all[event.key === "ArrowDown" ? at + 1 : at - 1];
  if (next) next.focus();
  else if (event.key === "ArrowUp") byId("filter").focus();
  event.preventDefault();
}
