// The slowest, the failed and the latest calls of each method, with what happened in each.

import { button, element } from "./dom.js";
import { bytes, ms, number, span, table, time } from "./table.js";

const right = "number";
const quiet = (text) => element("p", { class: "quiet" }, text);
const bad = (text) => element("span", { class: "bad" }, text);
const outcome = (call) => (call.status === null ? "in progress" : call.status === "OK" ? "OK" : bad(call.status));

/** A link to the calls of a method. */
export const linkToCalls = (method) => element("a", { href: `#rpcz/${encodeURI(method)}` }, method);

/** The query of the address of the JSON. */
export const query = (subject) => (subject ? `?method=${encodeURIComponent(decoded(subject))}` : "");

function decoded(subject) {
  try {
    return decodeURI(subject);
  } catch {
    return subject;
  }
}

function detailsOf(event) {
  switch (event.event) {
    case "frame": return [event.end_stream ? "END_STREAM" : "", event.value === undefined ? "" : `value ${event.value}`].filter(Boolean).join(", ");
    case "message": return event.compressed ? "compressed" : "";
    case "began": return [event.deadline_ms ? `deadline after ${ms(event.deadline_ms)}` : "", event.attempts ? `after ${event.attempts} attempts` : ""].filter(Boolean).join(", ");
    case "ended": return event.status === "OK" ? "OK" : bad(event.status);
    case "long_iteration": return bad(`an iteration of the loop took ${ms(event.took_ms)}`);
    case "stalled": return bad(`a task occupied the loop for ${ms(event.took_ms)}`);
    default: return "";
  }
}

const nameOf = (event) => event.frame ?? event.event.replace("_", " ");
const directionOf = (event) => (event.sent === undefined ? "" : event.sent ? "sent" : "received");

function timeline(caption, call) {
  const columns = [["after", (e) => ms(e.at_ms), right], ["event", nameOf], ["direction", directionOf], ["size", (e) => (e.bytes === undefined ? "" : bytes(e.bytes)), right], ["details", detailsOf]];
  const missing = call.event_count - call.events.length;
  return [table(caption, columns, call.events), missing ? quiet(`${number(missing)} events in the middle are left out.`) : null];
}

// A timeline is made when it is opened: there may be thousands of rows.
function callRow(list, call, index) {
  const caption = `Events of call ${index + 1} of ${list}`;
  const made = element("details", { class: "call" },
                       element("summary", {}, call.took_ms === null ? "–" : ms(call.took_ms), " · ", outcome(call), ` · ${time(call.began)}`));
  made.addEventListener("toggle", () => {
    if (!made.open || made.childElementCount > 1) return;
    const about = [call.path, call.deadline_ms === null ? "no deadline" : `deadline ${ms(call.deadline_ms)}`, `sent ${bytes(call.sent_bytes)}`, `received ${bytes(call.received_bytes)}`,
                   `loop ${call.loop}`, `connection ${call.connection}`, call.stream < 2 ** 31 ? `stream ${call.stream}` : "no stream of HTTP/2"];
    made.append(quiet(about.join(" · ")), ...timeline(caption, call).filter(Boolean));
  });
  return made;
}

function methodSection(method) {
  const lists = [["slowest", (a, b) => b.took_ms - a.took_ms], ["failed", (a, b) => b.began - a.began], ["latest", (a, b) => b.began - a.began]];
  return element("section", {}, element("h3", {}, `${method.method}, ${method.side}`),
                 quiet(`${number(method.call_count)} calls are recorded, ${number(method.failed)} of them failed.`),
                 ...lists.flatMap(([list, order]) => {
                   const calls = method.calls.filter((call) => call.lists.includes(list)).sort(order);
                   return [element("h4", {}, list[0].toUpperCase() + list.slice(1)), ...(calls.length ? calls.map((call, i) => callRow(`${list} of the ${method.side}`, call, i)) : [quiet("none")])];
                 }));
}

const slowest = (method) => Math.max(...method.calls.filter((call) => call.took_ms !== null).map((call) => call.took_ms));

export function rpcz(of, refresh, subject) {
  const head = element("p", { class: "quiet" }, `The recorder has ${number(of.event_count)} events of the last ${span(of.covered_s)}. `, button("Read again", refresh));
  if (subject) {
    const back = element("p", {}, element("a", { href: "#rpcz" }, "All methods"));
    return [head, back, ...(of.methods.length ? of.methods.map(methodSection) : [quiet(`No call of ${decoded(subject)} is recorded.`)])];
  }
  const columns = [["method", (m) => linkToCalls(m.method)], ["side", (m) => m.side], ["calls", (m) => m.call_count, right],
                   ["failed", (m) => (m.failed ? bad(number(m.failed)) : "0"), right], ["slowest", (m) => (m.ended ? ms(slowest(m)) : "–"), right]];
  return [head, table("Recorded methods", columns, of.methods),
          of.method_count > of.methods.length ? quiet(`${number(of.method_count)} methods in all`) : null].filter(Boolean);
}
