"use strict";
// Draws window.report. Charts are kept in window.charts, by the id of their canvas.
(() => {
  const runs = window.report.runs;
  const single = runs.length === 1;
  const count = (n) => n.toLocaleString("en", { maximumFractionDigits: n < 100 ? 1 : 0 });
  const ms = (value) => {
    if (value === null || value === undefined) return "–";
    if (value >= 1000) return `${+(value / 1000).toPrecision(3)} s`;
    return value >= 1 ? `${+value.toPrecision(3)} ms` : `${+(value * 1000).toPrecision(3)} µs`;
  };
  const bytes = (value) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let at = 0;
    for (; value >= 1000 && at + 1 < units.length; ++at) value /= 1000;
    return `${+value.toPrecision(3)} ${units[at]}`;
  };
  const percent = (part, whole) => (whole ? `${+((100 * part) / whole).toPrecision(3)} %` : "–");
  const named = (run, what) => (single ? what : `${run.name}: ${what}`);
  const serverOf = (run) => [run.server.address, run.server.software].filter((text) => text).join(", ") || "–";
  const at = (run, name) => (run.latency_ms ? run.latency_ms[name] : null);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const faded = (hex, share) => hex + Math.round(share * 255).toString(16).padStart(2, "0");
  const element = (id) => document.getElementById(id);
  const child = (of, tag, text, name) => {
    const made = of.appendChild(document.createElement(tag));
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  // rows: arrays of texts; `words`: the column that holds sentences.
  function table(id, head, rows, words = -1) {
    const to = element(id);
    const top = child(child(to, "thead"), "tr");
    head.forEach((text, column) => child(top, "th", text, column === words ? "words" : ""));
    const body = child(to, "tbody");
    for (const row of rows) {
      const line = child(body, "tr");
      row.forEach((text, column) => child(line, "td", text, column === words ? "words" : ""));
    }
  }

  function tables() {
    const two = (cells) => (run, ...rest) => (single ? cells(run, ...rest) : [run.name, ...cells(run, ...rest)]);
    const head = (...names) => (single ? names : ["run", ...names]);
    const each = (list, cells) => runs.flatMap((run) => run[list].map((one) => two(cells)(run, one)));

    const lines = [
      ["scenario", (r) => r.scenario], ["target", (r) => r.target], ["server", serverOf], ["began", (r) => r.started],
      ["took", (r) => ms(1000 * r.seconds)], ["calls", (r) => count(r.calls)],
      ["planned", (r) => (r.planned === null ? "–" : count(r.planned))],
      ["OK", (r) => count(r.ok)], ["failed", (r) => `${count(r.failed)} (${percent(r.failed, r.calls)})`],
      ["rate of successful calls", (r) => `${count(r.rate_per_s)}/s`],
      ...["min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"].map((name) => [name, (r) => ms(at(r, name))]),
      ["messages sent", (r) => `${count(r.messages_sent)} (${bytes(r.bytes_sent)})`],
      ["messages received", (r) => `${count(r.messages_received)} (${bytes(r.bytes_received)})`],
      ["on the wire", (r) => `${bytes(r.wire_bytes_sent)} sent, ${bytes(r.wire_bytes_received)} received`],
      ["message bytes per call, sent / received", (r) => `${count(r.per_call.bytes_sent)} / ${count(r.per_call.bytes_received)}`],
      ["bytes per call on the wire, sent / received", (r) => `${count(r.per_call.wire_bytes_sent)} / ${count(r.per_call.wire_bytes_received)}`],
      ["connections made", (r) => count(r.connects.made)], ["connections failed", (r) => count(r.connects.failed)],
      ["reconnects", (r) => count(r.connects.reconnects)],
      ["connecting, p50", (r) => ms(r.connects.latency_ms && r.connects.latency_ms.p50)],
      ["connecting, p99", (r) => ms(r.connects.latency_ms && r.connects.latency_ms.p99)],
    ];
    table("overview-table", ["", ...runs.map((run) => run.name)], lines.map(([name, of]) => [name, ...runs.map(of)]));
    table("rate-table", head("second", "OK", "failed", "active", "sent on the wire", "received"), each("per_second", (run, s) =>
      [s.second, count(s.ok), count(s.failed), count(s.active), bytes(s.wire_bytes_sent), bytes(s.wire_bytes_received)]));
    table("latency-table", head("second", "p50", "p90", "p95", "p99", "max"), each("per_second", (run, s) =>
      [s.second, ...["p50", "p90", "p95", "p99", "max"].map((name) => ms(at(s, name)))]));
    table("bands-table", head("band", "calls", "share"), runs.flatMap((run) => bandsOf(run).map((band) =>
      two(() => [band.name, count(band.calls), percent(band.calls, run.calls)])(run))));
    table("histogram-table", head("from", "to", "calls", "share"), each("histogram", (run, bar) =>
      [ms(bar.from_ms), ms(bar.to_ms), count(bar.calls), percent(bar.calls, run.ok)]));
    table("percentiles-table", head("percentile", "latency"), each("percentiles", (run, p) => [p.percentile, ms(p.latency_ms)]));
    table("status-table", head("status", "calls", "share", "first message"), each("statuses", (run, s) =>
      [s.status, count(s.calls), percent(s.calls, run.calls), s.first || ""]), single ? 3 : 4);
    if (runs.some((run) => run.methods.length > 1)) {
      element("methods").hidden = false;
      table("methods-table", head("method", "weight", "calls", "failed", "mean", "p50", "p99", "max"), each("methods", (run, m) =>
        [m.method, m.weight, count(m.calls), count(m.failed), ms(at(m, "mean")), ms(at(m, "p50")), ms(at(m, "p99")), ms(at(m, "max"))]));
    }
  }

  function tiles() {
    for (const run of runs) {
      for (const [text, what, bad] of [
        [`${count(run.rate_per_s)}/s`, "rate"], [count(run.calls), "calls"],
        [percent(run.failed, run.calls), "failed", run.failed > 0],
        [ms(at(run, "p50")), "p50"], [ms(at(run, "p99")), "p99"], [ms(at(run, "max")), "max"],
        [`${count(run.per_call.wire_bytes_sent)} / ${count(run.per_call.wire_bytes_received)}`, "bytes per call, sent / received"]]) {
        const tile = child(element("tiles"), "div", undefined, bad ? "tile bad" : "tile");
        child(tile, "b", text);
        child(tile, "span", named(run, what));
      }
    }
  }

  function verdicts() {
    const all = runs.flatMap((run) => run.expectations.map((one) => ({ run, ...one })));
    if (all.length === 0) return;
    element("verdicts").hidden = false;
    child(element("verdicts"), "h2", all.every((one) => one.met) ? "Thresholds: all met" : "Thresholds: not all met");
    const list = child(element("verdicts"), "ul");
    for (const one of all)
      child(list, "li", `${named(one.run, one.expected)} – ${one.met ? "met" : "not met"}: it is ${one.found}`, one.met ? "met" : "missed");
  }

  function bandsOf(run) {
    const bands = run.bands.map((band, i) => ({
      name: i === 0 && band.to_ms !== null ? `below ${ms(band.to_ms)}` : band.to_ms === null ? `${ms(band.from_ms)} and more` : `${ms(band.from_ms)} to ${ms(band.to_ms)}`,
      calls: band.calls,
    }));
    return [...bands, { name: "failed", calls: run.failed }];
  }

  function draw() {
    Object.assign(Chart.defaults, { color: colour("faint"), borderColor: colour("line"), animation: false, responsive: true, maintainAspectRatio: false });
    const ink = (i) => colour(`run-${i % 2}`);
    const line = (label, data, shade, more = {}) => ({
      label, data, borderColor: shade, backgroundColor: shade, borderWidth: 2,
      pointRadius: (point) => (data.length <= 30 || alone(data, point.dataIndex) ? 2.5 : 0), ...more });
    // No line leads to it.
    const alone = (data, i) => [i - 1, i + 1].every((k) => !data[k] || data[k].y === null);
    const axis = (text, more = {}) => ({ title: { display: true, text }, beginAtZero: true, ...more });
    const time = { type: "linear", title: { display: true, text: "second" }, ticks: { precision: 0 } };
    const logarithmic = (text) => ({ type: "logarithmic", title: { display: true, text }, ticks: { callback: (value) => (Math.log10(value) % 1 === 0 ? ms(value) : "") } });
    const inTime = { callbacks: { label: (item) => `${item.dataset.label}: ${ms(item.parsed.y)}` } };
    const chart = (id, type, data, options) => {
      if (window.charts[id]) window.charts[id].destroy();
      window.charts[id] = new Chart(element(id), { type, data, options: { interaction: { mode: "index", intersect: false }, ...options } });
    };
    // A piece of a second says little, unless there is nothing else.
    const whole = (run) => run.per_second.filter((s) => s.length_s > 0.5 || run.per_second.length === 1);

    chart("rate-chart", "line", { datasets: runs.flatMap((run, i) => [
      line(named(run, "OK, calls/s"), whole(run).map((s) => ({ x: s.second, y: s.ok / (s.length_s || 1) })), ink(i)),
      line(named(run, "failed, calls/s"), whole(run).map((s) => ({ x: s.second, y: s.failed / (s.length_s || 1) })), colour("bad"), { borderDash: i ? [2, 3] : [] }),
      ...(whole(run).some((s) => s.planned !== undefined)
        ? [line(named(run, "planned, calls/s"), whole(run).map((s) => ({ x: s.second, y: s.planned / (s.length_s || 1) })), colour("faint"), { borderDash: [2, 4], pointRadius: 0 })] : []),
      line(named(run, "active"), whole(run).map((s) => ({ x: s.second, y: s.active })), faded(ink(i), 0.55), { yAxisID: "active", borderDash: [6, 4], stepped: true }),
    ]) }, { scales: { x: time, y: axis("calls/s"), active: axis("active", { ticks: { precision: 0 }, position: "right", grid: { drawOnChartArea: false } }) } });

    // A series for each name that any second has.
    const series = (run, names, value, shades) => names.map((name, k) => line(named(run, name),
      whole(run).map((s) => ({ x: s.second, y: value(s, name) })), shades[k % shades.length], k < shades.length ? {} : { borderDash: [6, 4] }));
    const palette = ["run-0", "run-1", "fair", "poor", "bad", "good", "faint"].map(colour);
    if (runs.some((run) => run.failed > 0)) {
      element("failures").hidden = false;
      chart("failures-chart", "line", { datasets: runs.flatMap((run) => series(run,
        [...new Set(run.per_second.flatMap((s) => Object.keys(s.statuses || {})))],
        (s, status) => ((s.statuses || {})[status] || 0) / (s.length_s || 1), ["bad", "poor", "fair", "faint"].map(colour))) },
        { scales: { x: time, y: axis("calls/s") } });
    }
    if (runs.some((run) => run.methods.length > 1)) {
      const names = (run) => run.methods.map((m) => m.method);
      const of = (s, name) => (s.methods || []).find((m) => m.method === name) || { ok: 0, failed: 0, latency_ms: null };
      chart("methods-chart", "line", { datasets: runs.flatMap((run) => series(run, names(run), (s, name) => of(s, name).ok / (s.length_s || 1), palette)) },
        { scales: { x: time, y: axis("OK, calls/s") } });
      chart("methods-latency-chart", "line", { datasets: runs.flatMap((run) => series(run, names(run), (s, name) => at(of(s, name), "p99"), palette)) },
        { scales: { x: time, y: axis("p99, ms") }, plugins: { tooltip: inTime } });
    }

    const curves = single ? [["p50", "good"], ["p90", "fair"], ["p95", "poor"], ["p99", "bad"], ["max", "faint"]] : [["p50"], ["p99"]];
    chart("latency-chart", "line", { datasets: runs.flatMap((run, i) => curves.map(([name, shade], n) =>
      line(named(run, name), whole(run).map((s) => ({ x: s.second, y: at(s, name) })),
        shade ? colour(shade) : ink(i), single || n === 0 ? {} : { borderDash: [6, 4] }))) },
      { scales: { x: time, y: axis("ms") }, plugins: { tooltip: inTime } });

    const shades = ["good", "fair", "poor"];
    const bandShade = (run, k) => (k === run.bands.length ? colour("bad") : colour(shades[Math.min(k, 2)]));
    chart("bands-chart", "bar", { labels: bandsOf(runs[0]).map((band) => band.name), datasets: runs.map((run, i) => ({
      label: single ? "calls" : run.name, data: bandsOf(run).map((band) => band.calls),
      backgroundColor: single ? bandsOf(run).map((_, k) => bandShade(run, k)) : ink(i), maxBarThickness: 90 })) },
      { scales: { y: axis("calls", { ticks: { precision: 0 } }) }, plugins: { legend: { display: !single } } });

    const edges = [...new Map(runs.flatMap((run) => run.histogram.map((bar) => [bar.from_ms.toPrecision(6), bar]))).values()].sort((a, b) => a.from_ms - b.from_ms);
    chart("histogram-chart", "bar", { labels: edges.map((bar) => `to ${ms(bar.to_ms)}`), datasets: runs.map((run, i) => ({
      label: named(run, "calls"), backgroundColor: faded(ink(i), 0.8), categoryPercentage: 1, barPercentage: 0.92,
      data: edges.map((edge) => run.histogram.filter((bar) => bar.from_ms.toPrecision(6) === edge.from_ms.toPrecision(6)).reduce((sum, bar) => sum + bar.calls, 0)) })) },
      { scales: { x: { title: { display: true, text: "latency" } }, y: axis("calls", { ticks: { precision: 0 } }) }, plugins: { legend: { display: !single } } });

    const marks = [...new Set(runs.flatMap((run) => run.percentiles.map((p) => p.percentile)))].sort((a, b) => a - b);
    chart("percentiles-chart", "line", { labels: marks.map((mark) => `p${mark}`), datasets: runs.map((run, i) =>
      line(named(run, "latency"), marks.map((mark) => { const p = run.percentiles.find((one) => one.percentile === mark); return p ? p.latency_ms : null; }), ink(i))) },
      { scales: { y: logarithmic("latency") }, plugins: { tooltip: inTime, legend: { display: !single } } });

    const states = [...new Set(runs.flatMap((run) => run.statuses.map((s) => s.status)))];
    const calls = (run, state) => run.statuses.filter((s) => s.status === state).reduce((sum, s) => sum + s.calls, 0);
    chart("status-chart", "bar", { labels: states, datasets: runs.map((run, i) => ({
      label: named(run, "calls"), data: states.map((state) => calls(run, state)), maxBarThickness: 48,
      backgroundColor: single ? states.map((state) => colour(state === "OK" ? "good" : "bad")) : ink(i) })) },
      { indexAxis: "y", scales: { x: axis("calls", { ticks: { precision: 0 } }) }, plugins: { legend: { display: !single } } });
  }

  window.charts = {};
  document.title = `Load report: ${runs.map((run) => run.target).join(", ")}`;
  element("subtitle").textContent = runs.map((run) => `${run.name} on ${run.target}: ${run.scenario}${run.interrupted ? " (interrupted)" : ""}`).join(" · ");
  const host = window.report.host;
  element("command").textContent = window.report.command;
  element("made-by").textContent =
    `Made by ${window.report.program} ${window.report.version} on ${host.name} (${host.system}, CPUs: ${host.cpus}).`;
  verdicts();
  tiles();
  tables();
  draw();
  const text = JSON.stringify(window.report, null, 2);
  element("download-json").href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("copy-json").addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    element("copy-json").textContent = "Copied";
  });
  // An area that scrolls is reached by Tab; one that does not is no stop on the way.
  const areas = [...document.querySelectorAll(".scroll")];
  for (const area of areas) {
    area.setAttribute("role", "region");
    area.setAttribute("aria-label", `${area.closest("section").querySelector("h2").textContent}: table`);
  }
  const letTabReach = () => {
    for (const area of areas)
      if (area.scrollWidth > area.clientWidth || area.scrollHeight > area.clientHeight) area.tabIndex = 0;
      else area.removeAttribute("tabindex");
  };
  letTabReach();
  addEventListener("resize", letTabReach);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
