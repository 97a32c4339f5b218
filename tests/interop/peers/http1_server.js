// http1_server: Node's http server with its default strictness, which says what it has read: each response has the
// request in its header x-saw, as JSON in hexadecimal.
"use strict";

const http = require("http");

const hex = (text) => Buffer.from(text, "latin1").toString("hex");

function answer(request, response) {
  const body = [];
  request.on("data", (piece) => body.push(piece));
  request.on("end", () => {
    const at = request.rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "a");
    const field = at < 0 ? "" : request.rawHeaders[at + 1];
    const saw = JSON.stringify([hex(request.method), hex(request.url), hex(field), Buffer.concat(body).toString("hex")]);
    response.setHeader("x-saw", Buffer.from(saw).toString("hex"));
    response.setHeader("content-length", "0");
    response.end();
  });
}

const server = http.createServer({ insecureHTTPParser: false }, answer);
server.on("checkContinue", answer);
server.listen(0, "127.0.0.1", () => console.log(`listening on 127.0.0.1:${server.address().port}`));
