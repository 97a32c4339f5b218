// What each page makes of its JSON.

import { perform } from "./api.js";
import { button, element, shown } from "./dom.js";
import { linkToCalls, query, rpcz } from "./rpcz.js";
import { bytes, ms, nearness, number, span, table, tiles, time } from "./table.js";

const right = "number";
const section = (title, ...parts) => element("section", {}, element("h3", {}, title), ...parts);
const profile = (title, link, path) => section(title, element("p", {}, element("a", { href: path }, link), " for ", element("code", {}, "go tool pprof -http=: FILE")));
const failed = (count) => (count ? element("span", { class: "bad" }, number(count)) : "0");

function overview(of) {
  const columns = [["method", (m) => linkToCalls(m.method)], ["calls/s", (m) => m.started_per_s, right], ["errors/s", (m) => failed(m.failed_per_s), right],
                   ["p50", (m) => ms(m.p50_ms), right], ["p90", (m) => ms(m.p90_ms), right], ["p99", (m) => ms(m.p99_ms), right],
                   ["in progress", (m) => m.in_progress, right], ["started", (m) => m.started, right], ["failed", (m) => failed(m.failed), right]];
  return [
    tiles(["calls/s", number(of.all.started_per_s)], ["errors/s", failed(of.all.failed_per_s)], ["median", ms(of.all.p50_ms)], ["99th percentile", ms(of.all.p99_ms)],
          ["calls in progress", number(of.all.in_progress)], ["connections", number(of.connections)],
          ["memory", `${bytes(of.memory.used_bytes)} of ${bytes(of.memory.limit_bytes)}`], ["rejections", failed(of.rejections)],
          ["state", of.draining ? "draining" : "serving"], ["up", span(of.uptime_s)]),
    section("Methods", table("Methods", columns, of.methods)),
    element("p", { class: "quiet" }, `Rates and latencies are those of the last ${span(of.window_s)}.`),
  ];
}

const connectionColumns = [["id", (c) => String(c.id), right], ["peer", (c) => c.peer || "in process"], ["local", (c) => c.local],
                           ["security", (c) => [c.security, c.protocol, c.cipher].filter(Boolean).join(" ")], ["client", (c) => c.identities.join(", ") || "–"],
                           ["open streams", (c) => c.streams.open, right], ["streams", (c) => c.streams.started, right], ["failed", (c) => failed(c.streams.failed), right],
                           ["sent", (c) => c.messages.sent, right], ["received", (c) => c.messages.received, right],
                           ["may send", (c) => bytes(c.send_window_bytes), right], ["may receive", (c) => bytes(c.receive_window_bytes), right],
                           ["last stream", (c) => time(c.streams.last_started)]];

const events = (caption, all) => table(caption, [["time", (e) => time(e.time)], ["event", (e) => (e.severity === "info" ? e.text : element("span", { class: "bad" }, `${e.severity}: ${e.text}`))],
                                                 ["subchannel", (e) => (e.subchannel === null ? "" : String(e.subchannel))]], [...all].reverse());

function connections(of) {
  return of.servers.map((server) => section(`Server ${server.id} on ${server.listeners.map((l) => l.address).join(", ") || "no address"}`,
      table(`Connections of server ${server.id}`, connectionColumns, server.connections),
      server.connection_count > server.connections.length ? element("p", { class: "quiet" }, `${number(server.connection_count)} in all`) : null,
      events(`Events of server ${server.id}`, server.events)));
}

