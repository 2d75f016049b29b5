// The keys: j and k go from item to item, / finds, n makes an issue, ? lists the keys and turns them off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { question, signOffGate } from './scene.mjs';
import { startWorld } from './world.mjs';

test('j and k go from decision to decision, and no single key decides anything', async (t) => {
  const world = await startWorld(t);
  const first = await signOffGate(world, { title: 'Refunds need two', criteria: ['It waits'], reason: 'Done.' });
  const second = await question(world, 'Which port?', undefined);
  const visitor = await world.visitor();
  const at = async (id) => visitor.page.waitForFunction((key) => document.activeElement?.closest('.gate')?.dataset.key === key, id);
  await visitor.page.keyboard.press('j');
  await at(first.gateId);
  await visitor.page.keyboard.press('j');
  await at(second.gateId);
  await visitor.page.keyboard.press('k');
  await at(first.gateId);
  for (const key of 'abcdefghilmopqrstuvwxyz'.replaceAll(/[jkn]/g, '')) await visitor.page.keyboard.press(key);
  const { gates } = await world.operator('gate_list', { state: 'open' });
  assert.equal(gates.length, 2);
  visitor.assertClean();
});

test('keys are letters in a field', async (t) => {
  const world = await startWorld(t);
  const { gateId } = await question(world, 'Which port?', undefined);
  const visitor = await world.visitor();
  const card = await visitor.unfold(gateId);
  const field = card.getByLabel('Answer').first();
  await field.focus();
  await visitor.page.keyboard.type('jk/n?');
  assert.equal(await field.inputValue(), 'jk/n?');
  assert.equal(new URL(visitor.page.url()).pathname, '/');
});

test('? lists the keys, and turns them off for good', async (t) => {
  const world = await startWorld(t);
  await question(world, 'Which port?', undefined);
  const visitor = await world.visitor();
  await visitor.page.keyboard.press('?');
  await visitor.sees(/Keys|Keyboard/);
  const off = visitor.page.getByRole('checkbox').or(visitor.page.getByRole('button', { name: /turn .*off/i })).first();
  await off.click();
  await visitor.page.keyboard.press('Escape');
  await visitor.page.reload();
  await visitor.page.locator('body').click({ position: { x: 2, y: 2 } });
  await visitor.page.keyboard.press('j');
  assert.notEqual(await visitor.page.evaluate(() => document.activeElement?.closest('.gate') !== null), true);
  visitor.assertClean();
});

test('/ finds and n makes an issue, on the list of issues', async (t) => {
  const world = await startWorld(t);
  for (const title of ['Alpha', 'Beta', 'Gamma']) await world.operator('issue_create', { title });
  const visitor = await world.visitor();
  await visitor.open(world.path('/issues'));
  await visitor.page.keyboard.press('/');
  await visitor.page.waitForFunction(() => document.activeElement?.localName === 'input');
  await visitor.page.keyboard.type('Beta');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForURL(/text=Beta/);
  await visitor.sees('Beta', visitor.page.locator('main'));
  assert.equal(await visitor.page.locator('main').getByText('Gamma').count(), 0);
  await visitor.open(world.path('/issues'));
  await visitor.page.keyboard.press('j');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForURL(/\/issues\/\d+$/);
  await visitor.open(world.path('/issues'));
  await visitor.page.keyboard.press('n');
  await visitor.page.waitForFunction(() => /title/i.test(document.activeElement?.labels?.[0]?.innerText ?? document.activeElement?.name ?? ''));
  visitor.assertClean();
});

test('the skip link comes first, and everything can be reached with the tabulator', async (t) => {
  const world = await startWorld(t);
  const { gateId } = await signOffGate(world, { title: 'Refunds need two', criteria: ['It waits'], reason: 'Done.' });
  const visitor = await world.visitor();
  await visitor.open('/');
  await visitor.page.keyboard.press('Tab');
  assert.match(await visitor.page.evaluate(() => document.activeElement.innerText), /skip/i);
  await visitor.page.keyboard.press('Enter');
  for (let presses = 0; presses < 60; presses += 1) {
    await visitor.page.keyboard.press('Tab');
    if (await visitor.page.evaluate(() => document.activeElement.innerText?.trim() === 'Sign off')) break;
  }
  const outline = await visitor.page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, 'none', 'the focus can be seen');
  await visitor.page.keyboard.press('Enter');
  await visitor.sees('Signed off.');
  const { gates } = await world.operator('gate_list', { state: 'open' });
  assert.ok(!gates.some((gate) => gate.id === gateId));
});
