// The theme that the reader chose in the pages of the site, which keep it by their folder; without a choice, the system's.
try {
  const chosen = JSON.parse(localStorage.getItem(new URL("..", location).pathname + ".__palette"));
  if (chosen && chosen.color.media.includes("-scheme: ")) {
    document.documentElement.dataset.theme = chosen.color.scheme === "slate" ? "dark" : "light";
  }
} catch {
  // There is no storage here: the system's theme.
}

const scrolling = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

function name(selector, attributes) {
  for (const element of document.querySelectorAll(selector)) {
    for (const [key, value] of Object.entries(attributes)) {
      if (element.getAttribute(key) !== value) element.setAttribute(key, value);
    }
  }
}

// Doxygen makes the search field anew when the window becomes narrow.
function nameHead() {
  name("#MSearchField", { "aria-label": "Search the API", placeholder: "Search" });
  name("#main-menu-state", { "aria-label": "Menu" });
}

// Doxygen gives its parts no names for a screen reader, and areas that scroll no way for the keyboard.
addEventListener("DOMContentLoaded", () => {
  nameHead();
  new MutationObserver(nameHead).observe(document.getElementById("top"), { childList: true, subtree: true });
  name("#doc-content", { role: "main", tabindex: "-1" });
  name("#side-nav", { role: "navigation", "aria-label": "All names" });
  name("#main-nav", { role: "navigation", "aria-label": "Lists of names" });
  for (const area of document.querySelectorAll("div.fragment, pre.fragment, .memproto, table.markdownTable, table.memberdecls")) scrolling.observe(area);
});
