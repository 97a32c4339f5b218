// driven_page.mjs MODULES BROWSER: a page in Chromium that does what standard input says, a line of JSON for each step:
// [action, ...arguments]. Answers each with a line of JSON: {value}, or {error}. Elements are named as people who use a screen
// reader hear them: {role, name}, {label} or {text}, with "within" for another one that holds it. MODULES is the folder that
// npm installed into.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, browserPath] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/package.json`)("playwright-core");
const STEP_LIMIT_MS = 15_000;
const axe = readFileSync(createRequire(`${modules}/package.json`).resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
let page = null;
const slips = [];   // what the page has done wrong: exceptions, and what the browser refused to load or to run
const visited = new Set();  // the origins of its requests

const find = ({ role, name, label, text, css, nth, within }) => {
  const from = within ? find(within) : page;
  const exact = true;
  const all = role ? from.getByRole(role, name === undefined ? {} : { name, exact })
            : label ? from.getByLabel(label, { exact })
            : text ? from.getByText(text, { exact }) : from.locator(css);
  return nth === undefined ? all : all.nth(nth);
};

const actions = {
  // `login` is {username, password}, for a page that asks for them.
  async open(url, { theme = "light", width = 1280, height = 900, login } = {}) {
    await page?.context().close();
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce", ignoreHTTPSErrors: true, httpCredentials: login,
                                               permissions: ["clipboard-read", "clipboard-write"] });
    page = await context.newPage();
    page.setDefaultTimeout(STEP_LIMIT_MS);
    page.on("pageerror", (error) => slips.push(String(error)));
    page.on("console", (message) => message.type() === "error" && slips.push(message.text()));
    visited.clear();
    page.on("request", (request) => request.url().startsWith("http") && visited.add(new URL(request.url()).origin));
    await page.goto(url);
  },
  reload: () => page.reload(),
  address: () => page.url(),
  click: (at) => find(at).click(),
  fill: (at, text) => find(at).fill(text),
  choose: (at, value) => find(at).selectOption(value),
  check: (at, on) => find(at).setChecked(on),
  upload: (at, files) => find(at).setInputFiles(files),
  press: (keys) => page.keyboard.press(keys),
  type: (text) => page.keyboard.type(text),
  text: (at) => find(at).innerText(),
  texts: (at) => find(at).allInnerTexts(),
  value: (at) => find(at).inputValue(),
  count: (at) => find(at).count(),
  // Waits until the element has the text, as a part of its own.
  async expect(at, text) {
    await find(at).filter({ hasText: text }).first().waitFor();
  },
  async saveDownload(at) {
    const [download] = await Promise.all([page.waitForEvent("download"), find(at).click()]);
    return readFileSync(await download.path(), "utf8");
  },
  picture: (path, whole = false) => page.screenshot({ path, fullPage: whole }),
  run: (script) => page.evaluate(script),
  // What keeps people from using the page: a line for each.
  async faults() {
    const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
    return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
        .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(" ")}: ${node.any.map((check) => check.message).join(" ")}`));
  },
  slips: () => slips.splice(0),
  visited: () => [...visited],
};

for await (const line of createInterface({ input: process.stdin })) {
  const [action, ...words] = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await actions[action](...words)) ?? null };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
