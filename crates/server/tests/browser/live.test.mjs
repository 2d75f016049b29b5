// A page that is open follows what happens, and never takes from the reader what they are doing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTimes, live, median } from './latency.mjs';
import { MISSION, claimedTodo, issueInSession, mission, permission, question, signOffGate } from './scene.mjs';
import { startWorld } from './world.mjs';

test('an event is on an open page within 250 ms, half of the time at least', async (t) => {
  const world = await startWorld(t);
  const times = await eventTimes(world, 15);
  t.diagnostic(`an event is on an open page after ${median(times).toFixed(0)} ms (median of ${times.length}; slowest ${times.at(-1).toFixed(0)} ms)`);
  assert.ok(median(times) <= 250, times.join(' '));
});

test('what is typed, focused, selected, open and scrolled stays while the page changes', async (t) => {
  const world = await startWorld(t);
  const signOff = await signOffGate(world, { title: 'Refunds need two', criteria: ['It waits'], reason: 'Done.' });
  const asked = await question(world, 'Which port?', undefined);
  for (let index = 0; index < 8; index += 1) await question(world, `Filler ${index}?`, undefined);
  const allowed = await permission(world, 'deploy', ['./deploy.sh']);
  const visitor = await world.visitor();
  await live(visitor);
  const card = await visitor.unfold(asked.gateId);
  await visitor.unfold(allowed.gateId);
  const field = card.getByLabel('Answer').first();
  await field.fill('Half an answer');
  await field.evaluate((element) => element.setSelectionRange(5, 7));
  await visitor.page.evaluate(() => window.scrollTo(0, 300));
  const before = await state(visitor, asked.gateId, allowed.gateId);
  await world.operator('gate_answer', { gateId: signOff.gateId, decision: 'refuse', response: 'Not yet.' });
  await question(world, 'One more?', undefined);
  await visitor.page.waitForFunction(() => document.body.innerText.includes('One more?') || /\d+ changes?: show/.test(document.body.innerText));
  assert.deepEqual(await state(visitor, asked.gateId, allowed.gateId), before);
  visitor.assertClean();
});

test('a step that is being typed stays when the first steps, criteria and phases arrive', async (t) => {
  const world = await startWorld(t);
  const { number, context } = await issueInSession(world, { title: 'Refunds' });
  const visitor = await world.visitor();
  await visitor.open(`/p/shop/issues/${number}`);
  await live(visitor);
  const typed = {};
  for (const [label, text] of [['Add step', 'half a step'], ['Add criterion', 'half a criterion']]) {
    const field = visitor.page.getByLabel(label).first();
    await field.fill(text);
    typed[await field.getAttribute('id')] = text;
  }
  const focused = await visitor.page.evaluate(() => document.activeElement.id);
  for (const [items, kind] of [[['first step'], 'step'], [['first criterion'], 'criterion'], [['# Build', 'in a phase'], 'step']]) {
    await world.agent('todo', { action: 'add', items, kind }, context);
    await visitor.sees(items.at(-1));
    const left = await visitor.page.evaluate((ids) => Object.fromEntries(ids.map((id) => [id, document.getElementById(id)?.value])), Object.keys(typed));
    assert.deepEqual(left, typed, items.join());
    assert.equal(await visitor.page.evaluate(() => document.activeElement.id), focused, items.join());
    assert.equal(await visitor.page.locator('.adder').count(), 2);
  }
  visitor.assertClean();
});

/** What must not change under the reader. */
function state(visitor, typed, open) {
  return visitor.page.evaluate(
    ([typedId, openId]) => {
      const field = document.activeElement;
      const unfolded = document.querySelector(`.gate[data-key="${openId}"]`);
      return {
        focus: field.id,
        inside: Boolean(field.closest(`[data-key="${typedId}"]`)),
        value: field.value,
        selection: [field.selectionStart, field.selectionEnd],
        open: unfolded.localName !== 'details' || unfolded.open,
        // Where it is seen, not how far the page is scrolled: what is above may grow.
        top: Math.round(field.getBoundingClientRect().top),
      };
    },
    [typed, open],
  );
}

test('a look from before the reader opened a form changes nothing when it arrives late', async (t) => {
  const world = await startWorld(t);
  const { todos } = await mission(world);
  await claimedTodo(world, todos[0]);
  const visitor = await world.visitor();
  await visitor.open(world.path(`/missions/${MISSION}`));
  await live(visitor);
  // The page looks again, and the answer is kept back.
  let goOn;
  const kept = new Promise((resolve) => (goOn = resolve));
  const looked = visitor.page.waitForRequest(isLook);
  await visitor.page.route(
    () => true,
    async (route) => {
      if (!isLook(route.request())) return route.continue();
      const response = await route.fetch();
      await kept;
      return route.fulfill({ response });
    },
  );
  await question(world, 'Which port?', undefined);
  await looked;
  const card = visitor.gate(todos[0].id);
  await visitor.button('Return', card).click();
  await card.getByLabel('What is missing?').fill('Measure it on three machines.');
  const arrived = visitor.page.waitForResponse((response) => isLook(response.request()));
  goOn();
  await (await arrived).finished();
  await visitor.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert.equal(await visitor.button('Return', card).count(), 1, 'the form, and no second way to open it');
  await visitor.button('Return', card).click();
  await visitor.sees('Returned.');
  visitor.assertClean();
});

test('a page that cannot be drawn for a moment keeps what is typed, and looks again', async (t) => {
  const world = await startWorld(t);
  const asked = await question(world, 'Which port?', undefined);
  const visitor = await world.visitor();
  await live(visitor);
  const field = (await visitor.unfold(asked.gateId)).getByLabel('Answer').first();
  await field.fill('Half an answer');
  let refused = 0;
  await visitor.page.route(
    () => true,
    (route) => {
      if (!isLook(route.request()) || refused === 2) return route.continue();
      refused += 1;
      return route.fulfill({ status: 429, contentType: 'text/html', body: '<!doctype html><title>Too many</title>' });
    },
  );
  await question(world, 'Which host?', undefined);
  await visitor.sees(/Which host\?|1 change: show/);
  assert.equal(await field.inputValue(), 'Half an answer');
  assert.equal(refused, 2);
  await live(visitor);
  visitor.assertClean();
});

/** Whether a page asks for itself again. */
function isLook(request) {
  return request.headers()['punchlist-live'] === '1';
}

test('a page that has lost the server says so, and follows again when it is back', async (t) => {
  const world = await startWorld(t);
  await question(world, 'The first?', undefined);
  const visitor = await world.visitor();
  await live(visitor);
  const port = new URL(world.url).port;
  await world.stopServer();
  await visitor.page.locator('[data-live]:visible', { hasText: /Reconnecting|Not live/ }).first().waitFor({ timeout: 20_000 });
  await world.serve(['--listen', `127.0.0.1:${port}`]);
  await question(world, 'After the restart?', undefined);
  await visitor.page.waitForFunction(() => document.body.innerText.includes('After the restart?'), undefined, { timeout: 30_000 });
  await live(visitor);
});

test('without JavaScript a reload shows the same', async (t) => {
  const world = await startWorld(t);
  await question(world, 'The first?', undefined);
  const plain = await world.visitor({ js: false });
  const alive = await world.visitor();
  await live(alive);
  await question(world, 'The second?', undefined);
  await alive.page.waitForFunction(() => document.body.innerText.includes('The second?'));
  await plain.page.reload();
  await plain.sees('The second?');
  assert.equal(await plain.page.title(), await alive.page.title());
});
