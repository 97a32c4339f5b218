// The pages of operators: the fragment of the address names the page, which is read again every second or two.
// What follows a slash is what the page is about: #rpcz/package.Service/Method.

import { read } from "./api.js";
import { byId, element } from "./dom.js";
import { setUpTheme } from "./theme.js";
import { views } from "./views.js";

let timer = 0;
let paused = false;
let serial = 0; // of the newest request: older answers are dropped

const named = () => location.hash.slice(1).split("/", 1)[0];
const chosen = () => (Object.hasOwn(views, named()) ? named() : "overview");
const subject = () => location.hash.slice(1 + named().length + 1);

function showState(text, isFailure = false) {
  byId("state").replaceChildren(element("span", { class: isFailure ? "failure" : "" }, text));
}

// What the reader has scrolled, selected or reached by Tab stays as it is.
function keepingPlace(change) {
  const label = document.activeElement?.getAttribute("aria-label");
  const scrolled = [...document.querySelectorAll("main [tabindex][aria-label]")].map((one) => [one.ariaLabel, one.scrollLeft, one.scrollTop]);
  change();
  for (const one of document.querySelectorAll("main [tabindex][aria-label]")) {
    const before = scrolled.find(([name]) => name === one.ariaLabel);
    if (before) [, one.scrollLeft, one.scrollTop] = before;
    if (label && label === one.ariaLabel) one.focus({ preventScroll: true });
  }
}

async function refresh() {
  clearTimeout(timer);
  const name = chosen();
  const { title, make, every, query } = views[name];
  const mine = ++serial;
  try {
    const answer = await read(name, query?.(subject()));
    if (mine !== serial) return;
    if (!getSelection()?.toString()) keepingPlace(() => byId("main").replaceChildren(element("h2", {}, title), ...make(answer, refresh, subject())));
    showState(paused ? "Paused" : every ? `Updated at ${new Date().toLocaleTimeString()}` : location.host);
  } catch (error) {
    if (mine !== serial) return;
    showState(error.message, true);
  }
  if (!paused && every) timer = setTimeout(refresh, every);
}

function showPage() {
  const name = chosen();
  document.title = `${views[name].title} · Coracle pages`;
  for (const link of document.querySelectorAll("nav a"))
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  byId("main").replaceChildren(element("h2", {}, views[name].title));
  refresh();
}

setUpTheme();
byId("pages").append(...Object.entries(views).map(([name, { title }]) => element("li", {}, element("a", { href: `#${name}` }, title))));
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  byId("pause").textContent = paused ? "Continue" : "Pause";
  refresh();
});
addEventListener("hashchange", showPage);
showPage();
