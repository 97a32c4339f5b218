// A call as a line for a shell: `coracle call`, and curl with JSON in Connect's form.

import { isSecret } from "./store.js";

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const compact = (json) => {
  // Only white space outside strings goes, so that no number changes.
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ""));
};

const seconds = (ms) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`);

// A secret that was left out is a variable of the shell.
const variable = (name) => name.toUpperCase().replace(/[^A-Z0-9]/g, "_");

const header = ([name, value]) => (isSecret(name) && !value && /^[\w.-]+$/.test(name) ? `"${name}: \${${variable(name)}}"` : quoted(`${name}: ${value}`));

const line = (words, call) => [...words.map(quoted), ...call.metadata.flatMap((pair) => ["-H", header(pair)])].join(" ");

export function coracleLine(call, server) {
  const words = ["coracle", "call", server.address ?? "ADDRESS"];
  if (server.security === "plaintext") words.push("--plaintext");
  if (server.security === "unverified") words.push("--no-verify");
  if (server.ca) words.push("--ca", server.ca);
  if (server.certificate) words.push("--cert", server.certificate, "--key", server.key || `${server.certificate}.key`);
  if (server.serverName) words.push("--server-name", server.serverName);
  words.push(call.method.slice(1));
  for (const json of call.messages) words.push("-d", compact(json));
  if (call.timeoutMs) words.push("--timeout", seconds(call.timeoutMs));
  if (call.compression) words.push("--compress", call.compression);
  return line(words, call);
}

/** Unary methods only: the messages of a stream have prefixes that curl cannot write. */
export function curlLine(call, server) {
  const scheme = server.security === "plaintext" ? "http" : "https";
  const words = ["curl", "-s", `${scheme}://${(server.address ?? "ADDRESS").replace(/^https?:\/\//, "")}${call.method}`];
  if (server.security === "unverified") words.push("-k");
  if (server.ca) words.push("--cacert", server.ca);
  if (server.certificate) words.push("--cert", server.certificate, "--key", server.key || `${server.certificate}.key`);
  words.push("-H", "content-type: application/json");
  if (call.timeoutMs) words.push("-H", `connect-timeout-ms: ${Math.ceil(call.timeoutMs)}`);
  words.push("-d", compact(call.messages[0] ?? "{}"));
  return line(words, call);
}
