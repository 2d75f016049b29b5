// How long an event takes to a page that is open: from the agent's request to the words on the page.
// As a program of its own it measures once and prints the figures, for `cargo xtask bench`.
import { pathToFileURL } from 'node:url';
import { question } from './scene.mjs';

/** Waits until the page says that it follows. */
export async function live(visitor) {
  // On a phone the state may make room for a menu, so it need not be seen.
  await visitor.page.locator('[data-live]', { hasText: /^Live/ }).first().waitFor({ state: 'attached' });
}

/** Milliseconds, sorted. */
export async function eventTimes(world, rounds) {
  await question(world, 'The first?', undefined);
  const visitor = await world.visitor();
  await live(visitor);
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const { session } = await world.agent('session_start', { title: 'Ask' });
    const text = `Question number ${round}?`;
    const seen = visitor.page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text, { polling: 'raf' });
    const start = performance.now();
    await world.agent('ask', { question: text }, { session: session.id });
    await seen;
    times.push(performance.now() - start);
  }
  visitor.assertClean();
  return times.sort((a, b) => a - b);
}

export const median = (sorted) => sorted[Math.floor(sorted.length / 2)];

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { startWorld } = await import('./world.mjs');
  const { closeBrowser } = await import('./tools.mjs');
  const world = await startWorld(null);
  const times = await eventTimes(world, 31);
  await world.end();
  await closeBrowser();
  console.log(JSON.stringify({ medianMs: median(times), slowestMs: times.at(-1) }));
}
