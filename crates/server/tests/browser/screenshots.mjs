// Pictures of every page: with much data, with little, with very long words, and in odd states; at three widths,
// in both themes, and some with forced colours and at 200 %. The few that the README shows are made from the same world. Words on the command line choose
// pages by parts of their names.
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { closeBrowser } from './tools.mjs';
import { startOdd } from './odd.mjs';
import { startEmpty, startTour } from './tour.mjs';

const WIDTHS = [390, 820, 1440];
const SCHEMES = ['light', 'dark'];
const long = (text) => `${'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'} ${text}`;

/** What the README shows: small enough to load with it. */
const README = [
  { name: 'home', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'home', width: 390, height: 844, colorScheme: 'dark' },
  { name: 'issue', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'mission', width: 1280, height: 800, colorScheme: 'dark' },
];
const README_BYTES_MAX = 150 * 1024;

const words = process.argv.slice(2);
const isWanted = (name) => words.length === 0 || words.some((word) => name.includes(word));
const KINDS = {
  much: () => startTour(null, { much: 60 }),
  little: () => startEmpty(null),
  long: () => startTour(null, { word: long }),
  odd: () => startOdd(null),
};
/** A word that begins with a kind leaves the worlds of the others out. */
const mayHave = (kind) => words.length === 0 || words.some((word) => !Object.keys(KINDS).some((one) => word.startsWith(`${one}-`)) || word.startsWith(`${kind}-`));
const pictures = process.env.PUNCHLIST_BROWSER_PICTURES;
const readme = process.env.PUNCHLIST_BROWSER_README_PICTURES;
if (!pictures || !readme) throw new Error('run this with `cargo xtask screenshots`');

/** At 200 % a window has half as many pixels of the stylesheet. */
const LOOKS = [
  ...WIDTHS.flatMap((width) => SCHEMES.map((colorScheme) => ({ name: `${width}-${colorScheme}`, options: { width, colorScheme } }))),
  { name: 'forced-colours', options: { width: 1440, forcedColors: 'active' }, isExtra: true },
  { name: 'zoom-200', options: { width: 720, height: 450, deviceScaleFactor: 2 }, isExtra: true },
];

/** A whole page that is longer than this is cut: it says nothing more. */
const HEIGHT_MAX = 8_000;

async function shoot(world, pages, kind) {
  for (const { name: look, options, isExtra } of LOOKS) {
    const wanted = pages.filter(({ name }) => isWanted(`${kind}-${name}`) && (!isExtra || kind !== 'long'));
    if (wanted.length === 0) continue;
    const visitor = await world.visitor({ ...options, reducedMotion: 'reduce' });
    for (const { name, path, prepare } of wanted) {
      await visitor.open(path);
      await prepare?.(visitor);
      await visitor.page.evaluate(() => document.fonts.ready);
      const file = join(pictures, `${kind}-${name}-${look}.png`);
      const [width, height] = await visitor.page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollHeight]);
      const clip = height > HEIGHT_MAX ? { x: 0, y: 0, width, height: HEIGHT_MAX } : undefined;
      await visitor.page.screenshot({ path: file, fullPage: true, clip, animations: 'disabled' });
    }
    await visitor.close();
  }
}

async function shootForReadme(world, pages) {
  await mkdir(readme, { recursive: true });
  for (const { name, width, height, colorScheme } of README) {
    const visitor = await world.visitor({ width, height, colorScheme, reducedMotion: 'reduce' });
    await visitor.open(pages.find((page) => page.name === name).path);
    const form = width < 720 ? 'phone' : 'wide';
    const file = join(readme, `${name}-${form}-${colorScheme}.png`);
    await visitor.page.screenshot({ path: file, animations: 'disabled' });
    await visitor.close();
    const { size } = await stat(file);
    if (size > README_BYTES_MAX) throw new Error(`${file} has ${size} bytes, more than ${README_BYTES_MAX}`);
    console.log(`${file}: ${Math.round(size / 1024)} KiB`);
  }
}

if (words.length === 0) await rm(pictures, { recursive: true, force: true });
await mkdir(pictures, { recursive: true });
const worlds = [];
try {
  for (const [kind, start] of Object.entries(KINDS)) {
    if (!mayHave(kind)) continue;
    const { world, pages } = await start();
    worlds.push(world);
    await shoot(world, pages, kind);
  }
  if (words.length === 0) {
    const plain = await startTour(null);
    worlds.push(plain.world);
    await shootForReadme(plain.world, plain.pages);
  }
} finally {
  for (const world of worlds) await world.end();
  await closeBrowser();
}
console.log(`pictures are in ${pictures}`);
