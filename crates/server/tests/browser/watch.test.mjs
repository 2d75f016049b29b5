// The watch over a browser sees what it is there for; without these, every other test could be blind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, startWorld } from './world.mjs';

test('the watch sees dialogs, errors of scripts, requests to other hosts and blocked content', async (t) => {
  const world = await startWorld(t);
  const visitor = await world.stranger();
  await visitor.open('/healthz');
  visitor.assertClean();
  const policy = `<meta http-equiv="Content-Security-Policy" content="img-src 'none'">`;
  await visitor.page.setContent(`${policy}<script>alert('dialog')</script><script>throw new Error('thrown')</script>
    <img src="/nothing.png"><link rel="stylesheet" href="http://127.0.0.1:9/style.css">`);
  const found = (word) => visitor.faults.some((fault) => fault.includes(word));
  for (const word of ['dialog: dialog', 'thrown', 'content policy', 'request to http://127.0.0.1:9/']) {
    await eventually(async () => found(word) || visitor.faults, true);
  }
});

test('axe finds what it is there for', async (t) => {
  const world = await startWorld(t);
  const visitor = await world.stranger();
  await visitor.open('/healthz');
  await visitor.page.setContent('<html lang="en"><title>t</title><main><h1>h</h1><img src="x.png"><p style="color:#ccc">pale</p></main>');
  const found = (await visitor.axe()).join('\n');
  assert.match(found, /image-alt/);
  assert.match(found, /color-contrast/);
});

test('agents and the operator are told apart', async (t) => {
  const world = await startWorld(t);
  const { issue } = await world.agent('issue_create', { title: 'By an agent', criteria: ['It works'] });
  const asked = await world.operator('issue_create', { title: 'By the operator', criteria: ['It works'] });
  const proposed = await world.call('issue_show', { number: issue.number });
  const ratified = await world.call('issue_show', { number: asked.issue.number });
  assert.equal(proposed.criteria[0].ratifiedAt, null);
  assert.notEqual(ratified.criteria[0].ratifiedAt, null);
});
