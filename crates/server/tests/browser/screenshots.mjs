// Pictures of every page: with much data, with little, and with very long words; at three widths, in both
// themes. The few that the README shows are made from the same world. Words on the command line choose
// pages by parts of their names.
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { closeBrowser } from './tools.mjs';
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
const pictures = process.env.PUNCHLIST_BROWSER_PICTURES;
const readme = process.env.PUNCHLIST_BROWSER_README_PICTURES;
if (!pictures || !readme) throw new Error('run this with `cargo xtask screenshots`');

async function shoot(world, pages, kind) {
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const visitor = await world.visitor({ width, colorScheme, reducedMotion: 'reduce' });
      for (const { name, path } of pages.filter(({ name }) => isWanted(`${kind}-${name}`))) {
        await visitor.open(path);
        await visitor.page.evaluate(() => document.fonts.ready);
        const file = join(pictures, `${kind}-${name}-${width}-${colorScheme}.png`);
        await visitor.page.screenshot({ path: file, fullPage: true, animations: 'disabled' });
      }
      await visitor.close();
    }
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
  const much = await startTour(null, { much: 60 });
  worlds.push(much.world);
  await shoot(much.world, much.pages, 'much');
  const little = await startEmpty(null);
  worlds.push(little.world);
  await shoot(little.world, little.pages, 'little');
  const wide = await startTour(null, { word: long });
  worlds.push(wide.world);
  await shoot(wide.world, wide.pages, 'long');
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
