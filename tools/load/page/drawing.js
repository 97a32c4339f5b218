"use strict";
// What the report and the comparison share: numbers with their units, tables, and the look of charts.
const drawing = (() => {
  const count = (n) => n.toLocaleString("en", { maximumFractionDigits: n < 100 ? 1 : 0 });
  // Three digits, without an exponent.
  const digits = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 20 });
  const ms = (value) => {
    if (value === null || value === undefined) return "–";
    // Of three digits, 999.5 µs is 1 ms.
    if (value >= 999.5) return `${digits(value / 1000)} s`;
    return value >= 0.9995 || value === 0 ? `${digits(value)} ms` : `${digits(value * 1000)} µs`;
  };
  const bytes = (value) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let at = 0;
    for (; value >= 999.5 && at + 1 < units.length; ++at) value /= 1000;
    return `${digits(value)} ${units[at]}`;
  };
  const moment = (utc) => utc.replace("T", " ").replace("Z", " UTC");
  const percent = (part, whole) => {
    if (!whole) return "–";
    const value = (100 * part) / whole;
    return value > 0 && value < 0.01 ? "< 0.01 %" : `${digits(value)} %`;
  };

  const element = (id) => document.getElementById(id);
  const child = (of, tag, text, name) => {
    const made = of.appendChild(document.createElement(tag));
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  // A line breaks between words, and not after the dashes of an option.
  function command(to, text) {
    for (const part of text.split(/( )/))
      if (/^-\S+$/.test(part)) child(to, "span", part, "option");
      else to.append(part);
  }
  // rows: arrays of texts, or of {text, name, note, isCommand} for a cell with a class and a second line; `classes`: those of whole columns.
  function table(to, head, rows, classes = []) {
    const top = child(child(to, "thead"), "tr");
    head.forEach((text, column) => child(top, text ? "th" : "td", text, classes[column]));
    const body = child(to, "tbody");
    for (const row of rows) {
      const line = child(body, "tr");
      row.forEach((cell, column) => {
        const made = child(line, "td", cell.isCommand ? undefined : cell.text ?? cell, [classes[column], cell.name].filter(Boolean).join(" "));
        if (cell.isCommand) command(made, cell.text);
        if (cell.note) child(made, "small", cell.note);
      });
    }
  }
  // A panel, red if something failed. `rows`: {expected, found, met}, with "p99<20ms" expected; `head`: of the columns.
  function verdicts(title, head, rows) {
    if (rows.length === 0) return;
    const failed = rows.filter((one) => !one.met).length;
    const panel = element("verdicts");
    panel.hidden = false;
    panel.classList.toggle("failed", failed > 0);
    child(panel, "h2", failed > 0 ? `${failed} of ${rows.length} ${title} failed` : `All ${title} passed: ${rows.length}`, failed > 0 ? "missed" : "met");
    table(child(child(panel, "div", undefined, "scroll"), "table"), [...head, "result"], rows.map((one) => {
      const [, what, limit] = /^(.*?)\s*([<>].*)$/.exec(one.expected);
      return [what, limit.replace(/^([<>]=?)\s*/, "$1 ").replace(/(\d) ?us$/, "$1 µs"), one.found,
              { text: one.met ? "passed" : "failed", name: one.met ? "met" : "missed" }];
    }));
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const faded = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, "0");
  // No line leads to it.
  const alone = (data, i) => [i - 1, i + 1].every((k) => !data[k] || data[k].y === null);
  const line = (label, data, shade, more = {}) => ({
    label, data, borderColor: shade, backgroundColor: shade, borderWidth: 2, clip: 6,
    pointRadius: (point) => (data.length <= 30 || alone(data, point.dataIndex) ? 2.5 : 0), ...more });
  const axis = (text, more = {}) => ({ title: { display: true, text }, beginAtZero: true, ...more });
  // Labels at 1, 2 and 5, or at powers of ten where the axis spans many; it begins and ends with a label.
  const logarithmic = (text, values) => {
    const known = values.filter((value) => value > 0);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const steps = [];
    if (known.length > 0)
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
        steps.push(...(high / low > 2000 ? [1] : [1, 2, 5]).map((digit) => +`${digit}e${power}`));
    const min = steps.filter((step) => step <= low).pop();
    const max = steps.find((step) => step >= high && step > min);
    return { type: "logarithmic", min, max, title: { display: true, text },
             afterBuildTicks: (scale) => { scale.ticks = steps.filter((step) => step >= min && step <= (max ?? Infinity)).map((value) => ({ value })); },
             ticks: { callback: ms } };
  };
  const inTime = { callbacks: { label: (item) => `${item.dataset.label}: ${ms(item.parsed.y)}` } };
  // Charts are kept in window.charts, by the id of their canvas.
  window.charts = {};
  function chart(id, type, data, options) {
    Object.assign(Chart.defaults, { color: colour("faint"), borderColor: colour("line"), animation: false, responsive: true, maintainAspectRatio: false });
    Object.assign(Chart.defaults.plugins.legend.labels, { boxWidth: 16, boxHeight: 2 });
    if (window.charts[id]) window.charts[id].destroy();
    window.charts[id] = new Chart(element(id), { type, data, options: { interaction: { mode: "index", intersect: false }, ...options } });
  }

  // A table that does not fit fades at the edge where it goes on, says so, and is reached by Tab; one that fits is no stop on the way.
  function markScrolling() {
    const updates = [...document.querySelectorAll(".scroll")].map((area) => {
      const holder = document.createElement("div");
      area.replaceWith(holder);
      holder.append(area);
      const hint = child(holder, "p", "", "hint");
      area.setAttribute("role", "region");
      area.setAttribute("aria-label", `${area.closest("section").querySelector("h2").textContent}: table`);
      const update = () => {
        const [down, right] = [area.scrollHeight - area.clientHeight, area.scrollWidth - area.clientWidth];
        area.classList.toggle("more-below", area.scrollTop < down - 1);
        area.classList.toggle("more-right", area.scrollLeft < right - 1);
        hint.hidden = down < 1 && right < 1;
        const rows = `${count(area.querySelectorAll("tbody tr").length)} rows: scroll for more`;
        const columns = `${area.querySelectorAll("thead tr > *").length} columns: scroll sideways for more`;
        hint.textContent = [...(down < 1 ? [] : [rows]), ...(right < 1 ? [] : [columns])].join("; ");
        if (hint.hidden) area.removeAttribute("tabindex");
        else area.tabIndex = 0;
      };
      area.addEventListener("scroll", update);
      update();
      return update;
    });
    addEventListener("resize", () => updates.forEach((update) => update()));
  }

  /** Calls `draw` now, and again when the theme of the system changes. */
  function begin(draw) {
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    markScrolling();
  }

  return { count, digits, ms, bytes, moment, percent, element, child, command, table, verdicts, colour, faded, line, axis, logarithmic, inTime, chart, begin };
})();
