// Every page can be used by everybody: WCAG 2.2 AA in both themes, no sideways scroll at any width,
// twice the size, very long words, forced colours.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueInSession } from './scene.mjs';
import { startEmpty, startTour } from './tour.mjs';
import { startWorld } from './world.mjs';

/** A word without a place to break, in every text. */
const long = (text) => `${'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(2)} ${text}`;

const SCHEMES = ['light', 'dark'];

/** Looks at every page, and fails with each problem once and the pages that have it. */
async function visit(pages, visitors, look) {
  const problems = new Map();
  for (const [way, visitor] of Object.entries(visitors)) {
    for (const { name, path } of pages) {
      await visitor.open(path);
      for (const problem of await look(visitor)) {
        const same = problem.replaceAll(/[0-9A-HJKMNP-TV-Z]{26}/g, '…');
        problems.set(same, [...(problems.get(same) ?? []), `${name} ${way}`]);
      }
    }
    visitor.assertClean();
  }
  const lines = [...problems].map(([problem, where]) => `${problem}\n    on ${where.slice(0, 4).join(', ')}${where.length > 4 ? ` and ${where.length - 4} more` : ''}`);
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`);
}

async function wide(visitor) {
  const pixels = await visitor.overflow();
  return pixels > 0 ? [`${pixels} px too wide: ${(await visitor.overflowing()).join(' | ')}`] : [];
}

test('every page passes axe in both themes, on a phone and on a desktop', { timeout: 280_000 }, async (t) => {
  const { world, pages } = await startTour(t);
  const visitors = {};
  for (const width of [390, 1440]) {
    for (const colorScheme of SCHEMES) visitors[`${width} ${colorScheme}`] = await world.visitor({ width, colorScheme });
  }
  await visit(pages, visitors, (visitor) => visitor.axe());
});

test('every empty page passes axe, and shows the command that fills it', async (t) => {
  const { world, pages } = await startEmpty(t);
  const [light, dark] = [await world.visitor({ colorScheme: 'light' }), await world.visitor({ colorScheme: 'dark' })];
  await visit(pages, { light, dark }, (visitor) => visitor.axe());
  const visitor = light;
  for (const { name, path } of pages.filter(({ name }) => !/home|project|activity/.test(name))) {
    await visitor.open(path);
    const commands = await visitor.page.locator('main code').allInnerTexts();
    assert.ok(name === 'empty-inbox' || commands.some((text) => text.includes('punch')), `${name}: ${commands}`);
  }
});

for (const width of [390, 820, 1440]) {
  test(`no page scrolls sideways at ${width} px, also with very long words`, async (t) => {
    for (const word of [(text) => text, long]) {
      const { world, pages } = await startTour(t, { word });
      const visitor = await world.visitor({ width, isMobile: false, hasTouch: false });
      await visit(pages, { [`${width} px`]: visitor }, wide);
    }
  });
}

test('at twice the size nothing is lost and nothing scrolls sideways', async (t) => {
  const { world, pages } = await startTour(t);
  // Zooming to 200 % is the same as half the width at twice the density.
  const zoomed = await world.visitor({ width: 720, height: 450, deviceScaleFactor: 2 });
  await visit(pages, { zoomed }, wide);
  // Text alone at twice the size, as phones do it.
  const visitor = await world.visitor({ width: 1440 });
  await visit(pages, { 'with large text': visitor }, async () => {
    await visitor.page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync('html { font-size: 200% !important }');
      document.adoptedStyleSheets = [sheet];
    });
    return wide(visitor);
  });
});

test('with forced colours marks keep their shape and text its contrast', async (t) => {
  const { world, pages } = await startTour(t);
  for (const colorScheme of SCHEMES) {
    const visitor = await world.visitor({ colorScheme, forcedColors: 'active' });
    await visit(pages, { [colorScheme]: visitor }, async () => {
      const marks = await visitor.page.evaluate(() => {
        const faint = [];
        for (const svg of document.querySelectorAll('main svg.mark, main .mark svg')) {
          const style = getComputedStyle(svg);
          if (style.color === getComputedStyle(document.body).backgroundColor) faint.push(svg.outerHTML.slice(0, 60));
        }
        return faint;
      });
      const contrast = (await visitor.axe()).filter((problem) => problem.startsWith('color-contrast'));
      return [...marks, ...contrast];
    });
  }
});

test('targets are large enough to touch on a phone', async (t) => {
  const { world, pages } = await startTour(t);
  const visitor = await world.visitor({ width: 390 });
  await visit(pages, { phone: visitor }, () =>
    visitor.page.evaluate(() => {
      const small = [];
      for (const element of document.querySelectorAll('button, summary, input:not([type=hidden]), select, textarea, nav a')) {
        const { width, height } = element.getBoundingClientRect();
        const hidden = width === 0 || height === 0 || getComputedStyle(element).visibility === 'hidden';
        const box = element.closest('label')?.getBoundingClientRect() ?? { width, height };
        const least = element.matches('.gate .bar .button') ? 44 : 24;
        if (!hidden && Math.max(height, box.height) < least) small.push(`${element.localName} "${element.innerText ?? element.name}" is ${Math.round(width)} × ${Math.round(height)}`);
      }
      return small;
    }),
  );
});

test('a title in the issue list is not cut while its row has space', async (t) => {
  const world = await startWorld(t);
  const titles = ['Refunds over 500 € need a second person', 'Issue number 25 about something that differs from the others here'];
  const waiting = await issueInSession(world, { title: titles[0], steps: ['Ask Ann'], criteria: ['It waits'] });
  await world.agent('todo', { action: 'block', content: 'Ask Ann', text: 'She is away' }, waiting.context);
  await world.agent('form', { title: 'Which limit?', schema: { type: 'object', properties: { limit: { type: 'integer' } } } }, waiting.context);
  await world.agent('checkpoint', { reason: 'It is late.' }, waiting.context);
  await world.operator('issue_create', { title: titles[1], forceNew: true });
  for (const width of [1120, 1280, 1440]) {
    const visitor = await world.visitor({ width });
    await visitor.open(world.path('/issues'));
    const rows = await visitor.page.locator('.issue-link').evaluateAll((links) => links.map((link) => [link.innerText, link.scrollWidth <= link.clientWidth]));
    assert.equal(rows.length, 2);
    assert.deepEqual(rows.filter(([, isWhole]) => !isWhole), [], `at ${width} px`);
    visitor.assertClean();
  }
});

test('every page has one heading of the first level, a title, a language and landmarks', async (t) => {
  const { world, pages } = await startTour(t);
  const visitor = await world.visitor();
  const titles = new Map();
  await visit(pages, { wide: visitor }, async () => {
    const facts = await visitor.page.evaluate(() => ({
      h1: document.querySelectorAll('h1').length,
      lang: document.documentElement.lang,
      main: document.querySelectorAll('main').length,
      primary: document.querySelectorAll('main .primary').length,
      path: location.pathname + location.search,
    }));
    titles.set(facts.path, await visitor.page.title());
    const problems = [];
    if (facts.h1 !== 1) problems.push(`${facts.h1} headings of the first level`);
    if (facts.lang !== 'en' || facts.main !== 1) problems.push('no language or no main part');
    if (facts.primary > 1) problems.push(`${facts.primary} primary buttons`);
    return problems;
  });
  assert.ok([...titles.values()].every((title) => title.includes('punchlist')), [...titles.values()].join('\n'));
});
