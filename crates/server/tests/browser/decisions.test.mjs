// Everything that waits for a person, answered in place: each kind of card, and what follows from an answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MISSION, claimedTodo, failedAttempt, form, issueInSession, mission, permission, proposal, question, signOffGate } from './scene.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

const gateOf = async (world, id) => (await world.operator('gate_list', {})).gates.find((gate) => gate.id === id);

for (const way of WAYS) {
  test(`decisions are answered one after another, oldest first, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const criteria = ['A refund over 500 € waits', 'The list shows who approved'];
    const signOff = await signOffGate(world, { title: 'Refunds need two', criteria, reason: 'Both criteria are met.' });
    const asked = await question(world, 'Which port?', ['8080', '8443']);
    const allowed = await permission(world, 'deploy', ['./deploy.sh', 'staging']);
    const visitor = await world.visitor(way);
    assert.equal(await visitor.page.title(), '(3) punchlist');
    await visitor.sees('3 decisions are waiting');
    const first = visitor.gate(signOff.gateId);
    for (const text of ['#1', 'Refunds need two', 'Both criteria are met.', ...criteria, '4f2a91c']) await visitor.sees(text, first);
    await visitor.button('Sign off', first).click();
    await visitor.sees('Signed off.');
    assert.equal(await visitor.page.getByRole('link', { name: '#1 can be resolved now.' }).getAttribute('href'), world.path('/issues/1'));
    await visitor.page.waitForFunction(() => document.title === '(2) punchlist');
    assert.equal((await gateOf(world, signOff.gateId)).state, 'resumed');
    const next = `gate-${asked.gateId}`;
    if (way.js) await visitor.page.waitForFunction((id) => document.activeElement?.id === id, next);
    assert.equal(new URL(visitor.page.url()).hash, way.js ? new URL(visitor.page.url()).hash : `#${next}`);

    const card = await visitor.unfold(asked.gateId);
    await card.getByText('8443').click();
    await visitor.button('Answer', card).click();
    await visitor.page.waitForFunction(() => document.title === '(1) punchlist');
    assert.equal((await gateOf(world, asked.gateId)).response, '8443');

    const last = await visitor.unfold(allowed.gateId);
    await visitor.sees('./deploy.sh staging', last);
    await visitor.sees('If you allow it always, this allows primary every call of', last);
    await visitor.button('Allow once', last).click();
    await visitor.sees('Nothing is waiting');
    await visitor.page.waitForFunction(() => document.title === 'punchlist');
    assert.equal((await gateOf(world, allowed.gateId)).state, 'resumed');
    visitor.assertClean();
  });
}

