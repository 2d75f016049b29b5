// S-26, S-27: who looks at a session sees each continuation and why it stopped, and can always step in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTour } from './tour.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

/** Opens a menu of a page's actions on a phone, where they are folded away. */
async function press(visitor, name) {
  const button = visitor.button(name).locator('visible=true').first();
  if ((await button.count()) === 0) await visitor.page.locator('.topbar details > summary').locator('visible=true').click();
  await button.click();
}

for (const way of WAYS) {
  test(`a run is watched, answered, paused, resumed and stopped, ${shown(way)}`, async (t) => {
    const { world, pages } = await startTour(t);
    const path = pages.find((page) => page.name === 'session').path;
    const session = path.split('/').at(-1);
    const visitor = await world.visitor(way);
    await visitor.open(path);
    const main = visitor.page.locator('main');
    for (const text of ['Begin with the tests.', 'first, then I plan', 'That name was wrong.', /Continued by punchlist, 1 of 10/, 'May the old addresses stay for a week?']) {
      await visitor.sees(text, main);
    }
    // A tool call is one line; what came of it is a click away.
    const call = main.locator('details summary').filter({ hasText: 'todo' }).first();
    await call.waitFor();

    const { gates } = await world.operator('gate_list', { state: 'open', session });
    const card = await visitor.unfold(gates[0].id);
    await card.getByText('Yes', { exact: true }).click();
    await visitor.button('Answer', card).click();
    const answered = async () => (await world.operator('gate_list', { session })).gates[0].state;
    await eventually(answered, 'resumed');
    const ended = async () => (await world.operator('run_list', { session })).runs[0].state;
    await eventually(ended, 'ended', 20_000);
    if (!way.js) await visitor.page.reload();
    await visitor.sees(/^Stopped: /, main);

    await press(visitor, 'Pause');
    const driven = async () => JSON.stringify((await world.operator('session_show', { session })).session);
    await eventually(async () => /paus/.test(await driven()), true);
    await visitor.open(path);
    await press(visitor, 'Resume');
    await eventually(async () => /"paused/.test(await driven()), false);
    await visitor.page.getByLabel(/^Message to/).fill('Please go on.');
    await visitor.button('Post').click();
    const runs = async () => (await world.operator('run_list', { session })).runs.length;
    await eventually(runs, 2, 20_000);
    if (!way.js) await eventually(async () => (await visitor.page.reload(), (await main.innerText()).includes('Please go on.')), true);
    await visitor.sees('Please go on.', main);
    visitor.assertClean();
  });
}

test('M-55: the chat of a todo says that it is read-only while its agent works', async (t) => {
  const { world, pages } = await startTour(t);
  const visitor = await world.visitor();
  await visitor.open(pages.find((page) => page.name === 'todo-pending').path);
  await visitor.sees(/chat/i, visitor.page.locator('main'));
  visitor.assertClean();
});

test('stopping is confirmed in place, and ends the run', async (t) => {
  const files = { 'primary.toml': '[[steps]]\ntext = "Slow."\ndelay_ms = 60000\n' };
  const config = '[agents.primary]\nmodel = "scripted:{folder}/primary.toml"\n';
  const world = await startWorld(t, { config, files, serve: ['--jobs', '2'] });
  const { run } = await world.operator('run_start', { prompt: 'Be slow.' });
  const visitor = await world.visitor();
  await visitor.open(world.path(`/runs/${run.id}`));
  await press(visitor, 'Stop');
  const state = async () => (await world.operator('run_list', {})).runs[0].state;
  const confirm = visitor.page.locator('main form').getByRole('button', { name: 'Stop', exact: true }).last();
  await confirm.waitFor();
  assert.equal(await state(), 'running', 'one press is not enough');
  await confirm.click();
  await eventually(state, 'ended', 20_000);
  await visitor.sees(/Stopped/, visitor.page.locator('main'));
  visitor.assertClean();
});
