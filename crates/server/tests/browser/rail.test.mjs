// The rail: what happened since yesterday, what needs attention, and sections that are folded on a phone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MISSION, issueInSession, mission, signOffGate } from './scene.mjs';
import { startTour } from './tour.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

/** What Home counts. */
const rows = async (visitor) => {
  await visitor.unfoldRail();
  await visitor.page.locator('#since').getByText(/Issues|Runs|Nothing/).first().waitFor();
  return visitor.page.locator('#since dl').evaluate((list) => {
    const names = [...list.querySelectorAll('dt')].map((dt) => dt.textContent);
    return Object.fromEntries([...list.querySelectorAll('dd')].map((dd, n) => [names[n], dd.textContent]));
  });
};

for (const way of WAYS) {
  test(`Home counts what happened since yesterday, and leads to it, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const visitor = await world.visitor(way);
    const { gateId, number } = await signOffGate(world, { title: 'Refunds', criteria: ['One', 'Two'], reason: 'Done.', steps: ['Write it', 'Test it'] });
    await visitor.page.reload();
    assert.deepEqual(await rows(visitor), { 'Issues filed': '1' });
    const { gates } = await world.operator('gate_list', {});
    await world.operator('gate_answer', { gateId, decision: 'resume', expectedRevision: gates[0].revision });
    await world.operator('issue_transition', { number, status: 'resolved', confirm: true });
    await world.operator('issue_create', { title: 'Something else' });
    await visitor.page.reload();
    assert.deepEqual(await rows(visitor), { 'Claims accepted': '2', 'Decisions answered': '1', 'Issues filed': '2', 'Issues closed': '1' });
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    await visitor.page.getByRole('link', { name: 'Decisions answered' }).click();
    await visitor.page.waitForURL(/kind=decisions/);
    await visitor.sees('answered');
    visitor.assertClean();
  });

  test(`Home says what the runs since yesterday cost, ${shown(way)}`, async (t) => {
    const script = '[[steps]]\ntext = "Done."\nusage = { input = 2000000, output = 15000 }\nrepeat = true\n';
    const config = '[agents.primary]\nmodel = "scripted:{folder}/primary.toml"\n'
      + '[prices."scripted:{folder}/primary.toml"]\ninput_per_mtok = 2.0\noutput_per_mtok = 100.0\n';
    const world = await startWorld(t, { config, files: { 'primary.toml': script }, serve: ['--jobs', '1'] });
    const visitor = await world.visitor(way);
    for (const [prompt, cost] of [['Say hello', '$5.50'], ['Say it again', '$11.00']]) {
      const { run } = await world.operator('run_start', { prompt });
      await eventually(async () => (await world.operator('run_show', { run: run.id })).run.state, 'ended', 20_000);
      await visitor.page.reload();
      assert.equal((await rows(visitor))['Cost of ended runs'], cost);
    }
    visitor.assertClean();
  });

  test(`Home names the metrics that miss their targets, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    await mission(world);
    const visitor = await world.visitor(way);
    await visitor.unfoldRail();
    const part = visitor.page.locator('#attention');
    await visitor.sees('Off target', part);
    await visitor.sees('Developer Experience / Onboarding', part);
    assert.equal(await part.locator('.rail-row').count(), 1, 'a warning is not off target');
    await part.getByRole('link', { name: 'First change' }).click();
    await visitor.page.waitForURL(`**/missions/${MISSION}#pillar-onboarding`);
    await world.operator('metric_record', { mission: MISSION, metric: 'first-change', value: 3600 });
    await visitor.open('/');
    assert.equal(await visitor.page.locator('#attention').count(), 0);
    visitor.assertClean();
  });

  test(`Home says who works, who waits for an answer, and how far they are, ${shown(way)}`, async (t) => {
    const { world, child } = await startTour(t);
    const visitor = await world.visitor(way);
    await visitor.sees('1 agent is paused until you answer.');
    await visitor.unfoldRail();
    const part = visitor.page.locator('#running');
    await visitor.sees(`#${child.number} · 1 of 3 steps · paused until you answer`, part);
    assert.equal(await part.getByText(/waits: /).count(), 0);
    await visitor.sees(', target < 86,400 s', visitor.page.locator('#attention'));
    visitor.assertClean();
  });

  test(`a session of a host whose hooks do not fire is marked, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const { session } = await world.agent('session_start', { title: 'Fix the log in', host: 'claude', externalId: 'abc' });
    const visitor = await world.visitor(way);
    await visitor.unfoldRail();
    await visitor.sees('Not governed', visitor.page.locator('#attention'));
    await visitor.open(world.path('/agents'));
    await visitor.sees('The hooks of claude do not fire, so it may stop early.');
    assert.equal(await visitor.overflow(), 0);
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    await visitor.page.getByRole('link', { name: 'Fix the log in' }).click();
    await visitor.sees('Not governed.');
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    await world.agent('session_hook', { host: 'claude', event: 'prompt', externalId: 'abc' }, { session: session.id });
    if (!way.js) await visitor.page.reload();
    await eventually(() => visitor.page.getByText('Not governed').count(), 0);
    await visitor.open('/');
    assert.equal(await visitor.page.locator('#attention').count(), 0);
    visitor.assertClean();
  });

  test(`sections of the rail are ${way.width < 720 ? 'folded' : 'open'} ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const { number } = await issueInSession(world, { title: 'Images', criteria: ['Moved'] });
    const visitor = await world.visitor(way);
    await visitor.open(world.path(`/issues/${number}`));
    const [heading, hint] = [visitor.page.getByRole('heading', { name: 'Links' }), visitor.page.getByText('No links.')];
    await heading.waitFor();
    if (way.width < 720) {
      await hint.waitFor({ state: 'hidden' });
      const [main, rail] = [await visitor.page.locator('.main-col').boundingBox(), await visitor.page.locator('.rail').boundingBox()];
      assert.ok(rail.y >= main.y + main.height, 'the rail comes last');
      if (way.js) assert.deepEqual(await visitor.axe(), []);
      await heading.click();
    }
    await hint.waitFor();
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    // What the reader is filling in is never folded away.
    await visitor.button('Add link').click();
    await visitor.page.getByRole('textbox', { name: 'Issue' }).waitFor();
    await visitor.page.getByRole('textbox', { name: 'Issue' }).fill('999');
    await visitor.button('Save').click();
    await visitor.page.locator('#links [role=alert]').waitFor();
    visitor.assertClean();
  });
}

test('a phone that is turned opens the sections, and an opened one stays open while things change', async (t) => {
  const world = await startWorld(t);
  const { number } = await issueInSession(world, { title: 'Images', criteria: ['Moved'] });
  const visitor = await world.visitor({ width: 390 });
  await visitor.open(world.path(`/issues/${number}`));
  const hint = visitor.page.getByText('No links.');
  await visitor.page.getByRole('heading', { name: 'Links' }).click();
  await hint.waitFor();
  await world.operator('issue_comment', { number, text: 'A new comment' });
  await visitor.sees('A new comment');
  await hint.waitFor();
  await visitor.page.setViewportSize({ width: 844, height: 390 });
  await eventually(() => visitor.page.locator('details.rail-part:not([open])').count(), 0);
  await visitor.page.setViewportSize({ width: 390, height: 844 });
  await hint.waitFor({ state: 'hidden' });
  visitor.assertClean();
});