for (const js of [true, false]) {
  const how = js ? 'with JavaScript' : 'without JavaScript';

  test(`a refusal asks what is missing, keeps what was typed, and reopens criteria, ${how}`, async (t) => {
    const world = await startWorld(t);
    const criteria = ['The first', 'The second'];
    const { gateId, number } = await signOffGate(world, { title: 'Two things', criteria, reason: 'Done.' });
    const visitor = await world.visitor({ js });
    await visitor.button('Refuse', visitor.gate(gateId)).click();
    const field = visitor.gate(gateId).getByLabel('What is missing?');
    await field.waitFor();
    await visitor.button('Refuse', visitor.gate(gateId)).click();
    await visitor.page.getByRole('alert').first().waitFor();
    assert.equal((await gateOf(world, gateId)).state, 'open', 'a refusal without words is none');
    await visitor.gate(gateId).getByLabel('What is missing?').fill('A test for the second.');
    await visitor.gate(gateId).getByLabel('The first').uncheck();
    await visitor.button('Refuse', visitor.gate(gateId)).click();
    await visitor.sees('Refused.');
    const gate = await gateOf(world, gateId);
    assert.deepEqual([gate.state, gate.response], ['refused', 'A test for the second.']);
    const { criteria: after } = await world.operator('issue_show', { number });
    assert.deepEqual(after.map((one) => one.status), ['completed', 'pending'], 'only the second is open again');
    visitor.assertClean();
  });

  test(`a form of a hundred fields keeps every type and every word, ${how}`, async (t) => {
    const world = await startWorld(t);
    const kinds = [{ type: 'string' }, { type: 'integer' }, { type: 'boolean' }, { type: 'string', enum: ['eu', 'us'] }, { type: 'number' }];
    const names = Array.from({ length: 100 }, (_, index) => `field_${index}`);
    const properties = Object.fromEntries(names.map((name, index) => [name, { ...kinds[index % 5], title: `Field ${index}` }]));
    const { gateId } = await form(world, 'A hundred questions', properties, ['field_0', 'field_1']);
    const visitor = await world.visitor({ js });
    const card = await visitor.unfold(gateId);
    const fieldOf = (index) => visitor.gate(gateId).getByLabel(new RegExp(`^Field ${index}( \\(optional\\))?$`));
    await fieldOf(0).fill('  words  ');
    await fieldOf(1).fill('not a number');
    await fieldOf(2).check();
    await fieldOf(3).selectOption('us');
    await fieldOf(99).fill('9.5');
    await visitor.button('Answer', card).click();
    await visitor.page.getByRole('alert').first().waitFor();
    assert.equal((await gateOf(world, gateId)).state, 'open');
    assert.equal(await fieldOf(1).inputValue(), 'not a number', 'what was typed is kept');
    assert.equal(await fieldOf(1).getAttribute('aria-invalid'), 'true');
    if (js) assert.deepEqual(await visitor.axe(), []);
    await visitor.gate(gateId).getByRole('alert').getByRole('link', { name: 'Field 1', exact: true }).click();
    if (js) await eventually(() => fieldOf(1).evaluate((element) => element === document.activeElement), true);
    assert.equal(await fieldOf(99).inputValue(), '9.5');
    await fieldOf(1).fill('42');
    await visitor.button('Answer', visitor.gate(gateId)).click();
    await visitor.sees('Answered.');
    const { response } = await gateOf(world, gateId);
    assert.equal(response.field_1, 42);
    assert.equal(response.field_2, true);
    assert.equal(response.field_3, 'us');
    assert.equal(response.field_99, 9.5);
    visitor.assertClean();
  });

  test(`a proposal is accepted as it was changed, and a review is accepted and returned, ${how}`, async (t) => {
    const world = await startWorld(t);
    const bound = await issueInSession(world, { title: 'Images', criteria: ['All are there'], steps: ['Copy'] });
    const delegation = await proposal(world, bound, [{ content: 'Count the images' }, { content: 'Compare the counts' }]);
    const { todos } = await mission(world);
    await claimedTodo(world, todos[0]);
    await claimedTodo(world, todos[1]);
    const visitor = await world.visitor({ js });
    const card = await visitor.unfold(delegation);
    if ((await card.locator('.after').count()) === 0) await card.getByText('Show it in the list').click();
    await visitor.sees('Nothing is removed or changed: 1 criterion and 1 step stay.', card);
    assert.deepEqual(await card.locator('.after .comes .content').allInnerTexts(), ['Count the images', 'Compare the counts']);
    assert.deepEqual(await card.locator('.after .stays .content').allInnerTexts(), ['Copy']);
    if (js) assert.deepEqual(await visitor.axe(), []);
    await card.getByText('Change the lines').click();
    await card.getByLabel('Steps').fill('Count the images twice\nCompare the counts');
    await visitor.button('Accept', card).click();
    await visitor.sees('Accepted.');
    const { steps } = await world.operator('issue_show', { number: bound.number });
    assert.deepEqual(steps.map((step) => step.content), ['Copy', 'Count the images twice', 'Compare the counts']);
    const accepted = await visitor.unfold(todos[0].id);
    await visitor.sees('It takes 58 s now.', accepted);
    await visitor.button('Accept', accepted).click();
    await visitor.gate(todos[0].id).waitFor({ state: 'detached' });
    const returned = await visitor.unfold(todos[1].id);
    await visitor.button('Return', returned).click();
    await visitor.gate(todos[1].id).getByLabel('What is missing?').fill('On three machines, please.');
    await visitor.button('Return', visitor.gate(todos[1].id)).click();
    await visitor.gate(todos[1].id).waitFor({ state: 'detached' });
    const states = (await world.operator('mission_todo_list', { missionSlug: MISSION })).todos;
    const stateOf = (todo) => states.find((one) => one.id === todo.id).status;
    assert.deepEqual([stateOf(todos[0]), stateOf(todos[1])], ['completed', 'in_progress']);
    visitor.assertClean();
  });

  test(`a proposal is refused with a reason that the delegating agent reads, ${how}`, async (t) => {
    const world = await startWorld(t);
    const bound = await issueInSession(world, { title: 'Images', criteria: ['All are there'], steps: ['Copy'] });
    const delegation = await proposal(world, bound, [{ content: 'Count the images' }]);
    const visitor = await world.visitor({ js });
    await visitor.button('Refuse', await visitor.unfold(delegation)).click();
    await visitor.gate(delegation).getByLabel('What is missing?').fill('Say how they are counted.');
    await visitor.button('Refuse', visitor.gate(delegation)).click();
    await visitor.sees('Refused.');
    const shown = await world.agent('delegation_show', { delegationId: delegation }, bound.context);
    assert.deepEqual([shown.delegation.decision, shown.delegation.decisionReason], ['reject', 'Say how they are counted.']);
    await visitor.open(world.path('/activity'));
    await visitor.sees('Say how they are counted.');
    visitor.assertClean();
  });

  test(`an escalation is answered with a new deadline, ${how}`, async (t) => {
    const world = await startWorld(t);
    await mission(world, { todos: 0 });
    const { todo } = await world.operator('mission_todo_create', { missionSlug: MISSION, pillarSlug: 'onboarding', title: 'Late', justification: 'j', completionCriteria: 'c', deadline: '2026-01-01' });
    await world.operator('mission_cycle', { mission: MISSION });
    await failedAttempt(world, todo, 'The compiler is missing.');
    const { gates } = await world.operator('gate_list', { state: 'open', kind: 'escalation' });
    const [{ id }] = gates;
    const visitor = await world.visitor({ js });
    const card = await visitor.unfold(id);
    await visitor.sees('overdue by', card);
    await visitor.sees('The compiler is missing.', card);
    await visitor.sees('boss.subagents.builder', card);
    if (js) assert.deepEqual(await visitor.axe(), []);
    await card.getByLabel('New deadline').fill('someday');
    await visitor.button('Answer', card).click();
    await visitor.page.getByRole('alert').first().waitFor();
    await visitor.gate(id).getByLabel('New deadline').fill('2099-12-01');
    await visitor.button('Answer', visitor.gate(id)).click();
    await visitor.gate(id).waitFor({ state: 'detached' });
    const { todos } = await world.operator('mission_todo_list', { missionSlug: MISSION });
    assert.equal(todos.find((todo) => todo.title === 'Late').deadline, '2099-12-01');
    visitor.assertClean();
  });
}

