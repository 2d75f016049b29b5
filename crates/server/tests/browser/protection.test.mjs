// What keeps other sites and agents away from the operator's pages: headers, tokens in forms, frames.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { question } from './scene.mjs';
import { startWorld } from './world.mjs';

/** A site of somebody else on this machine. */
async function foreignSite(t, html) {
  const server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(html));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  // Another name, so that it is another site to the browser.
  return `http://localhost:${server.address().port}/`;
}

test('every page has the headers, and nothing of it is kept by a cache', async (t) => {
  const world = await startWorld(t);
  await world.operator('issue_create', { title: 'One' });
  const visitor = await world.visitor();
  const paths = ['/', world.path(), world.path('/inbox'), world.path('/issues'), world.path('/issues/1'), world.path('/issues/99'), '/nowhere', '/p/nowhere'];
  for (const path of paths) {
    const headers = (await visitor.open(path)).headers();
    const policy = headers['content-security-policy'];
    assert.ok(policy, path);
    assert.ok(!policy.includes('unsafe-inline') && !policy.includes('unsafe-eval') && !/https?:/.test(policy), policy);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /form-action 'self'/);
    assert.match(policy, /base-uri 'none'/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'same-origin');
    assert.match(headers['cache-control'] ?? '', /no-store/, `${path}: ${headers['cache-control']}`);
  }
  visitor.assertClean();
});

test('assets are kept by caches for good, and their addresses change with them', async (t) => {
  const world = await startWorld(t);
  const visitor = await world.visitor();
  const assets = await visitor.page.evaluate(() => [...document.querySelectorAll('link[rel=stylesheet], script[src]')].map((e) => e.href || e.src));
  assert.equal(assets.length, 2);
  let bytes = 0;
  for (const url of assets) {
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('cache-control'), /immutable|max-age=31536000/, url);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    bytes += (await response.arrayBuffer()).byteLength;
  }
  assert.ok(bytes <= 100 * 1024, `${bytes} bytes`);
});

test('a page is not shown in a frame of another site', async (t) => {
  const world = await startWorld(t);
  await question(world, 'Which port?', undefined);
  const site = await foreignSite(t, `<!doctype html><title>foreign</title><iframe src="${world.url}/" width="600" height="600"></iframe>`);
  const visitor = await world.visitor();
  const page = await visitor.context.newPage();
  await page.goto(site, { waitUntil: 'load' });
  const frame = page.frames().find((one) => one !== page.mainFrame());
  const text = await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '');
  assert.ok(!text.includes('Which port?'), text);
});

test('a form that another site sends decides nothing', async (t) => {
  const world = await startWorld(t);
  const { gateId } = await question(world, 'Which port?', undefined);
  const fields = { form: `answer-${gateId}`, do: 'answer', gate: gateId, project: world.project, text: '1' };
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
  const site = await foreignSite(t, `<!doctype html><title>foreign</title><form method="post" action="${world.url}/">${inputs}</form>
    <script>document.forms[0].submit()</script>`);
  const visitor = await world.visitor();
  const page = await visitor.context.newPage();
  const answered = page.waitForResponse((response) => response.url().startsWith(world.url));
  await page.goto(site, { waitUntil: 'commit' });
  assert.ok((await answered).status() >= 400);
  const { gates } = await world.operator('gate_list', { state: 'open' });
  assert.equal(gates.length, 1, 'the question is still open');
});

test('a form without our token, or with an old one, changes nothing and keeps what was typed', async (t) => {
  const world = await startWorld(t);
  const { gateId } = await question(world, 'Which port?', undefined);
  for (const csrf of ['', '0'.repeat(32)]) {
    const visitor = await world.visitor({ js: false });
    const card = await visitor.unfold(gateId);
    await card.getByLabel('Answer').first().fill('Take 8443, please.');
    await visitor.page.evaluate((value) => document.querySelectorAll('input[name=csrf]').forEach((input) => (input.value = value)), csrf);
    const [answer] = await Promise.all([visitor.page.waitForNavigation(), visitor.button('Answer', card).click()]);
    assert.equal(answer.status(), 403);
    assert.match(await visitor.page.content(), /Take 8443, please\./, 'what was typed is kept');
    const { gates } = await world.operator('gate_list', { state: 'open' });
    assert.equal(gates.length, 1);
  }
});

test('the cookie of a page is of no use to the API, and a token is of no use to a page', async (t) => {
  const world = await startWorld(t);
  const visitor = await world.visitor();
  const [{ value }] = (await visitor.context.cookies()).filter((cookie) => cookie.name === 'punchlist_session');
  const ask = (path, headers) => fetch(`${world.url}${path}`, { redirect: 'manual', headers });
  const api = await ask('/v1/token_list', { Cookie: `punchlist_session=${value}`, 'Punchlist-Project': world.project });
  const secrets = await api.text();
  assert.ok(api.status >= 400, `${api.status} ${secrets}`);
  assert.ok((await ask('/v1/status', { Authorization: `Bearer ${value}` })).status >= 400);
  const page = await ask('/', { Authorization: `Bearer ${world.operatorToken}` });
  assert.deepEqual([page.status, page.headers.get('location')], [303, '/sign-in']);
  const wrong = await ask('/', { Cookie: `punchlist_session=${world.operatorToken}` });
  assert.equal(wrong.status, 303);
});

test('a request with a foreign Host or Origin gets no page', async (t) => {
  const world = await startWorld(t);
  const visitor = await world.visitor();
  const [{ value }] = (await visitor.context.cookies()).filter((cookie) => cookie.name === 'punchlist_session');
  const { request } = await import('node:http');
  const status = (headers) =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(world.url);
      request({ hostname, port, path: '/', headers: { Cookie: `punchlist_session=${value}`, Accept: 'text/html', ...headers } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
  assert.equal(await status({}), 200);
  assert.equal(await status({ Host: 'evil.example' }), 403);
  assert.equal(await status({ Origin: 'http://evil.example' }), 403);
  assert.equal(await status({ 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }), 403);
});

test('unknown addresses get a page in the same frame, with a way on', async (t) => {
  const world = await startWorld(t);
  await world.operator('issue_create', { title: 'One' });
  const visitor = await world.visitor();
  const paths = ['/nowhere', '/p/nowhere', '/p/nowhere/issues', world.path('/nowhere'), world.path('/issues/99'), world.path('/issues/none'), world.path('/sessions/none'), world.path('/runs/none'), world.path('/missions/none'), world.path('/todos/none'), world.path('/plans/none.md')];
  for (const path of paths) {
    const answer = await visitor.open(path);
    assert.equal(answer.status(), 404, path);
    assert.equal(await visitor.page.locator('main h1').count(), 1, path);
    assert.ok(await visitor.page.locator('main a[href]').count(), `${path} leads nowhere`);
    assert.ok(await visitor.page.locator('nav').count(), `${path} has no navigation`);
  }
  visitor.assertClean();
});
