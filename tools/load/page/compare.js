"use strict";
// Draws window.comparison: {before, after: the results, compared: [{run, name, unit, before, after}], conditions}.
(() => {
  const { count, digits, ms, bytes, moment, element, child, colour, line, logarithmic, inTime, chart } = drawing;
  const { before, after, compared, conditions } = window.comparison;

  const valueOf = ({ unit }, value) => {
    if (unit === "ms") return ms(value);
    if (unit === "B") return value < 10000 ? `${count(value)} B` : bytes(value);
    return unit === "%" ? `${digits(value)} %` : `${count(value)}${unit}`;
  };
  const sign = (value, text) => (value < 0 ? "−" : value > 0 ? "+" : "") + text;
  // The change as people say it: a factor from ten times on.
  const changeOf = ({ unit, before: x, after: y }) => {
    if (unit === "%") return sign(y - x, `${digits(Math.abs(y - x))} points`);
    if (x === y) return "0 %";
    if (x === 0) return "new";
    if (y / x >= 10) return `× ${count(y / x)}`;
    if (y > 0 && y / x <= 0.1) return `÷ ${count(x / y)}`;
    return sign(y - x, `${digits(Math.abs((100 * (y - x)) / x))} %`);
  };
  // Of runs that differ, changes are neither better nor worse.
  const judged = ({ name, unit, before: x, after: y }) => {
    if (!element("notice").hidden) return "";
    const large = unit === "%" ? Math.abs(y - x) >= 0.1 : x === 0 ? y !== 0 : Math.abs(y - x) / x >= 0.05;
    if (!large) return "";
    return y > x === (name === "rate") ? "better" : "worse";
  };

  function runsTable() {
    const first = (result) => result.runs[0];
    const many = before.runs.length > 1 || after.runs.length > 1;
    // Results of earlier versions lack some.
    const each = (of) => (result) => result.runs.map((run) => (many ? `${run.name}: ${of(run) || "–"}` : of(run))).join(", ");
    const lines = [
      ["scenario", each((run) => run.scenario)], ["method", each((run) => (run.methods || []).map((one) => one.method).join(", "))],
      ["data", each((run) => (run.data || []).join(", "))], ["protocol", each((run) => run.protocol)], ["target", each((run) => run.target)], ["took", each((run) => ms(1000 * run.seconds))],
      ["calls", each((run) => count(run.calls))], ["began", (result) => moment(first(result).started)], ["version", (result) => result.version],
      ["host", ({ host }) => (host ? `${host.name}, ${host.system}, CPUs: ${host.cpus}` : "–")], ["command", (result) => result.command],
    ];
    const rows = lines.map(([name, of]) => [name, of(before) || "–", of(after) || "–"]);
    const mayDiffer = ["target", "took", "calls", "began", "version", "command"];
    const differs = ([name, x, y]) => x !== y && !mayDiffer.includes(name);
    drawing.table(element("runs-table"), ["", "before", "after"],
                  rows.map((row) => [differs(row) ? { text: row[0], note: "differs", name: "differs" } : row[0],
                              ...row.slice(1).map((text) => (row[0] === "command" ? { text, isCommand: true } : text))]), ["", "words", "words"]);
    const different = rows.filter(differs).map(([name]) => name);
    element("notice").hidden = different.length === 0;
    element("notice").firstElementChild.textContent = `The runs differ in their ${different.join(" and ")}: the changes below may come from that, and are not judged.`;
  }

  function tiles(to, rows) {
    const together = (text) => text.replace(" ", "\u00a0");
    for (const one of rows.filter(({ name }) => ["rate", "errors", "p50", "p99"].includes(name))) {
      const tile = child(to, "div", undefined, "tile");
      child(tile, "b", changeOf(one), judged(one));
      child(tile, "span", `${one.name}: ${together(valueOf(one, one.before))} → ${together(valueOf(one, one.after))}`);
    }
  }

  runsTable();
  const names = [...new Set(compared.map(({ run }) => run))];
  const runNamed = (result, name) => (result.runs.length === 1 ? result.runs[0] : result.runs.find((run) => run.name === name));
  const charts = [];
  for (const name of names) {
    const rows = compared.filter(({ run }) => run === name);
    const [x, y] = [before, after].map((result) => runNamed(result, name));
    const section = document.createElement("section");
    element("runs").before(section);
    // The numbers of a method of a run have its name after that of the run, and no curves.
    child(section, "h2", names.length > 1 ? `Changes: ${name}` : "Changes");
    tiles(child(section, "div", undefined, "tiles"), rows);
    const pair = child(section, "div", undefined, x && y ? "pair" : "");
    if (x && y) {
      const canvas = child(child(pair, "div", undefined, "chart"), "canvas");
      canvas.id = `percentiles-${charts.length}`;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", "Latency by percentile, before and after");
      charts.push([canvas.id, x, y]);
    }
    const table = child(child(pair, "div", undefined, "scroll"), "table");
    drawing.table(table, ["", "before", "after", "change"], rows.map((one) =>
      [{ text: one.name, name: "wraps" }, valueOf(one, one.before), valueOf(one, one.after), { text: changeOf(one), note: judged(one), name: judged(one) }]));
  }

  function draw() {
    for (const [id, x, y] of charts) {
      const marks = [...new Set([x, y].flatMap((run) => run.percentiles.map((one) => one.percentile)))].sort((a, b) => a - b);
      const curve = (run) => marks.map((mark) => (run.percentiles.find((one) => one.percentile === mark) || { latency_ms: null }).latency_ms);
      const curves = [curve(x), curve(y)];
      chart(id, "line", { labels: marks.map((mark) => `p${mark}`), datasets: [
        line("before", curves[0], colour("faint"), { borderDash: [6, 4] }), line("after", curves[1], colour("run-0"))] },
        { scales: { x: { title: { display: true, text: "percentile" } }, y: logarithmic("latency", curves.flat()) }, plugins: { tooltip: inTime } });
    }
  }

  element("subtitle").textContent = `Before: ${moment(before.runs[0].started)}. After: ${moment(after.runs[0].started)}.`;
  drawing.verdicts("conditions", ["value", "fails if", "change"],
                   conditions.map((one) => ({ ...one, expected: names.length > 1 ? `${one.run}: ${one.expected}` : one.expected, found: changeOf(one) })));
  drawing.begin(draw);
})();
