// The programs and packages that the tests use, as `cargo xtask test --only pages` names them.
//
// There is no fallback: a test that cannot find its browser must fail.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

function named(variable) {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is not set: run this with \`cargo xtask test --only pages\``);
  return value;
}

export const punchProgram = named('PUNCHLIST_BROWSER_PUNCH');
const require = createRequire(`${named('PUNCHLIST_BROWSER_MODULES')}/`);
const { chromium } = require('playwright-core');

export const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let launched;

/** One browser for all tests of a file. */
export function browser() {
  launched ??= chromium.launch({
    executablePath: named('PUNCHLIST_BROWSER_CHROMIUM'),
    // Chromium's sandbox cannot be used by root, who runs the tests in containers.
    chromiumSandbox: process.getuid() !== 0,
    args: ['--disable-dev-shm-usage', '--font-render-hinting=none'],
  });
  return launched;
}

export async function closeBrowser() {
  if (launched) await (await launched).close();
  launched = undefined;
}
