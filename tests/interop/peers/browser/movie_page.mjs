// movie_page.mjs MODULES BROWSER ADDRESS: uses the page of examples/12_web as a person does, in Chromium. Prints what it has shown
// as JSON: {title, encodings, added, error, marked, idea, ideas, elsewhere, count, faults}. MODULES is the folder that npm installed into.
import { createRequire } from "node:module";

const [modules, browserPath, address] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/package.json`)("playwright-core");
const LIMIT_MS = 20_000;

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  const faults = [], encodings = {};
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (line) => { if (line.type() === "error") faults.push(line.text()); });  // which tells of a broken policy, too
  page.on("response", (response) => { encodings[new URL(response.url()).pathname] = response.headers()["content-encoding"] ?? "none"; });
  const card = (title) => page.locator("#movies li", { hasText: title }).innerText();

  await page.goto(address);
  await page.locator("#connection", { hasText: "live" }).waitFor();
  const title = await page.title();

  await page.getByLabel("Title").fill("<b>Stalker</b>");
  await page.getByLabel("Director").fill("Andrei Tarkovsky");
  await page.getByLabel("Year").fill("1979");
  await page.getByLabel("Genre").selectOption("Science fiction");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const added = await card("<b>Stalker</b>");

  await page.getByRole("button", { name: "Add", exact: true }).click();  // the form is empty again
  await page.locator("#error:not(:empty)").waitFor();
  const error = await page.getByRole("alert").innerText();
  const marked = await page.getByLabel("Title").getAttribute("aria-invalid");

  await page.getByRole("button", { name: "Add Metropolis" }).click();
  const idea = await card("Metropolis");
  const ideas = await page.locator("#ideas strong").allInnerTexts();

  await fetch(`${address}v1/movies`, { method: "POST", headers: { "content-type": "application/json" }, body: '{"title": "Mirror"}' });
  const elsewhere = await card("Mirror");
  const count = await page.locator("#count").innerText();
  console.log(JSON.stringify({ title, encodings, added, error, marked, idea, ideas, elsewhere, count, faults }));
} finally {
  await browser.close();
}
