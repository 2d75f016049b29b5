// Much of everything: a checklist of 2,000 steps, a chat of 500 messages, 120 decisions at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { live } from './latency.mjs';
import { issueInSession, question } from './scene.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

const many = (count, word) => Array.from({ length: count }, (_, index) => `${word} ${index + 1}`);

test('a checklist of 2,000 steps can be read, ticked and followed', async (t) => {
  const world = await startWorld(t);
  const bound = await issueInSession(world, { title: 'Long', criteria: ['It ends'] });
  await world.agent('todo', { action: 'add', items: many(1000, 'Step') }, bound.context);
  await world.agent('todo', { action: 'add', items: many(999, 'Further step') }, bound.context);
  const visitor = await world.visitor({ width: 390 });
  await visitor.open(world.path(`/issues/${bound.number}`));
  await live(visitor);
  await visitor.sees(/0 of 1,999 closed/);
  assert.equal(await visitor.overflow(), 0);
  await world.agent('todo', { action: 'done', content: 'Step 1' }, bound.context);
  await visitor.sees(/1 of 1,999 closed/);
  // Buttons that name a form elsewhere on the page took Chromium ten seconds here: each row has its own. A long
  // list draws only the menu that is asked for.
  await visitor.page.getByRole('link', { name: 'Show all' }).first().click({ noWaitAfter: true });
  await visitor.page.getByText('Further step 999', { exact: true }).waitFor({ timeout: 60_000 });
  assert.equal(await visitor.page.locator('#steps-rows > li[id^="item-"]').count(), 1999);
  assert.equal(await visitor.page.locator('#steps-rows [form]').count(), 0);
  assert.equal(await visitor.page.locator('#steps-rows details.row-menu').count(), 0);
  await visitor.button('Complete “Step 2”').click();
  await visitor.sees(/2 of 1,999 closed/);
  visitor.assertClean();
});

for (const way of WAYS) {
  test(`a row of a long list has its menu too, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const bound = await issueInSession(world, { title: 'Long', criteria: ['It ends'] });
    await world.agent('todo', { action: 'add', items: many(400, 'Step') }, bound.context);
    const visitor = await world.visitor(way);
    await visitor.open(world.path(`/issues/${bound.number}?all=1`));
    if (way.js) {
      await live(visitor);
      await visitor.page.getByLabel('Comment').fill('Half a thought');
    }
    const row = (text) => visitor.page.locator('.checklist > li', { has: visitor.page.getByText(text, { exact: true }) });
    await row('Step 350').hover();
    await row('Step 350').getByRole('link', { name: 'More for' }).click();
    await visitor.button('Move up').click();
    await visitor.sees(/Moved/);
    const order = await visitor.page.locator('#steps-rows .content').allInnerTexts();
    assert.deepEqual(order.slice(348, 350), ['Step 350', 'Step 349']);
    if (way.js) {
      assert.equal(await visitor.page.getByLabel('Comment').inputValue(), 'Half a thought', 'what is typed elsewhere stays');
      assert.deepEqual(await visitor.axe(), []);
    }
    assert.equal(await visitor.overflow(), 0);
    visitor.assertClean();
  });
}

test('a chat of 500 messages shows its end, follows while the end is in view, and loses none', async (t) => {
  const world = await startWorld(t);
  const bound = await issueInSession(world, { title: 'Chat', criteria: ['Talked about'] });
  const { conversationId } = bound.session;
  for (const text of many(500, 'Message')) await world.operator('conversation_post', { conversationId, text });
  const visitor = await world.visitor();
  await visitor.open(world.path(`/sessions/${bound.session.id}`));
  await live(visitor);
  await visitor.page.getByText('Message 500', { exact: true }).waitFor();
  await visitor.page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await world.operator('conversation_post', { conversationId, text: 'The very last' });
  const last = visitor.page.getByText('The very last', { exact: true });
  await last.waitFor();
  await eventually(() => last.evaluate((element) => element.getBoundingClientRect().top < innerHeight), true);
  await visitor.page.evaluate(() => window.scrollTo(0, 0));
  const before = await visitor.page.evaluate(() => window.scrollY);
  await world.operator('conversation_post', { conversationId, text: 'Not followed' });
  await visitor.sees(/New messages/);
  assert.equal(await visitor.page.evaluate(() => window.scrollY), before);
  visitor.assertClean();
});

test('120 decisions at once are counted, and the oldest comes first', async (t) => {
  const world = await startWorld(t);
  for (const text of many(120, 'Question')) await question(world, `${text}?`, undefined);
  const visitor = await world.visitor();
  await visitor.sees('120 decisions are waiting');
  assert.equal(await visitor.page.title(), '(120) punchlist');
  const first = await visitor.page.locator('.gate').first().innerText();
  assert.match(first, /Question 1\?/);
  assert.equal(await visitor.overflow(), 0);
  visitor.assertClean();
});