function channels(of) {
  if (!of.channels.length) return [element("p", { class: "quiet" }, "The program has made no channels on this runtime.")];
  const subchannelColumns = [["id", (s) => String(s.id), right], ["address", (s) => s.address], ["state", (s) => s.state], ["attempts", (s) => s.calls.started, right],
                             ["failed", (s) => failed(s.calls.failed), right], ["connections", (s) => s.connections.length, right]];
  return of.channels.map((c) => section(`Channel ${c.id} to ${c.target}: ${c.state}`,
      tiles(["calls", number(c.calls.started)], ["failed", failed(c.calls.failed)], ["last call", time(c.calls.last_started)]),
      table(`Subchannels of channel ${c.id}`, subchannelColumns, c.subchannels),
      table(`Connections of channel ${c.id}`, connectionColumns, c.subchannels.flatMap((s) => s.connections)),
      // Why a pick failed stands here: the states of the channel and its subchannels with their reasons.
      events(`Events of channel ${c.id}`, [...c.events, ...c.subchannels.flatMap((s) => s.events.map((e) => ({ ...e, subchannel: s.id })))].sort((a, b) => a.time - b.time))));
}

function calls(of, refresh) {
  const failure = element("p", { class: "failure", role: "alert" });
  const cancel = async ({ loop, id }) => {
    try {
      await perform("cancel_call", { loop, id });
      refresh();
    } catch (error) {
      failure.textContent = error.message;
    }
  };
  const columns = [["method", (c) => c.method], ["peer", (c) => c.peer || "in process"], ["age", (c) => ms(c.age_ms), right], ["deadline in", (c) => ms(c.deadline_ms), right],
                   ["received", (c) => c.messages_received, right], ["sent", (c) => c.messages_sent, right], ["loop", (c) => c.loop, right],
                   ["state", (c) => (c.cancelled ? element("span", { class: "bad" }, "cancelled") : "running")],
                   ...(of.can_cancel ? [["", (c) => button("Cancel", () => cancel(c), { "aria-label": `Cancel ${c.method} of loop ${c.loop}, number ${c.id}` })]] : [])];
  return [
    section(`${number(of.call_count)} calls in progress`, table("Calls in progress", columns, of.calls), failure),
    ...of.tasks.map((loop) => section(`Where the tasks of loop ${loop.loop} wait`,
        element("pre", { class: "tasks", tabIndex: 0, role: "region", "aria-label": `Tasks of loop ${loop.loop}`, textContent: shown(loop.text) || "no tasks" }),
        loop.cut ? element("p", { class: "quiet" }, "The rest is left out.") : null)),
  ];
}

function loops(of) {
  const names = ["iterations", "runnables", "remote_posts", "timers", "submissions", "completions", "system_calls", "frames", "heap_blocks"];
  const heading = (name) => name.replace("_", " ");
  return [
    section("Per second", table("Rates of loops", [["loop", (l) => l.loop, right], ["backend", (l) => l.backend],
                                                   ...names.map((name) => [heading(name), (l) => l[name].per_s, right])], of.loops)),
    section("Since the start", table("Counters of loops", [["loop", (l) => l.loop, right], ...names.map((name) => [heading(name), (l) => l[name].total, right])], of.loops)),
    element("p", { class: "quiet" }, `Rates are those of the last ${span(of.window_s)}.`),
    profile("What the CPU time is spent on", "CPU profile of 10 seconds", "pprof/profile?seconds=10"),
  ];
}

function memory(of) {
  return [
    table("Memory of servers", [["server", (s) => String(s.id)], ["used", (s) => bytes(s.used_bytes), right], ["quota", (s) => bytes(s.limit_bytes), right],
                                ["part", (s) => nearness(s.used_bytes, s.limit_bytes, `memory of server ${s.id}`)], ["quota from", (s) => s.limit_source]], of.servers),
    tiles(["connections under pressure", failed(of.connections_under_pressure)], ["orphaned calls", failed(of.orphaned.calls)], ["memory of orphaned calls", bytes(of.orphaned.bytes)]),
    profile("Who has allocated memory", "Heap profile", "pprof/heap"),
  ];
}

const columnsOfAdmission = [["loop", (a) => String(a.loop)], ["limit", (a) => (a.limit === null ? "none" : number(a.limit)), right],
                            ["running", (a) => number(a.running), right], ["waiting", (a) => number(a.waiting), right],
                            ["rejected: overload", (a) => failed(a.rejections.overload), right],
                            ["deadline", (a) => failed(a.rejections.deadline), right], ["rate", (a) => failed(a.rejections.rate), right]];

