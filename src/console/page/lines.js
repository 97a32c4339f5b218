// A call as a line for a shell: `coracle call`, and curl with JSON in Connect's form; and as a request in a file for `coracle test`.

import { isSecret } from "./store.js";

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// In double quotes, in which the shell replaces ${NAME} alone.
const expanded = (text) => `"${text.replace(/\$\{\w+\}|[\\"$`]/g, (part) => (part.length > 1 ? part : `\\${part}`))}"`;

const compact = (json) => {
  // Only white space outside strings goes, so that no number changes.
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ""));
};

const seconds = (ms) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`);

const words = (...list) => list.map(quoted);

const isHidden = (name, value, secrets) => !secrets && isSecret(name) && value && /^[\w.-]+$/.test(name);

// A secret that is left out is a variable of the shell, or of the environment.
const pairText = (name, value, secrets) =>
  isHidden(name, value, secrets) ? `${name}: \${${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}}` : `${name}: ${value}`;
const header = (name, value, secrets) => (isHidden(name, value, secrets) ? expanded : quoted)(pairText(name, value, secrets));

/** The name and the value of a line "name: value". Throws an Error. */
export function pairOf(line) {
  const colon = line.indexOf(":", 1);
  if (colon < 0) throw new Error(`metadata has the form "name: value", not "${line}"`);
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

// A line of the command line may name variables of the environment, which both coracle and the shell replace.
const namesVariable = (line, given) => given.includes(line) && /\$\{\w+\}/.test(line);

// The lines of the server that the call has. Of several pairs with a name, those of the call count.
function generalOf(call, server) {
  const own = new Set(call.metadata.map(([name]) => name.toLowerCase()));
  return (server.headers ?? []).filter((line) => !own.has(pairOf(line)[0].toLowerCase()));
}

function headersOf(call, server, secrets, ofLine) {
  return [...generalOf(call, server).map((line) => ofLine(line) ?? header(...pairOf(line), secrets)), ...call.metadata.map((pair) => header(...pair, secrets))]
    .flatMap((text) => ["-H", text]);
}

// How the server is reached, in words of the command line.
function connectionOf(server) {
  const { shell } = server;
  return [...({ plaintext: ["--plaintext"], unverified: ["--no-verify"] }[server.security] ?? []), ...(shell.ca ? ["--ca", shell.ca] : []),
          ...(shell.certificate ? ["--cert", shell.certificate, "--key", shell.key] : []),
          ...(server.serverName ? ["--server-name", server.serverName] : []), ...shell.other];
}

// Each `--reflect-header` as the two functions write it: a line of the command line, and another one.
function reflectionOf(server, ofGiven, ofOther) {
  if (server.definitions !== "reflection") return [];
  return (server.reflectHeaders ?? []).flatMap((line) => ["--reflect-header", server.shell.givenReflectHeaders.includes(line) ? ofGiven(line) : ofOther(line)]);
}

// Where `coracle call` finds definitions in files. A file that was chosen in the page has no folder here.
function filesOf(call, server) {
  const { shell } = server;
  const file = server.schema.fileOf(call.method);
  if (server.definitions === "reflection") return [];
  if (shell.own) return server.schema.hasReflection() ? [] : ["--proto", file];
  let { protos, descriptorSets } = shell;
  if (server.definitions === "files") {
    const fitting = protos.filter((name) => file === name || file.endsWith(`/${name}`));
    if (fitting.length > 0) [protos, descriptorSets] = [fitting, []];
  }
  return [...shell.importDirs.flatMap((folder) => ["-I", folder]), ...protos.flatMap((name) => ["--proto", name]),
          ...descriptorSets.flatMap((name) => ["--protoset", name])];
}

/** Names that the page knows without their folders, and a line has. */
export function filesWithoutFolders(call, server, ofCoracle) {
  const { shell } = server;
  const uploaded = [...shell.uploaded];
  if (ofCoracle && server.definitions === "files") uploaded.push(...shell.importDirs, ...shell.protos, ...shell.descriptorSets);
  if (ofCoracle && shell.own && !server.schema.hasReflection()) uploaded.push(server.schema.fileOf(call.method));
  return uploaded.filter(Boolean);
}

export function coracleLine(call, server, secrets) {
  const { shell } = server;
  const reflection = reflectionOf(server, quoted, (line) => header(...pairOf(line), secrets));
  const line = [...words("coracle", "call", server.address, ...connectionOf(server)), ...reflection, ...words(...filesOf(call, server), call.method.slice(1))];
  for (const json of call.messages) line.push("-d", quoted(compact(json)));
  if (call.timeoutMs) line.push("--timeout", seconds(call.timeoutMs));
  if (call.compression) line.push("--compress", call.compression);
  // coracle replaces the variables.
  line.push(...headersOf(call, server, secrets, (text) => (namesVariable(text, shell.givenHeaders) ? quoted(text) : undefined)));
  return line.join(" ");
}

/** A request for `coracle test`, which expects the status. */
export function requestText(call, server, secrets, status) {
  const options = [];
  // As in the command: http:// belongs to the address, which `coracle test --address` replaces.
  const inAddress = server.security === "plaintext" && /^(\[[^\]]+\]|[^:/@[\]]+):\d+$/.test(server.address);
  const connection = connectionOf(server).filter((word) => !inAddress || word !== "--plaintext");
  for (const word of [...connection, ...reflectionOf(server, String, (line) => pairText(...pairOf(line), secrets)), ...filesOf(call, server)])
    if (word.startsWith("-")) options.push(word === "-I" ? "--import" : word);
    else options.push(`${options.pop()} ${word}`);
  if (call.timeoutMs) options.push(`--timeout ${seconds(call.timeoutMs)}`);
  if (call.compression) options.push(`--compress ${call.compression}`);
  const general = generalOf(call, server).map((line) => (namesVariable(line, server.shell.givenHeaders) ? line : pairText(...pairOf(line), secrets)));
  const metadata = [...general, ...call.metadata.map((pair) => pairText(...pair, secrets))];
  return [`CALL ${inAddress ? "http://" : ""}${server.address} ${call.method.slice(1)}`, ...options, ...metadata, "", ...call.messages.map(compact), "", `EXPECT ${status}`, ""].join("\n");
}

/** What curl connects to, of an address of gRPC: a UNIX socket, or a host with its port. */
function curlTarget(address) {
  const [, scheme, rest] = /^(unix|unix-abstract|dns|ipv4|ipv6|passthrough):(.*)$/.exec(address) ?? [, "", address];
  const name = rest.replace(/^\/\/[^/]*\//, scheme === "unix" ? "/" : "");
  if (scheme === "unix") return { socket: ["--unix-socket", name] };
  if (scheme === "unix-abstract") return { socket: ["--abstract-unix-socket", name] };
  const [first] = name.split(",");
  if (/^[^[\]]*:[^[\]]*:/.test(first)) return { host: `[${first}]:443` };
  return { host: /:\d+$/.test(first) ? first : `${first}:443` };  // as gRPC has it, also in plaintext
}

/** Unary methods only: the messages of a stream have prefixes that curl cannot write. */
export function curlLine(call, server, secrets) {
  const { shell } = server;
  const { socket, host } = curlTarget(server.address);
  const plaintext = server.security === "plaintext";
  const name = server.serverName || "localhost";
  const line = ["curl", "-s"];
  const authority = shell.other[shell.other.indexOf("--authority") + 1];
  if (socket) {
    line.push(...words(...socket, `${plaintext ? "http" : "https"}://${name}${call.method}`));
  } else if (server.serverName) {
    // The certificate must contain the name in the URL. Like coracle, curl sends it as the authority.
    line.push(...words(`https://${name}:${host.split(":").pop()}${call.method}`, "--connect-to", `::${host}`));
  } else line.push(...words(`${plaintext ? "http" : "https"}://${host}${call.method}`));
  if (server.security === "unverified") line.push("-k");
  if (shell.ca) line.push(...words("--cacert", shell.ca));
  if (shell.certificate) line.push(...words("--cert", shell.certificate, "--key", shell.key));
  if (shell.other.includes("--authority")) line.push("-H", quoted(`host: ${authority}`));
  line.push("-H", "'content-type: application/json'");
  if (call.timeoutMs) line.push("-H", quoted(`connect-timeout-ms: ${Math.ceil(call.timeoutMs)}`));
  line.push("-d", quoted(compact(call.messages[0] ?? "{}")));
  line.push(...headersOf(call, server, secrets, (text) => (namesVariable(text, shell.givenHeaders) ? expanded(text) : undefined)));
  return line.join(" ");
}
