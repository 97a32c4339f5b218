"use strict";
// Draws window.report.
(() => {
  const { count, ms, bytes, moment, percent, element, child, colour, faded, line, axis, logarithmic, inTime, chart } = drawing;
  const runs = window.report.runs;
  const single = runs.length === 1;
  const named = (run, what) => (single ? what : `${run.name}: ${what}`);
  const serverOf = (run) => [run.server.address, run.server.software].filter((text) => text).join(", ") || "–";
  const at = (run, name) => (run.latency_ms ? run.latency_ms[name] : null);
  const anyFailed = runs.some((run) => run.failed > 0);
  const anyOk = runs.some((run) => run.ok > 0);
  const severalMethods = runs.some((run) => run.methods.length > 1);
  const hasBands = runs.some((run) => run.bands.length > 1);
  // A piece of a second says little, unless there is nothing else.
  const whole = (run) => run.per_second.filter((s) => s.length_s > 0.5 || run.per_second.length === 1);
  // What is active: workers or users of a closed loop, calls of an open one.
  const activeIn = ({ scenario }) => ["workers", "users"].find((one) => new RegExp(`^[\\d,]+ ${one}?\\b`).test(scenario)) ?? "calls";
  const takesTime = runs.some((run) => whole(run).length > 1);

  function tables() {
    const two = (cells) => (run, ...rest) => (single ? cells(run, ...rest) : [run.name, ...cells(run, ...rest)]);
    const head = (...names) => (single ? names : ["run", ...names]);
    const each = (list, cells) => runs.flatMap((run) => run[list].map((one) => two(cells)(run, one)));
    const table = (id, top, rows, classes = []) => drawing.table(element(id), head(...top), rows, single ? classes : ["", ...classes]);

    const lines = [
      ["scenario", (r) => r.scenario], ["target", (r) => r.target], ["server", serverOf], ["began", (r) => moment(r.started)],
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
    drawing.table(element("overview-table"), ["", ...runs.map((run) => run.name)],
                  lines.map(([name, of]) => [name, ...runs.map(of)]).filter(([, ...values]) => values.some((value) => value !== "–")));
    if (takesTime) {
      element("rate").hidden = element("latency").hidden = false;
      element("rate-title").textContent = `Rate and active ${[...new Set(runs.map(activeIn))].join(" and ")} over time`;
      table("rate-table", ["second", "OK", "failed", "active", "sent", "received"], each("per_second", (run, s) =>
        [s.second, count(s.ok), count(s.failed), count(s.active), bytes(s.wire_bytes_sent), bytes(s.wire_bytes_received)]));
      table("latency-table", ["second", "p50", "p90", "p95", "p99", "max"], each("per_second", (run, s) =>
        [s.second, ...["p50", "p90", "p95", "p99", "max"].map((name) => ms(at(s, name)))]));
    }
    if (hasBands) {
      element("bands").hidden = false;
      table("bands-table", ["band", "calls", "share"], runs.flatMap((run) => bandsOf(run).map((band) =>
        two(() => [band.name, count(band.calls), percent(band.calls, run.calls)])(run))));
    }
    if (anyOk) {
      element("histogram").hidden = element("percentiles").hidden = false;
      table("histogram-table", ["from", "to", "calls", "share"], each("histogram", (run, bar) =>
        [ms(bar.from_ms), ms(bar.to_ms), count(bar.calls), percent(bar.calls, run.ok)]));
      const marks = [["min", 0], ["p25", 25], ["p50", 50], ["p75", 75], ["p90", 90], ["p95", 95], ["p99", 99], ["p99.9", 99.9], ["p99.99", 99.99], ["max", 100]];
      const marked = (run, mark) => (run.percentiles.find((one) => one.percentile === mark) || {}).latency_ms;
      drawing.table(element("percentiles-table"), ["percentile", ...runs.map((run) => (single ? "latency" : run.name))],
                    marks.map(([name, mark]) => [name, ...runs.map((run) => ms(marked(run, mark)))]));
    }
    if (anyFailed) {
      element("statuses").hidden = false;
      table("status-table", ["status, and its first message", "calls", "share"], each("statuses", (run, s) =>
        [{ text: s.status, note: s.first }, count(s.calls), percent(s.calls, run.calls)]), ["words"]);
    }
    if (severalMethods) {
      element("methods").hidden = false;
      table("methods-table", ["method", "weight", "calls", "failed", "mean", "p50", "p99", "max"], each("methods", (run, m) =>
        [m.method, m.weight, count(m.calls), count(m.failed), ms(at(m, "mean")), ms(at(m, "p50")), ms(at(m, "p99")), ms(at(m, "max"))]), ["words"]);
    }
  }

  function tiles() {
    for (const run of runs) {
      for (const [text, what, bad] of [
        [`${count(run.rate_per_s)}/s`, "rate"], [count(run.calls), "calls"],
        [percent(run.failed, run.calls), "failed", run.failed > 0],
        [ms(at(run, "p50")), "p50"], [ms(at(run, "p99")), "p99"], [ms(at(run, "max")), "max"]]) {
        const tile = child(element("tiles"), "div", undefined, bad ? "tile bad" : "tile");
        child(tile, "b", text);
        child(tile, "span", named(run, what));
      }
    }
  }

  function bandsOf(run) {
    const bands = run.bands.map((band, i) => ({
      name: i === 0 && band.to_ms !== null ? `below ${ms(band.to_ms)}` : band.to_ms === null ? `${ms(band.from_ms)} and more` : `${ms(band.from_ms)} to ${ms(band.to_ms)}`,
      calls: band.calls,
    }));
    return run.failed > 0 ? [...bands, { name: "failed", calls: run.failed }] : bands;
  }

  function draw() {
    const ink = (i) => colour(`run-${i % 2}`);
    const time = { type: "linear", title: { display: true, text: "second" }, ticks: { precision: 0 } };
    const counted = { ticks: { precision: 0, callback: count } };
    // A series for each name that any second has.
    const series = (run, names, value, shades) => names.map((name, k) => line(named(run, name),
      whole(run).map((s) => ({ x: s.second, y: value(s, name) })), shades[k % shades.length], k < shades.length ? {} : { borderDash: [6, 4] }));
    const values = (datasets) => datasets.flatMap((one) => one.data.map((point) => point.y));

    if (takesTime) {
      chart("rate-chart", "line", { datasets: runs.flatMap((run, i) => [
        line(named(run, "OK, calls/s"), whole(run).map((s) => ({ x: s.second, y: s.ok / (s.length_s || 1) })), ink(i)),
        ...(anyFailed ? [line(named(run, "failed, calls/s"), whole(run).map((s) => ({ x: s.second, y: s.failed / (s.length_s || 1) })), colour("bad"), { borderDash: i ? [2, 3] : [] })] : []),
        ...(whole(run).some((s) => s.planned !== undefined)
          ? [line(named(run, "planned, calls/s"), whole(run).map((s) => ({ x: s.second, y: s.planned / (s.length_s || 1) })), colour("faint"), { borderDash: [2, 4], pointRadius: 0 })] : []),
        line(named(run, "active"), whole(run).map((s) => ({ x: s.second, y: s.active })), faded(ink(i), 0.55), { yAxisID: "active", borderDash: [6, 4], stepped: true }),
      ]) }, { scales: { x: time, y: axis("calls/s", counted), active: axis("active", { ...counted, position: "right", grid: { drawOnChartArea: false } }) } });

      // The maximum is in the table: it would press the other curves together.
      const curves = single ? [["p50", "good"], ["p90", "fair"], ["p95", "poor"], ["p99", "bad"]] : [["p50"], ["p99"]];
      const datasets = runs.flatMap((run, i) => curves.map(([name, shade], n) =>
        line(named(run, name), whole(run).map((s) => ({ x: s.second, y: at(s, name) })),
          shade ? colour(shade) : ink(i), single || n === 0 ? {} : { borderDash: [6, 4] })));
      chart("latency-chart", "line", { datasets }, { scales: { x: time, y: logarithmic("latency", values(datasets)) }, plugins: { tooltip: inTime } });
    }

    const palette = ["run-0", "run-1", "fair", "poor", "bad", "good", "faint"].map(colour);
    if (anyFailed) {
      element("failures-chart").parentElement.hidden = !takesTime;
      if (takesTime)
        chart("failures-chart", "line", { datasets: runs.flatMap((run) => series(run,
          [...new Set(run.per_second.flatMap((s) => Object.keys(s.statuses || {})))],
          (s, status) => ((s.statuses || {})[status] || 0) / (s.length_s || 1), ["bad", "poor", "fair", "faint"].map(colour))) },
          { scales: { x: time, y: axis("failed calls/s", counted) } });
    }
    if (severalMethods) {
      element("methods").querySelector(".pair").hidden = !takesTime;
      const names = (run) => run.methods.map((m) => m.method);
      const of = (s, name) => (s.methods || []).find((m) => m.method === name) || { ok: 0, failed: 0, latency_ms: null };
      if (takesTime) {
        chart("methods-chart", "line", { datasets: runs.flatMap((run) => series(run, names(run), (s, name) => of(s, name).ok / (s.length_s || 1), palette)) },
          { scales: { x: time, y: axis("OK, calls/s", counted) } });
        const datasets = runs.flatMap((run) => series(run, names(run), (s, name) => at(of(s, name), "p99"), palette));
        chart("methods-latency-chart", "line", { datasets }, { scales: { x: time, y: logarithmic("p99", values(datasets)) }, plugins: { tooltip: inTime } });
      }
    }

    if (hasBands) {
      const shades = ["good", "fair", "poor"];
      const bandShade = (run, k) => (k === run.bands.length ? colour("bad") : colour(shades[Math.min(k, 2)]));
      const longest = runs.map(bandsOf).sort((a, b) => b.length - a.length)[0];
      chart("bands-chart", "bar", { labels: longest.map((band) => band.name), datasets: runs.map((run, i) => ({
        label: single ? "calls" : run.name, data: bandsOf(run).map((band) => band.calls),
        backgroundColor: single ? bandsOf(run).map((_, k) => bandShade(run, k)) : ink(i), maxBarThickness: 90 })) },
        { scales: { y: axis("calls", counted) }, plugins: { legend: { display: !single } } });
    }

    if (!anyOk) return;
    const edges = [...new Map(runs.flatMap((run) => run.histogram.map((bar) => [bar.from_ms.toPrecision(6), bar]))).values()].sort((a, b) => a.from_ms - b.from_ms);
    chart("histogram-chart", "bar", { labels: edges.map((bar) => ms(bar.to_ms)), datasets: runs.map((run, i) => ({
      label: named(run, "calls"), backgroundColor: faded(ink(i), 0.8), categoryPercentage: 1, barPercentage: 0.92,
      data: edges.map((edge) => run.histogram.filter((bar) => bar.from_ms.toPrecision(6) === edge.from_ms.toPrecision(6)).reduce((sum, bar) => sum + bar.calls, 0)) })) },
      { scales: { x: { title: { display: true, text: "latency, up to" } }, y: axis("calls", counted) }, plugins: { legend: { display: !single } } });

    const marks = [...new Set(runs.flatMap((run) => run.percentiles.map((p) => p.percentile)))].sort((a, b) => a - b);
    const latencies = runs.map((run) => marks.map((mark) => { const p = run.percentiles.find((one) => one.percentile === mark); return p ? p.latency_ms : null; }));
    chart("percentiles-chart", "line", { labels: marks.map((mark) => `p${mark}`), datasets: runs.map((run, i) => line(named(run, "latency"), latencies[i], ink(i))) },
      { scales: { y: logarithmic("latency", latencies.flat()) }, plugins: { tooltip: inTime, legend: { display: !single } } });
  }

  document.title = `Load report: ${runs.map((run) => run.target).join(", ")}`;
  element("subtitle").textContent = runs.map((run) => `${run.name} on ${run.target}: ${run.scenario}`).join(" · ");
  for (const run of runs.filter((one) => one.interrupted)) {
    element("notice").hidden = false;
    child(element("notice"), "p", `${single ? "Interrupted" : `${run.name}: interrupted`}. The results cover the first ${ms(1000 * run.seconds)}.`);
  }
  const host = window.report.host;
  drawing.command(element("command"), window.report.command);
  element("made-by").textContent =
    `Made by ${window.report.program} ${window.report.version} on ${host.name} (${host.system}, CPUs: ${host.cpus}).`;
  drawing.verdicts("thresholds", ["threshold", "limit", "actual"], runs.flatMap((run) => run.expectations.map((one) => ({ ...one, expected: named(run, one.expected) }))));
  tiles();
  tables();
  drawing.begin(draw);
  const text = JSON.stringify(window.report, null, 2);
  element("download-json").href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("copy-json").addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    element("copy-json").textContent = "Copied";
  });
})();
