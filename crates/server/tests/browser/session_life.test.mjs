// S-26, S-27: who looks at a session sees each continuation and why it stopped, and can always step in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MISSION, mission, pillar } from './scene.mjs';
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

test('M-55: the chat of a todo is read-only while its agent works, and open to a message afterwards', async (t) => {
  const world = await startWorld(t);
  const { todos } = await mission(world);
  const start = { missionSlug: MISSION, todoId: todos[0].id, action: 'start', reason: 'It is the slowest.' };
  await world.as('lead', 'boss', 'mission_todo_update', start);
  await world.as('lead', 'boss', 'delegate', { type: 'pillar-owner', mission: 'Profile it.', async: true, todoId: todos[0].id }, { 'Punchlist-Mission': MISSION });
  const owner = ['owner', 'own1'];
  const taken = await world.as(...owner, 'delegation_take', { types: ['pillar-owner'] }, pillar('build-performance'));
  const visitor = await world.visitor();
  await visitor.open(world.path(`/todos/${todos[0].id}`));
  const main = visitor.page.locator('main');
  await visitor.sees('is working. You can read along, and post when it is idle.', main);
  await visitor.sees('Profile it.', main);
  assert.equal(await visitor.button('Post').count(), 0);
  await world.as(...owner, 'delegation_report', { delegationId: taken.delegation.id, epoch: taken.epoch, result: 'It takes 58 s.' }, pillar('build-performance'));
  await visitor.page.getByLabel('Message', { exact: true }).fill('How was it measured?');
  await visitor.button('Post').click();
  await visitor.sees('Posted.');
  const { conversationId } = taken.delegation;
  const last = async () => (await world.operator('conversation_show', { conversationId })).messages.at(-1).text;
  await eventually(last, 'How was it measured?');
  visitor.assertClean();
});

for (const way of WAYS) {
  test(`a run is answered, paused, resumed and written to on its own page, ${shown(way)}`, async (t) => {
    const { world, pages } = await startTour(t);
    const path = pages.find((page) => page.name === 'run').path;
    const { run } = await world.operator('run_show', { run: path.split('/').at(-1) });
    const visitor = await world.visitor(way);
    await visitor.open(path);
    const { gates } = await world.operator('gate_list', { state: 'open', session: run.sessionId });
    const card = await visitor.unfold(gates[0].id);
    await visitor.sees('May the old addresses stay for a week?', card);
    const isPaused = async () => Boolean((await world.operator('session_show', { session: run.sessionId })).session.pausedBy);
    await press(visitor, 'Pause');
    await eventually(isPaused, true);
    await visitor.sees('Paused.');
    await press(visitor, 'Resume');
    await eventually(isPaused, false);
    await visitor.sees('Resumed.');
    await visitor.page.getByLabel(/^Message to/).fill('Only for a week.');
    await visitor.button('Post').click();
    await visitor.sees('Posted.');
    await visitor.gate(gates[0].id).getByText('Yes', { exact: true }).click();
    await visitor.button('Answer', visitor.gate(gates[0].id)).click();
    await eventually(async () => (await world.operator('gate_list', { session: run.sessionId })).gates[0].state, 'resumed');
    assert.equal(await visitor.overflow(), 0);
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    visitor.assertClean();
  });

  test(`K-8: a session becomes an issue, is unbound from it and bound to another one, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    await world.operator('issue_create', { title: 'Something else' });
    const { session } = await world.agent('session_start', { title: 'Fix the log in' });
    const bound = async () => (await world.operator('session_show', { session: session.id })).session.boundIssue;
    const visitor = await world.visitor(way);
    await visitor.open(world.path(`/sessions/${session.id}`));
    await visitor.unfoldRail();
    await visitor.button('Make an issue').click();
    await visitor.page.getByLabel('Criteria').fill('It takes one second\nNobody is locked out');
    await visitor.button('Make an issue').click();
    await visitor.sees('It is an issue now.');
    assert.equal(await bound(), 2);
    const { issue, criteria } = await world.operator('issue_show', { number: 2 });
    assert.deepEqual([issue.title, criteria.length], ['Fix the log in', 2]);
    await visitor.unfoldRail();
    await visitor.button('Unbind').click();
    await visitor.sees('Unbound.');
    assert.equal(await bound(), null);
    await visitor.unfoldRail();
    await visitor.button('Bind to an issue').click();
    await visitor.page.getByRole('textbox', { name: 'Issue' }).fill('#1');
    await visitor.button('Bind').click();
    await visitor.sees('Bound to #1.');
    assert.equal(await bound(), 1);
    assert.equal(await visitor.overflow(), 0);
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    visitor.assertClean();
  });
}

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
