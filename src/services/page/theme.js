// The choice of the theme, which the browser keeps for all pages of the same origin.

import { byId } from "./dom.js";

const themeKey = "coracle-theme";

export function setUpTheme() {
  const select = byId("theme");
  const apply = () => (document.documentElement.dataset.theme = select.value);
  select.value = localStorage.getItem(themeKey) ?? "auto";
  if (!select.value) select.value = "auto";
  select.addEventListener("change", () => {
    localStorage.setItem(themeKey, select.value);
    apply();
  });
  apply();
}
