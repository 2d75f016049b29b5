// M-81: the whole life of a mission in a browser, while agents change it underneath.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MISSION, claimedTodo, mission, pillar } from './scene.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

const todosOf = async (world) => (await world.operator('mission_todo_list', { missionSlug: MISSION })).todos;

for (const way of WAYS) {
  test(`a mission is measured, worked on, returned, accepted and paused, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const visitor = await world.visitor(way);
    await world.operator('issue_create', { title: 'So that there is a project' });
    await visitor.open(world.path('/missions'));
    await visitor.sees(/mission/i, visitor.page.locator('main'));
    const { todos } = await mission(world);
    await visitor.open(world.path('/missions'));
    await visitor.page.locator('main').getByRole('link', { name: /Developer Experience/ }).first().click();
    await visitor.page.waitForURL(new RegExp(`/missions/${MISSION}`));
    const main = visitor.page.locator('main');
    await visitor.unfoldRail();
    for (const text of ['Build Performance', 'Onboarding', 'Local build time', 'Measure before changing anything', /4 of 10|of 10/]) await visitor.sees(text, main);
    assert.ok((await main.locator('svg').count()) > 2, 'charts are drawn');

    // A reading comes in while the page is open.
    await world.call('metric_record', { mission: MISSION, metric: 'local-build-time', value: 51 }, { token: world.operatorToken });
    if (!way.js) await visitor.page.reload();
    await visitor.sees(/\b51\b/, main);

    // An owner claims; the person returns it, and then accepts it.
    await claimedTodo(world, todos[0]);
    if (!way.js) await visitor.page.reload();
    await visitor.sees('It takes 58 s now.', main);
    const card = visitor.page.locator(`[data-key="${todos[0].id}"]`).first();
    await visitor.button('Return', card).click();
    const returning = visitor.page.locator(`#refuse-${todos[0].id}`);
    await returning.getByLabel('What is missing?').fill('Measure it on three machines.');
    await visitor.button('Return', returning).click();
    await visitor.sees('Returned.');
    const returned = (await todosOf(world)).find((todo) => todo.id === todos[0].id);
    assert.equal(returned.status, 'in_progress');
    const again = { todoId: todos[0].id, outcome: 'It takes 58 s on three machines.', evidence: ['note:three machines'] };
    await world.as('owner', 'own1', 'todo_claim', again, pillar('build-performance'));
    await visitor.open(world.path(`/todos/${todos[0].id}`));
    for (const text of ['It takes 58 s on three machines.', 'It takes 72 s, and the target is under 60 s.', 'A build takes less than 60 s on three machines.', 'three machines']) await visitor.sees(text, main);
    await visitor.button('Accept').locator('visible=true').first().click();
    await visitor.sees(/completed/i, main);
    await eventually(async () => (await todosOf(world)).find((todo) => todo.id === todos[0].id).status, 'completed');

    await visitor.open(world.path(`/missions/${MISSION}`));
    const pause = visitor.button('Pause').locator('visible=true').first();
    if ((await pause.count()) === 0) await visitor.page.locator('main details.menu > summary, .topbar details > summary').locator('visible=true').first().click();
    await visitor.button('Pause').locator('visible=true').first().click();
    await eventually(async () => (await world.operator('mission_status', { mission: MISSION })).mission.status, 'paused');
    await visitor.sees(/^Paused\./, main);
    visitor.assertClean();
  });
}

test('a full mission says what to do first', async (t) => {
  const world = await startWorld(t);
  await mission(world, { todos: 0 });
  for (let index = 0; index < 10; index += 1) {
    const todo = { missionSlug: MISSION, pillarSlug: 'build-performance', title: `Todo ${index}`, justification: 'j', completionCriteria: 'c', targetStatus: 'pending' };
    await world.operator('mission_todo_create', todo);
  }
  const visitor = await world.visitor();
  await visitor.open(world.path(`/missions/${MISSION}`));
  await visitor.sees(/10 of 10/, visitor.page.locator('main'));
  visitor.assertClean();
});
