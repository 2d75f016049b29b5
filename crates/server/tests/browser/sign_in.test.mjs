// Signing in and out: the link that works once, and what there is to see without a session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWorld } from './world.mjs';

test('a link signs one browser in, once, and the page says so when it was used', async (t) => {
  const world = await startWorld(t);
  const link = await world.signInLink();
  const first = await world.stranger();
  await first.page.goto(link);
  assert.equal(new URL(first.page.url()).pathname, '/');
  assert.ok(!first.page.url().includes('code='), 'the code does not stay in the address');
  const second = await world.stranger();
  const answer = await second.page.goto(link);
  assert.equal(answer.status(), 410);
  await second.sees('This link has already been used.');
  await second.sees('punch open');
  await second.open('/');
  assert.equal(new URL(second.page.url()).pathname, '/sign-in');
  first.assertClean();
  second.assertClean();
});

test('a link that has expired says so', async (t) => {
  const world = await startWorld(t);
  const until = Date.now() + 6_000;
  const expires = new Date(until).toISOString();
  const { token } = await world.punch(['token', 'new', '--role', 'operator', '--expires', expires], { token: world.operatorToken });
  const { url } = await world.punch(['open', '--print'], { token });
  const visitor = await world.stranger();
  await visitor.open('/sign-in');
  await visitor.page.waitForFunction((end) => Date.now() > end, until + 100);
  const answer = await visitor.page.goto(url);
  assert.equal(answer.status(), 410);
  await visitor.sees('This link has expired.');
});

test('the cookie is out of reach of scripts and of other sites', async (t) => {
  const world = await startWorld(t);
  const visitor = await world.visitor();
  const cookies = await visitor.context.cookies();
  const session = cookies.find((cookie) => cookie.name === 'punchlist_session');
  assert.deepEqual([session.httpOnly, session.sameSite, session.secure], [true, 'Strict', false]);
  assert.equal(await visitor.page.evaluate(() => document.cookie), '');
});

test('without a session every page leads to the one that explains how to get one', async (t) => {
  const world = await startWorld(t);
  await world.operator('issue_create', { title: 'Nobody sees this' });
  const visitor = await world.stranger();
  for (const path of ['/', world.path(), world.path('/inbox'), world.path('/issues'), world.path('/issues/1'), world.path('/missions'), world.path('/plans'), world.path('/agents'), world.path('/activity')]) {
    await visitor.open(path);
    assert.equal(new URL(visitor.page.url()).pathname, '/sign-in', path);
    assert.ok(!(await visitor.page.content()).includes('Nobody sees this'));
  }
  await visitor.sees('Open punchlist from your terminal');
  visitor.assertClean();
});

for (const js of [true, false]) {
  test(`signing out ends the session ${js ? 'with' : 'without'} JavaScript`, async (t) => {
    const world = await startWorld(t);
    const visitor = await world.visitor({ js });
    const [session] = (await visitor.context.cookies()).filter((cookie) => cookie.name === 'punchlist_session');
    await visitor.button('Sign out').first().click();
    await visitor.page.waitForURL('**/sign-in');
    await visitor.context.addCookies([{ ...session }]);
    await visitor.open('/');
    assert.equal(new URL(visitor.page.url()).pathname, '/sign-in', 'the old cookie is worth nothing');
    visitor.assertClean();
  });
}

for (const js of [true, false]) {
  test(`a page session ends when its token is revoked, and what was typed is kept, ${js ? 'with' : 'without'} JavaScript`, async (t) => {
    const world = await startWorld(t);
    const { question } = await import('./scene.mjs');
    const { gateId } = await question(world, 'Which port?', undefined);
    const visitor = await world.visitor({ js });
    const card = await visitor.unfold(gateId);
    await card.getByLabel('Answer').first().fill('Take 8443, please.');
    const { tokens } = await world.operator('token_list', {});
    const pages = tokens.filter((token) => token.id && !token.revokedAt && token.role === 'operator');
    const own = await world.operator('token_list', {});
    assert.ok(pages.length >= 2, JSON.stringify(own));
    // The newest operator's token is the page's; the tests' own came first.
    const newest = pages.map((token) => token.id).sort().at(-1);
    await world.operator('token_revoke', { id: newest });
    await visitor.button('Answer', card).click();
    await visitor.sees('You are signed out');
    await visitor.sees('punch open');
    assert.equal(await visitor.page.locator('textarea[readonly]').inputValue(), 'Take 8443, please.');
    const { gates } = await world.operator('gate_list', { state: 'open' });
    assert.equal(gates.length, 1, 'nothing was changed');
  });
}
