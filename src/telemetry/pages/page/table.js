// Tables, and values as people read them.

import { duration, element } from "./dom.js";

export const number = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 }));
export const time = (seconds) => (seconds === null ? "–" : new Date(seconds * 1000).toLocaleString());
export const ms = (value) => (value === null ? "–" : value < 0 ? `−${duration(-value)}` : duration(value));
export const span = (seconds) => {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"]].filter(([size]) => seconds >= size).slice(0, 1);
  return parts.length ? `${(seconds / parts[0][0]).toFixed(1)} ${parts[0][1]}` : `${seconds.toFixed(1)} s`;
};
export function bytes(value) {
  if (value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; ++unit) value /= 1024;
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A table of `rows`. A column is [heading, value of a row, class]: the value is text or an element. */
export function table(caption, columns, rows) {
  if (!rows.length) return element("p", { class: "quiet" }, `${caption}: none`);
  const cell = (tag, kind, value, more = {}) => element(tag, { class: kind, ...more }, typeof value === "number" ? number(value) : value);
  const head = element("tr", {}, ...columns.map(([heading, , kind]) => cell("th", kind, heading, { scope: "col" })));
  const body = rows.map((row) => element("tr", {}, ...columns.map(([, value, kind]) => cell("td", kind, value(row)))));
  // The region takes the focus, so that the keyboard scrolls it.
  return element("div", { class: "table", tabIndex: 0, role: "region", "aria-label": caption },
                 element("table", { "aria-label": caption }, element("thead", {}, head), element("tbody", {}, ...body)));
}

/** A list of names and values that stand out. */
export function tiles(...pairs) {
  return element("dl", { class: "tiles" }, ...pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/** How near a value is to its limit. */
export function nearness(used, limit, name) {
  if (used === null || limit === null) return "–";
  const part = limit ? used / limit : 1;
  return element("span", {}, element("meter", { min: 0, max: 1, high: 0.8, optimum: 0, value: Math.min(part, 1), "aria-label": name }), ` ${(part * 100).toFixed(1)} %`);
}
