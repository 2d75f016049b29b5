// One person's browser. It notes everything that must never happen on our pages: an error in a script,
// a dialog, a request to another host, a violation of the content policy, an answer above 499.
import assert from 'node:assert/strict';
import { axeSource } from './tools.mjs';

const POLICY = /Content Security Policy|Refused to (load|execute|apply|connect|frame)/i;

export class Visitor {
  constructor(world, context) {
    this.world = world;
    this.context = context;
    this.faults = [];
  }

  async start() {
    this.context.setDefaultTimeout(10_000);
    this.context.on('page', (page) => this.watch(page));
    this.context.on('request', (request) => this.see(request));
    this.context.on('response', (response) => {
      if (response.status() > 499) this.faults.push(`${response.status()} ${response.url()}`);
    });
    this.page = await this.context.newPage();
  }

  watch(page) {
    page.on('pageerror', (error) => this.faults.push(`script error: ${error.stack ?? error.message}`));
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    page.on('console', (message) => {
      const text = message.text();
      if (POLICY.test(text)) this.faults.push(`content policy: ${text}`);
      // An address that does not exist is looked at on purpose.
      else if (message.type() === 'error' && !/status of (4\d\d)/.test(text)) this.faults.push(`console: ${text}`);
    });
  }

  see(request) {
    const url = new URL(request.url());
    if (['data:', 'blob:', 'about:'].includes(url.protocol)) return;
    if (url.origin !== new URL(this.world.url).origin) this.faults.push(`request to ${url.href}`);
  }

  /** Opens a page and returns the answer. */
  async open(path) {
    const response = await this.page.goto(path, { waitUntil: 'domcontentloaded' });
    return response;
  }

  /** The card of something that waits, by the id of its gate, todo or delegation. */
  gate(id) {
    return this.page.locator(`.gate[data-key="${id}"]`);
  }

  /** Shows the whole of a card that is folded to two lines. */
  async unfold(id) {
    const card = this.gate(id);
    await card.waitFor();
    if (await card.evaluate((element) => element.localName === 'details' && !element.open)) {
      // The summary holds a link; beside it there is always room.
      await card.locator(':scope > summary .kind').click();
    }
    return card;
  }

  /** Shows the sections of the rail, which are folded on a phone. */
  async unfoldRail() {
    if (this.page.viewportSize().width >= 720) return;
    const folded = this.page.locator('details.rail-part:not([open]) > summary');
    while ((await folded.count()) > 0) await folded.first().click();
  }

  /** The id of the element that has the focus. */
  focused() {
    return this.page.evaluate(() => document.activeElement?.id ?? '');
  }

  button(name, scope = this.page) {
    return scope.getByRole('button', { name, exact: true });
  }

  text(text, scope = this.page) {
    return scope.getByText(text).locator('visible=true').first();
  }

  /** Waits until the text can be seen; fails with what can be seen instead. */
  async sees(text, scope = this.page) {
    try {
      await this.text(text, scope).waitFor({ state: 'visible' });
    } catch (error) {
      const [address, shown] = [this.page.url(), await this.page.locator('body').innerText()];
      throw new Error(`${text} cannot be seen at ${address}, which shows:\n${shown}`, { cause: error });
    }
  }

  /** Violations of WCAG 2.2 AA, one line each; the page must have none. */
  async axe() {
    await this.page.evaluate(axeSource);
    const { violations } = await this.page.evaluate(() =>
      // eslint-disable-next-line no-undef
      axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }),
    );
    return violations.flatMap((violation) =>
      violation.nodes.map((node) => `${violation.id} (${violation.impact}): ${node.target.join(' ')}: ${node.failureSummary.replaceAll('\n', ' ')}`),
    );
  }

  /** How many pixels the page can be scrolled sideways. */
  async overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }

  /** Elements that reach beyond the right edge, for messages. */
  async overflowing() {
    return this.page.evaluate(() => {
      const edge = document.documentElement.clientWidth;
      const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > edge + 1);
      return wide.slice(0, 5).map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`);
    });
  }

  assertClean() {
    assert.deepEqual(this.faults, []);
  }

  async close() {
    // A request that a test keeps back must not fail after the test's end.
    for (const page of this.context.pages()) await page.unrouteAll({ behavior: 'ignoreErrors' });
    await this.context.close();
  }
}