function limits(of) {
  const value = (row, n) => (n === null ? "–" : row.unit.startsWith("byte") ? bytes(n) : `${number(n)}${row.unit === "second" ? " s" : ""}`);
  return [
    ...of.servers.map((server) => section(`Server ${server.id}`, table(`Limits of server ${server.id}`,
        [["limit", (l) => l.name], ["value", (l) => (l.limit === null ? "none" : value(l, l.limit)), right], ["used", (l) => value(l, l.used), right],
         ["part", (l) => nearness(l.used, l.limit, l.name)], ["of a", (l) => l.unit], ["from", (l) => l.source]], server.limits))),
    ...of.servers.filter((server) => server.admission.length > 0).map((server) =>
      section(`Admission of server ${server.id}`, table(`Admission of server ${server.id}`, columnsOfAdmission, server.admission))),
    section("Rejections", table("Rejections", [["limit", (r) => r.limit], ["rejections", (r) => failed(r.count), right]], of.rejections)),
  ];
}

const validity = ({ state, days_left: days }) => {
  if (state === "valid") return days === null ? "does not expire" : `${number(days)} days left`;
  if (state === "not_yet_valid") return element("span", { class: "bad" }, "not yet valid");
  if (state === "expired") return element("span", { class: "bad" }, "expired");
  return element("span", { class: state === "under_7_days" ? "bad" : "soon" }, `${number(days)} ${days === 1 ? "day" : "days"} left`);
};
const presentedFor = (c) => [...c.server_names, ...(c.is_default ? ["all others"] : [])].join(", ") || "–";
const columnsOfCertificates = [["certificate", (c) => c.title || "–"], ["valid", validity], ["until", (c) => time(c.not_after)],
                               ["from", (c) => time(c.not_before)], ["chain until", (c) => (c.chain_size > 1 ? time(c.chain_not_after) : "–")],
                               ["names", (c) => c.names.join(", ") || "–"], ["issuer", (c) => c.issuer || "–"], ["key", (c) => c.key_type],
                               ["file", (c) => c.file ?? "–"], ["serial number", (c) => c.serial], ["SHA-256", (c) => c.sha256]];
function trustText({ side, trusted }) {
  if (trusted.from === "program") return `Trusts ${number(trusted.count)} CAs, the first until ${time(trusted.not_after)}.`;
  if (trusted.from === "system") return "Trusts the CAs of the system.";
  return side === "server" ? "Clients are not asked for certificates." : "Servers are not verified.";
}

function certificates(of) {
  const others = of.credentials_count - of.credentials.length;
  if (!of.credentials_count) return [element("p", { class: "quiet" }, "No server listens with TLS, and no channel uses it.")];
  return [
    ...of.credentials.map((one, i) => {
      const users = one.users.join(", ") + (one.user_count > one.users.length ? ` and ${number(one.user_count - one.users.length)} others` : "");
      const columns = one.side === "server" ? [...columnsOfCertificates.slice(0, 2), ["for", presentedFor], ...columnsOfCertificates.slice(2)] : columnsOfCertificates;
      return section(one.side === "server" ? `Server ${one.server} on ${users}` : `Channels to ${users}`,
          one.reload_error ? element("p", { class: "failure" }, `These are still in use, because newer ones were not loaded at ${time(one.reload_error.time)}: ${one.reload_error.text}`) : null,
          table(`Certificates of credentials ${i + 1}`, columns, one.certificates),
          element("p", { class: "quiet" }, `Loaded at ${time(one.loaded)}. ${trustText(one)}`));
    }),
    ...(others ? [element("p", { class: "quiet" }, `${number(others)} more credentials`)] : []),
  ];
}

const policyTree = ({ name, detail, children }) => element("li", {}, name, detail ? element("span", { class: "quiet" }, ` (${detail})`) : null,
                                                           children.length ? element("ul", {}, ...children.map(policyTree)) : null);
