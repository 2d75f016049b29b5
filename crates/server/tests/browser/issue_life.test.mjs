// K-7, K-29, K-53: the whole life of an issue in a browser, while an agent changes it underneath.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueInSession, signOffGate } from './scene.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

/** Opens a menu of a page's actions on a phone, where they are folded away. */
async function action(visitor, name) {
  const button = visitor.button(name).locator('visible=true').first();
  if ((await button.count()) === 0) {
    const menus = visitor.page.locator('main details.menu > summary, header details > summary, .topbar details > summary').locator('visible=true');
    for (let index = 0; index < (await menus.count()) && (await button.count()) === 0; index += 1) await menus.nth(index).click();
  }
  await button.click();
}

for (const way of WAYS) {
  test(`an issue is made, ratified, sent to an agent, refused, signed off and closed, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    await world.operator('issue_create', { title: 'So that there is a project' });
    const visitor = await world.visitor(way);
    await visitor.open(world.path('/issues'));
    await action(visitor, 'New issue');
    await visitor.page.getByLabel('Title').fill('Refunds over 500 € need a second approver');
    await visitor.page.getByLabel('Description').fill('One person approves **everything** today.');
    await visitor.page.getByLabel('Criteria').fill('A refund over 500 € waits\nThe list shows who approved');
    await visitor.button('Save').click();
    await visitor.page.waitForURL(/\/issues\/2(#.*)?$/);
    await visitor.sees('Refunds over 500 € need a second approver', visitor.page.locator('main'));
    const path = world.path('/issues/2');

    // An agent proposes a criterion; only the operator makes it count.
    const { session: early } = await world.agent('session_start', { title: 'Early' });
    await world.call('session_bind', { session: early.id, number: 2 });
    await world.call('todo', { action: 'add', kind: 'criterion', items: ['Nobody approves their own'] }, { flags: ['--session', early.id] });
    await visitor.open(path);
    await visitor.sees(/proposed/i, visitor.page.locator('main'));
    await visitor.button('Ratify').first().click();
    await eventually(async () => (await world.operator('issue_show', { number: 2 })).criteria.every((one) => one.ratifiedAt), true);
    await visitor.button('Ratify').waitFor({ state: 'detached' });
    const ratified = await world.operator('issue_show', { number: 2 });
    await world.agent('session_end', { session: early.id });

    await visitor.open(path);
    await action(visitor, 'Send to agent');
    await visitor.page.getByLabel('Message to the agent').fill('Begin with the tests.');
    await visitor.page.locator('main').getByRole('button', { name: 'Send to agent' }).locator('visible=true').last().click();
    const live = async () => (await world.operator('issue_show', { number: 2 })).sessions.find((one) => one.state !== 'ended' && one.id !== early.id);
    await eventually(async () => Boolean(await live()), true);
    const session = await live();

    // The agent works while the page is open.
    await visitor.open(path);
    const context = { session: session.id };
    await world.agent('todo', { action: 'set', items: ['Store the approver', 'Ask by mail'] }, context);
    if (!way.js) await visitor.page.reload();
    await visitor.sees('Store the approver', visitor.page.locator('main'));
    await world.agent('todo', { action: 'done', content: 'Store the approver' }, context);
    const criteria = ratified.criteria.map((criterion) => criterion.content);
    for (const content of criteria) await world.agent('todo', { action: 'done', content, evidence: ['commit:4f2a91c', 'test:two_approvers'] }, context);
    await world.agent('todo', { action: 'done', content: 'Ask by mail' }, context);
    const asked = await world.agent('checkpoint', { reason: 'All three criteria are met.' }, context);
    if (!way.js) await visitor.page.reload();
    await visitor.sees('All three criteria are met.', visitor.gate(asked.gateId));
    await visitor.sees('4f2a91c', visitor.page.locator('main'));

    // The first answer is no.
    await visitor.button('Refuse', visitor.gate(asked.gateId)).click();
    await visitor.gate(asked.gateId).getByLabel('What is missing?').fill('A test for exactly 500 €.');
    await visitor.button('Refuse', visitor.gate(asked.gateId)).click();
    await visitor.sees('Refused.');
    const reopened = (await world.operator('issue_show', { number: 2 })).criteria;
    assert.ok(reopened.every((criterion) => criterion.status !== 'completed'));
    for (const content of criteria) await world.agent('todo', { action: 'done', content, evidence: ['test:exactly_500'] }, context);
    const again = await world.agent('checkpoint', { reason: 'There is a test for exactly 500 € now.' }, context);

    // The second is yes, from Home.
    await visitor.open('/');
    await visitor.sees('There is a test for exactly 500 € now.', await visitor.unfold(again.gateId));
    await visitor.button('Sign off', visitor.gate(again.gateId)).click();
    await visitor.sees('Signed off.');
    await world.agent('issue', { action: 'transition', number: 2, status: 'resolved' }, context);
    await visitor.open(path);
    await visitor.sees(/resolved/i, visitor.page.locator('main'));
    const { issue, criteria: accepted } = await world.operator('issue_show', { number: 2 });
    assert.equal(issue.status, 'resolved');
    assert.ok(accepted.every((criterion) => criterion.acceptedAt));
    await visitor.sees('A test for exactly 500 €.', visitor.page.locator('main'));
    visitor.assertClean();
  });
}

for (const js of [true, false]) {
  const how = js ? 'with JavaScript' : 'without JavaScript';

  test(`steps and criteria are added, moved, held and dropped, and comments written, ${how}`, async (t) => {
    const world = await startWorld(t);
    const bound = await issueInSession(world, { title: 'Images', criteria: ['All are there'], steps: ['One', 'Two', 'Three'] });
    const visitor = await world.visitor({ js });
    const path = world.path(`/issues/${bound.number}`);
    const texts = async () => (await world.operator('issue_show', { number: bound.number })).steps.filter((step) => step.status !== 'abandoned').map((step) => step.content);
    await visitor.open(path);

    await addItem(visitor, 'Add step', 'Four');
    await eventually(texts, ['One', 'Two', 'Three', 'Four']);
    await addItem(visitor, 'Add criterion', 'None is slower');
    const criteria = async () => (await world.operator('issue_show', { number: bound.number })).criteria.map((one) => [one.content, Boolean(one.ratifiedAt)]);
    await eventually(criteria, [['All are there', true], ['None is slower', true]]);

    await visitor.button('Move up', await rowMenu(visitor, 'Four')).click();
    await eventually(texts, ['One', 'Two', 'Four', 'Three']);
    await visitor.button('Move down', await rowMenu(visitor, 'Two')).click();
    await eventually(texts, ['One', 'Four', 'Two', 'Three']);
    await (await rowMenu(visitor, 'Three')).getByText('Drop…').click();
    await visitor.page.getByLabel('Why?').fill('Not needed.');
    await visitor.button('Drop').locator('visible=true').last().click();
    await eventually(texts, ['One', 'Four', 'Two']);
    await (await rowMenu(visitor, 'Four')).getByText('Hold…').click();
    await visitor.page.getByLabel('Reason').locator('visible=true').fill('The key is missing.');
    await visitor.button('Hold').locator('visible=true').last().click();
    await visitor.sees('The key is missing.', visitor.page.locator('main'));

    const comment = visitor.page.getByRole('textbox', { name: /comment/i }).locator('visible=true').first();
    await comment.fill('Please keep the **old** addresses.');
    await visitor.button('Comment').locator('visible=true').last().click();
    await visitor.sees('Please keep the', visitor.page.locator('main'));
    const comments = async () => JSON.stringify((await world.operator('issue_show', { number: bound.number })).updates).includes('**old** addresses');
    await eventually(comments, true);
    visitor.assertClean();
  });

  test(`steps are ticked and reopened, and criteria accepted without a claim and reopened, ${how}`, async (t) => {
    const world = await startWorld(t);
    const bound = await issueInSession(world, { title: 'Images', criteria: ['All are there'], steps: ['One', 'Two'] });
    const visitor = await world.visitor({ js });
    await visitor.open(world.path(`/issues/${bound.number}`));
    const states = async () => {
      const { criteria, steps } = await world.operator('issue_show', { number: bound.number });
      return [...steps, ...criteria].map((item) => (item.acceptedAt ? 'accepted' : item.status));
    };
    await visitor.button('Complete “One”').click();
    await eventually(states, ['completed', 'in_progress', 'pending']);
    await visitor.button('Undo').click();
    await visitor.sees('Reopened.');
    await eventually(async () => (await states())[0] !== 'completed', true);
    await (await rowMenu(visitor, 'All are there')).getByText('Accept…').click();
    await visitor.sees('Nobody has claimed it.');
    if (js) assert.deepEqual(await visitor.axe(), []);
    await visitor.button('Accept').locator('visible=true').last().click();
    await eventually(async () => (await states())[2], 'accepted');
    await visitor.button('Reopen', await rowMenu(visitor, 'All are there')).click();
    await eventually(async () => (await states())[2], 'pending');
    visitor.assertClean();
  });

  test(`a stale edit of the checklist shows both versions and loses neither, ${how}`, async (t) => {
    const world = await startWorld(t);
    const bound = await issueInSession(world, { title: 'Images', criteria: ['All are there'], steps: ['One', 'Two'] });
    const visitor = await world.visitor({ js });
    await visitor.open(world.path(`/issues/${bound.number}`));
    await action(visitor, 'Edit checklist');
    const field = visitor.page.getByLabel('Checklist', { exact: true });
    await field.waitFor();
    const markdown = await field.inputValue();
    assert.match(markdown, /# Criteria/);
    await field.fill(`${markdown.trimEnd()}\n- [ ] Mine\n`);
    await world.agent('todo', { action: 'add', items: ['Theirs'] }, bound.context);
    await visitor.button('Save').locator('visible=true').last().click();
    await visitor.sees('Yours');
    await visitor.sees('Now');
    const both = await visitor.page.locator('main').evaluate((main) => main.innerText + [...main.querySelectorAll('textarea')].map((area) => area.value).join('\n'));
    assert.ok(both.includes('Mine') && both.includes('Theirs'), both);
    const untouched = (await world.operator('issue_show', { number: bound.number })).steps.map((step) => step.content);
    assert.deepEqual(untouched, ['One', 'Two', 'Theirs'], 'nothing was saved yet');
    const mine = visitor.page.locator('main textarea:not([readonly])').locator('visible=true').first();
    await mine.fill(`${(await mine.inputValue()).trimEnd()}\n- [ ] Theirs\n`);
    await visitor.button('Save').locator('visible=true').last().click();
    await visitor.page.waitForFunction(() => !document.querySelector('main').innerText.includes('Yours'));
    const saved = (await world.operator('issue_show', { number: bound.number })).steps.map((step) => step.content);
    assert.deepEqual(saved, ['One', 'Two', 'Mine', 'Theirs']);
    visitor.assertClean();
  });
}

for (const js of [true, false]) {
  test(`an emptied description is empty, and an empty message is asked for, ${js ? 'with' : 'without'} JavaScript`, async (t) => {
    const world = await startWorld(t);
    const { number, session } = await issueInSession(world, { title: 'Images', body: 'On one disk.', criteria: ['All are there'] });
    const visitor = await world.visitor({ js });
    await visitor.open(world.path(`/issues/${number}?open=details`));
    await visitor.page.getByLabel('Description').fill('');
    await visitor.button('Save').click();
    await visitor.sees('Saved.');
    assert.equal((await world.operator('issue_show', { number })).issue.body, '');
    await visitor.open(world.path(`/sessions/${session.id}`));
    await visitor.button('Post').click();
    await visitor.page.locator('#post-fault').getByText('Write a message first.').waitFor();
    visitor.assertClean();
  });
}

test('closing an issue against its criteria lists them first', async (t) => {
  const world = await startWorld(t);
  const { issue } = await world.operator('issue_create', { title: 'Half done', criteria: ['Never met'] });
  const child = (await world.operator('issue_create', { title: 'Still open below' })).issue;
  await world.operator('issue_link', { number: child.number, kind: 'child_of', to: issue.number }).catch(() => world.operator('issue_link', { number: child.number, kind: 'parent', to: issue.number }));
  const visitor = await world.visitor({ js: false });
  await visitor.open(world.path(`/issues/${issue.number}?open=close-resolved`));
  await visitor.sees('Never met', visitor.page.locator('main'));
  await visitor.sees('Still open below', visitor.page.locator('main'));
  assert.equal((await world.operator('issue_show', { number: issue.number })).issue.status, 'open');
  await visitor.page.getByLabel('Reason').fill('The customer left.');
  await visitor.button('Resolve').click();
  await visitor.sees('Reason: The customer left.', visitor.page.locator('#reason'));
  await world.operator('issue_transition', { number: issue.number, status: 'open' });
  await visitor.open(world.path(`/issues/${issue.number}`));
  assert.equal(await visitor.page.locator('#reason').count(), 0, 'it is open again, and no reason was given');
});

test('a claim on the issue is accepted and returned there, one by one', async (t) => {
  const world = await startWorld(t);
  const { number } = await signOffGate(world, { title: 'Two claims', criteria: ['The first', 'The second'], reason: 'Both.' });
  const visitor = await world.visitor({ js: false });
  await visitor.open(world.path(`/issues/${number}`));
  const text = await visitor.page.locator('main').innerText();
  assert.match(text, /0 of 2 met, 2 claimed/);
  const row = (name) => visitor.page.locator('#criteria-rows > li', { has: visitor.page.getByText(name, { exact: true }) });
  await visitor.button('Accept', row('The first')).click();
  await visitor.sees('accepted', row('The first'));
  await visitor.button('Return', row('The second')).click();
  await row('The second').getByLabel('What is missing?').fill('A test for it.');
  await visitor.button('Return', row('The second')).click();
  await visitor.sees('1 of 2 met');
  const { criteria } = await world.operator('issue_show', { number });
  assert.deepEqual(criteria.map((one) => [one.status, Boolean(one.acceptedAt)]), [['completed', true], ['pending', false]]);
  visitor.assertClean();
});

for (const js of [true, false]) {
  test(`K-53: an issue is closed as a duplicate of another one, ${js ? 'with' : 'without'} JavaScript`, async (t) => {
    const world = await startWorld(t);
    await world.operator('issue_create', { title: 'Checkout fails' });
    await world.operator('issue_create', { title: 'Paying does not work', forceNew: true });
    const visitor = await world.visitor({ js });
    await visitor.open(world.path('/issues/2'));
    await visitor.page.locator('main details.menu > summary', { hasText: 'Status' }).locator('visible=true').click();
    await visitor.page.getByRole('link', { name: 'Duplicate of…' }).locator('visible=true').click();
    await visitor.page.getByLabel('Duplicate of').fill('99');
    await visitor.button('Close as duplicate').click();
    await visitor.page.locator('#duplicate-fault').waitFor();
    assert.equal(await visitor.page.getByLabel('Duplicate of').inputValue(), '99', 'what was typed is kept');
    await visitor.page.getByLabel('Duplicate of').fill('#1');
    await visitor.button('Close as duplicate').click();
    await visitor.sees('Closed as a duplicate of #1.');
    const { issue, links } = await world.operator('issue_show', { number: 2 });
    assert.deepEqual([issue.status, links.map((link) => [link.kind, link.number])], ['rejected', [['duplicate_of', 1]]]);
    visitor.assertClean();
  });
}

/** Adds an item by the button of this name; the field may have to be unfolded first. */
async function addItem(visitor, name, text) {
  const field = () => visitor.page.getByRole('textbox', { name: new RegExp(name.split(' ')[1], 'i') }).locator('visible=true').first();
  if ((await field().count()) === 0) await action(visitor, name);
  await field().fill(text);
  await visitor.button(name).locator('visible=true').last().click();
  await visitor.page.locator('main').getByText(text, { exact: true }).first().waitFor();
  await visitor.page.waitForLoadState();
}

/** Opens the menu of a checklist row, and gives the row. */
async function rowMenu(visitor, text) {
  const row = visitor.page.locator('.checklist > li').filter({ has: visitor.page.getByText(text, { exact: true }) }).first();
  const menu = row.locator('details.row-menu');
  if (!(await menu.evaluate((element) => element.open))) {
    await row.hover();
    await menu.locator('summary').click();
  }
  return row;
}
