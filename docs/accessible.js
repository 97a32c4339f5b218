// What the theme leaves out: names for a screen reader, and a way for the keyboard to the menu and to areas that scroll.
const scrolling = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const scrolls = target.scrollWidth > target.clientWidth;
    target.classList.toggle("scrolls", scrolls);
    if (scrolls) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

// The theme wraps tables after the page has loaded.
function reach() {
  for (const area of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset p:has(> img[src$='.svg'])")) scrolling.observe(area);
}

// On a telephone, the sections of long pages are folded, but for the one that the address names. Those of some pages are always.
const sections = document.querySelectorAll("details.fold");
function unfold() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = place?.closest("details.fold");
  if (!section || section.open) return;
  section.open = true;
  place.scrollIntoView();
}
if (matchMedia("(max-width: 44rem)").matches) for (const section of sections) section.open = false;
if (sections.length) addEventListener("hashchange", unfold);
addEventListener("beforeprint", () => sections.forEach((section) => { section.open = true; }));
unfold();

document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const menu = document.querySelector("label.md-header__button[for='__drawer']");
if (menu) {
  menu.tabIndex = 0;
  menu.setAttribute("role", "button");
  menu.setAttribute("aria-label", "Menu");
}
reach();
new MutationObserver(reach).observe(document.querySelector(".md-content"), { childList: true, subtree: true });