const resourceColumns = [["type", (r) => r.type.split(".").at(-1)], ["name", (r) => r.name],
                         ["state", (r) => (r.state === "acked" || r.state === "requested" ? r.state : element("span", { class: "bad" }, r.state))],
                         ["version", (r) => r.version || "–"], ["since", (r) => time(r.updated)], ["rejected version", (r) => r.failed_version || "–"],
                         ["reason", (r) => r.error || "–"]];

function controlPlanes(of) {
  const others = of.client_count - of.clients.length;
  if (!of.client_count) return [element("p", { class: "quiet" }, "No channel and no listener has a control plane.")];
  return [
    ...of.clients.flatMap((client) => {
      const whose = client.target === "#server" ? "Listeners of servers" : `Channel to ${client.target}`;
      return [section(client.node ? `${whose}, node ${client.node}` : whose,
          table(`Resources of ${whose}`, resourceColumns, client.resources),
          client.resource_count > client.resources.length ? element("p", { class: "quiet" }, `${number(client.resource_count)} in all`) : null,
          ...(client.policies ? [element("h4", {}, "Policies"), element("ul", { class: "policies" }, policyTree(client.policies))] : []),
          client.policies_cut ? element("p", { class: "quiet" }, "The rest of the policies is left out.") : null)];
    }),
    ...(others ? [element("p", { class: "quiet" }, `${number(others)} more channels and listeners`)] : []),
  ];
}

function configuration(of) {
  const columns = [["setting", (s) => s.name], ["value", (s) => s.value], ["from", (s) => s.source]];
  return [
    section("Runtime", table("Settings of the runtime", columns, of.runtime)),
    section("Environment", table("Environment", [["variable", (v) => v.name], ["value", (v) => v.value ?? "not set"]], of.environment)),
    ...of.servers.map((server) => section(`Server ${server.id}`, table(`Settings of server ${server.id}`, columns, server.settings))),
  ];
}

function logLevels(of, refresh) {
  const failure = element("p", { class: "failure", role: "alert" });
  const choose = async (room, level) => {
    try {
      await perform("set_log_levels", { levels: `${room}=${level}` });
      failure.textContent = "";
      refresh();
    } catch (error) {
      failure.textContent = error.message;
    }
  };
  const rows = of.rooms.flatMap(({ room, level }) => {
    const select = element("select", { id: `level-${room}`, onchange: (event) => choose(room, event.target.value) }, ...of.levels.map((one) => element("option", { value: one }, one)));
    select.value = level;
    return [element("label", { for: `level-${room}` }, room), select];
  });
  return [element("p", {}, "The minimum level of each room's lines. A change lasts until the process ends."), element("div", { class: "levels" }, ...rows), failure];
}

function version(of) {
  return [tiles(["Coracle", of.library], ["compiler", of.compiler], ["backend", of.backend], ["loops", number(of.loops)], ["started", time(of.started)])];
}

/** Each page: its title, what makes it, and how often it is read again, in ms; 0: never. */
export const views = {
  overview: { title: "Overview", make: overview, every: 1000 },
  calls: { title: "Calls", make: calls, every: 1000 },
  rpcz: { title: "rpcz", make: rpcz, every: 0, query },
  connections: { title: "Connections", make: connections, every: 2000 },
  channels: { title: "Channels", make: channels, every: 2000 },
  loops: { title: "Loops", make: loops, every: 1000 },
  memory: { title: "Memory", make: memory, every: 2000 },
  limits: { title: "Limits", make: limits, every: 2000 },
  certificates: { title: "Certificates", make: certificates, every: 10000 },
  xds: { title: "Control planes", make: controlPlanes, every: 2000 },
  configuration: { title: "Configuration", make: configuration, every: 0 },
  log_levels: { title: "Log levels", make: logLevels, every: 0 },
  version: { title: "Version", make: version, every: 0 },
};