test('always allowing a tool is confirmed in place first', async (t) => {
  const world = await startWorld(t);
  const { gateId } = await permission(world, 'deploy', ['./deploy.sh']);
  const visitor = await world.visitor();
  const card = await visitor.unfold(gateId);
  await visitor.button('Allow always', card).click();
  assert.equal((await gateOf(world, gateId)).state, 'open', 'one press is not enough');
  await visitor.sees('every call of', visitor.gate(gateId));
  await visitor.button('Allow always', visitor.gate(gateId)).click();
  await visitor.gate(gateId).waitFor({ state: 'detached' });
  const { permissions } = await world.operator('permission_list', {});
  assert.equal(permissions.length, 1);
  visitor.assertClean();
});

test('signing off an unclaimed criterion needs a tick that names it', async (t) => {
  const world = await startWorld(t);
  const bound = await issueInSession(world, { title: 'Half done', criteria: ['Claimed one', 'Unclaimed one'] });
  await world.agent('todo', { action: 'done', content: 'Claimed one', evidence: [] }, bound.context);
  const { gateId } = await world.agent('checkpoint', { reason: 'Half of it.', purpose: 'sign_off' }, bound.context);
  const visitor = await world.visitor();
  await visitor.button('Sign off', visitor.gate(gateId)).click();
  await visitor.page.getByRole('alert').first().waitFor();
  assert.equal((await gateOf(world, gateId)).state, 'open');
  await visitor.gate(gateId).getByRole('checkbox', { name: /Unclaimed one/ }).check();
  await visitor.button('Sign off', visitor.gate(gateId)).click();
  await visitor.sees('Signed off.');
  visitor.assertClean();
});

test('a sign-off of what has changed since it was asked shows what changed, and counts once it was seen', async (t) => {
  const world = await startWorld(t);
  const { gateId, number } = await signOffGate(world, { title: 'Moving', criteria: ['It works'], reason: 'Done.' });
  const visitor = await world.visitor({ js: false });
  await world.operator('issue_update', { number, body: 'And now with another body.' });
  await visitor.button('Sign off', visitor.gate(gateId)).click();
  assert.equal((await gateOf(world, gateId)).state, 'open');
  await visitor.sees(/changed/i, visitor.gate(gateId));
  await visitor.button('Sign off', visitor.gate(gateId)).click();
  await visitor.sees('Signed off.');
});

for (const js of [true, false]) {
  test(`of two people who decide one gate the second learns who was first, ${js ? 'with' : 'without'} JavaScript`, async (t) => {
    const world = await startWorld(t);
    const { gateId } = await question(world, 'Which port?', undefined);
    const other = await question(world, 'Which host?', undefined);
    const [first, second] = [await world.visitor({ js }), await world.visitor({ js })];
    for (const visitor of [first, second]) await visitor.unfold(gateId);
    await second.gate(gateId).getByLabel('Answer').first().fill('Mine: 9090');
    await first.gate(gateId).getByLabel('Answer').first().fill('Take 8443');
    await first.button('Answer', first.gate(gateId)).click();
    await first.sees('Answered.');
    await second.button('Answer', second.gate(gateId)).click();
    await second.sees(/decided this first/);
    await second.sees(/Take 8443/);
    await second.sees(/Mine: 9090/);
    assert.equal((await gateOf(world, gateId)).response, 'Take 8443');
    assert.equal((await gateOf(world, other.gateId)).state, 'open');
    first.assertClean();
    second.assertClean();
  });
}
