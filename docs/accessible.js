// What the theme leaves out: names for a screen reader, and a way for the keyboard to the menu and to areas that scroll.
const scrolling = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

// The theme wraps tables after the page has loaded.
function reach() {
  for (const area of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset p:has(> img[src$='.svg'])")) scrolling.observe(area);
}

document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const menu = document.querySelector("label.md-header__button[for='__drawer']");
if (menu) {
  menu.tabIndex = 0;
  menu.setAttribute("role", "button");
  menu.setAttribute("aria-label", "Menu");
}
reach();
new MutationObserver(reach).observe(document.querySelector(".md-content"), { childList: true, subtree: true });
