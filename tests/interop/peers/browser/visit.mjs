// visit.mjs MODULES BROWSER < VISIT: opens a page in Chromium and runs its scenarios, one after the other. VISIT is JSON:
// {page, script, calls: [[name, arguments]]}; a script is a file that is added to the page. Prints for each call as JSON
// {value or error, requests: [{kind, method, url, status, protocol}]}. MODULES is the folder that npm installed into.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, browserPath] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/package.json`)("playwright-core");
const visit = JSON.parse(readFileSync(0, "utf8"));
const CALL_LIMIT_MS = 20_000;

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(visit.page);
  if (visit.script) await page.addScriptTag({ path: visit.script, type: "module" });
  await page.waitForFunction(() => window.scenarios);

  const seen = new Map();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  const entry = (id) => seen.get(id) ?? seen.set(id, {}).get(id);
  session.on("Network.requestWillBeSent", ({ requestId, request, type }) => Object.assign(entry(requestId), { kind: type, method: request.method, url: request.url }));
  session.on("Network.responseReceived", ({ requestId, response }) => Object.assign(entry(requestId), { protocol: response.protocol, status: response.status }));
  session.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => { entry(requestId).status ??= statusCode; });

  const results = [];
  for (const [name, given] of visit.calls) {
    seen.clear();
    const limit = new Promise((_, failed) => setTimeout(failed, CALL_LIMIT_MS, new Error(`${name} takes longer than ${CALL_LIMIT_MS} ms`)).unref());
    const result = await Promise.race([page.evaluate(([one, words]) => window.scenarios[one](words), [name, given]), limit])
        .then((value) => ({ value }), (error) => ({ error: error.message }));
    await session.send("Network.enable");  // after which the events of before are here
    results.push({ ...result, requests: [...seen.values()] });
  }
  console.log(JSON.stringify(results));
} finally {
  await browser.close();
}
