// accessibility.mjs MODULES BROWSER < VIEWS: opens pages in Chromium and prints as JSON what axe finds and where Tab leads.
// VIEWS is a JSON list of {url, theme: "light" | "dark", width, tabs, search}: so many times Tab is pressed, and this word is
// searched for. MODULES is the folder that npm installed into. "picture" names a PNG to write.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, browserPath] = process.argv.slice(2);
const load = createRequire(`${modules}/package.json`);
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");

const HEIGHT = 900;
const PAGE_LIMIT_MS = 30000;
const SEARCH_LIMIT_MS = 15000;

// The violations that keep people from using the page: [rule, help, the first elements].
const judge = async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
      .map((one) => ({ rule: one.id, help: one.help,
                       nodes: one.nodes.slice(0, 3).map((node) => `${node.target.join(" ")}: ${node.any.map((check) => check.message).join(" ")}`) }));
};

// What has the focus: its text, the landmark it is in, and whether the focus can be seen.
const focused = () => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const look = (one) => {
    const style = getComputedStyle(one);
    return [style.outlineStyle === "none" || parseFloat(style.outlineWidth) === 0 ? "" : style.outline, style.boxShadow, style.backgroundColor, style.color,
            style.textDecorationLine, style.borderColor, style.opacity, style.transform].join("|");
  };
  // An input without a size of its own shows its focus by a label.
  const shown = [element, ...(element.labels ?? []), ...(element.nextElementSibling?.matches("label:not([hidden])") ? [element.nextElementSibling] : [])];
  const chain = [...new Set(shown.flatMap((one) => [one, one.parentElement, one.parentElement?.parentElement]).filter(Boolean))];
  const now = chain.map(look).join();
  element.blur();
  const before = chain.map(look).join();
  element.focus({ preventScroll: true });
  const onScreen = shown.some((one) => {
    const box = one.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth;
  });
  return { name: (element.ariaLabel || element.title || element.innerText || element.id || element.tagName).trim().slice(0, 60), tag: element.tagName.toLowerCase(),
           visible: now !== before, onScreen,
           place: element.closest("article") ? "content" : element.closest("nav") ? "navigation" : "" };
};

// Where the results of a search lead.
const results = async (page, word) => {
  await page.locator("[data-md-component='search-query']").click();
  await page.keyboard.type(word, { delay: 30 });
  const until = Date.now() + SEARCH_LIMIT_MS;
  while (Date.now() < until) {
    const links = await page.$$eval(".md-search-result__link", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute("href")));
    if (links.length > 0) return links;
    await page.waitForTimeout(100);
  }
  return [];
};

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
const seen = [];
try {
  for (const view of JSON.parse(readFileSync(0, "utf8"))) {
    const context = await browser.newContext({ viewport: { width: view.width, height: HEIGHT }, colorScheme: view.theme, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.setDefaultTimeout(PAGE_LIMIT_MS);
    const slips = [];
    page.on("pageerror", (error) => slips.push(String(error)));
    await page.goto(view.url, { waitUntil: "load" });
    if (view.picture) await page.screenshot({ path: view.picture, fullPage: Boolean(view.whole) });
    await page.evaluate(axe);
    const violations = await page.evaluate(judge);
    const stops = [];
    for (let i = 0; i < (view.tabs ?? 0); ++i) {
      await page.keyboard.press("Tab");
      stops.push(await page.evaluate(focused));
    }
    const found = view.search ? await results(page, view.search) : [];
    seen.push({ ...view, violations, stops, slips, found });
    await context.close();
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(seen));
