// A plan: its tree, and tasks that wait for others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plan } from './scene.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

const leaves = (tasks) => tasks.flatMap((task) => [task, ...leaves(task.children)]);

for (const way of WAYS) {
  test(`a task that waits for another one names it, until that one is done, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const { file, tasks } = await plan(world);
    const named = (text) => leaves(tasks).find((task) => task.content === text);
    const [first, second, branch] = [named('Ask the address service'), named('Delivery times per region'), named('Payment')];
    await world.operator('task_after', { taskId: second.id, after: [first.id] });
    await world.operator('task_after', { taskId: branch.id, after: [second.id] });
    const visitor = await world.visitor(way);
    await visitor.open(world.path(`/plans/${file}`));
    const row = visitor.page.locator(`#task-${second.id}`);
    const waits = `waits for t${first.seq} Ask the address service`;
    await visitor.sees(waits, row);
    await visitor.sees(`waits for t${second.seq} Delivery times per region`, visitor.page.locator(`#task-${branch.id} > summary`));
    assert.equal(await visitor.overflow(), 0);
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    await row.getByRole('link', { name: 'Ask the address service' }).click();
    await visitor.page.waitForURL(new RegExp(`#task-${first.id}$`));
    await world.operator('task_complete', { taskId: first.id });
    if (!way.js) await visitor.page.reload();
    await eventually(() => row.getByText(/waits for/).count(), 0);
    visitor.assertClean();
  });
}
