// Sending that goes wrong with JavaScript: what was typed stays, nothing is sent twice, and the page says what to do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { live } from './latency.mjs';
import { issueInSession, question } from './scene.mjs';
import { eventually, startWorld } from './world.mjs';

const isPost = (request) => request.method() === 'POST';

const WRONG = [
  ['a busy server', /too much to do/, (route) => route.fulfill({ status: 429, contentType: 'text/html', body: '<!doctype html><title>Too many</title>' })],
  ['a server that fails', /could not do this/, (route) => route.fulfill({ status: 503, contentType: 'text/html', body: '<!doctype html><title>Away</title>' })],
  ['no server', /did not answer/, (route) => route.abort('connectionfailed')],
];

for (const [name, words, answer] of WRONG) {
  test(`${name} leaves the page and what was typed, and the second try counts`, async (t) => {
    const world = await startWorld(t);
    const { gateId } = await question(world, 'Which port?', undefined);
    const visitor = await world.visitor();
    await live(visitor);
    const card = await visitor.unfold(gateId);
    await card.getByLabel('Answer').first().fill('Take 8443, please.');
    let posts = 0;
    await visitor.page.route(
      () => true,
      (route) => {
        if (!isPost(route.request())) return route.continue();
        posts += 1;
        return posts === 1 ? answer(route) : route.continue();
      },
    );
    await visitor.button('Answer', card).click();
    await card.getByRole('alert').filter({ hasText: words }).waitFor();
    assert.equal(posts, 1, 'nothing is sent again by itself');
    assert.equal(await card.getByLabel('Answer').first().inputValue(), 'Take 8443, please.');
    assert.equal(await visitor.overflow(), 0);
    assert.deepEqual(await visitor.axe(), []);
    await visitor.button('Answer', card).click();
    await visitor.sees('Answered.');
    const { gates } = await world.operator('gate_list', {});
    assert.deepEqual(gates.map((gate) => gate.response), ['Take 8443, please.']);
  });
}

test('two presses in a row send once', async (t) => {
  const world = await startWorld(t);
  const { session } = await issueInSession(world, { title: 'Chat', criteria: ['Talked about'] });
  const visitor = await world.visitor();
  await visitor.open(world.path(`/sessions/${session.id}`));
  await live(visitor);
  await visitor.page.getByLabel(/^Message to/).fill('Once.');
  let goOn;
  const kept = new Promise((resolve) => (goOn = resolve));
  let posts = 0;
  await visitor.page.route(
    () => true,
    async (route) => {
      if (isPost(route.request())) {
        posts += 1;
        await kept;
      }
      return route.continue();
    },
  );
  await visitor.button('Post').dblclick();
  await visitor.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  goOn();
  await visitor.sees('Posted.');
  assert.equal(posts, 1);
  const said = async () => (await world.operator('conversation_show', { conversationId: session.conversationId })).messages.map((one) => one.text);
  await eventually(said, ['Once.']);
  visitor.assertClean();
});

test('a page that was asked for first and arrives last is dropped', async (t) => {
  const world = await startWorld(t);
  const [first, second] = [await question(world, 'Which port?', undefined), await question(world, 'Which host?', undefined)];
  const visitor = await world.visitor();
  await live(visitor);
  await visitor.unfold(second.gateId);
  let goOn;
  const kept = new Promise((resolve) => (goOn = resolve));
  const isFirst = (request) => request.url().includes(`open=refuse-${first.gateId}`);
  await visitor.page.route(
    (url) => isFirst({ url: () => url.href }),
    async (route) => {
      const response = await route.fetch();
      await kept;
      return route.fulfill({ response });
    },
  );
  const began = visitor.page.waitForRequest(isFirst);
  await visitor.button('Refuse', visitor.gate(first.gateId)).click();
  await began;
  await visitor.button('Refuse', visitor.gate(second.gateId)).click();
  await visitor.gate(second.gateId).getByLabel('Why?').fill('Its name.');
  const arrived = visitor.page.waitForResponse((response) => isFirst(response.request()));
  goOn();
  await (await arrived).finished();
  await visitor.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert.equal(await visitor.page.locator(`#refuse-${first.gateId}`).count(), 0, 'the older page is not drawn');
  assert.equal(await visitor.gate(second.gateId).getByLabel('Why?').inputValue(), 'Its name.');
  assert.match(visitor.page.url(), new RegExp(`open=refuse-${second.gateId}`));
  visitor.assertClean();
});
