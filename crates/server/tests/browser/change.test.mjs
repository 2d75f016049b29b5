// Show the change: what the cited commits changed, file by file and line by line, read with git.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { claim } from './scene.mjs';
import { WAYS, eventually, shown, startWorld } from './world.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>.txt';

/** A repository in the world's folder, and the ids of its commits, the oldest first. */
function repository(world, commits) {
  const git = (...words) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], { cwd: join(world.folder, 'repository'), encoding: 'utf8' }).trim();
  mkdirSync(join(world.folder, 'repository'));
  git('init', '--quiet');
  return commits.map((files) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(world.folder, 'repository', name), text);
    git('add', '--all');
    git('commit', '--quiet', '-m', 'A step');
    return git('rev-parse', 'HEAD');
  });
}

/** An agent in that folder cites the commits and asks for sign-off. */
async function signOff(world, evidence) {
  const criteria = ['It works', 'It is tested'];
  const { issue } = await world.operator('issue_create', { title: 'Refunds need two', criteria });
  const { session } = await world.punch(['call', 'session_start', '{"title":"Work"}'], { cwd: join(world.folder, 'repository') });
  const context = { session: session.id };
  await world.agent('session_bind', { session: session.id, number: issue.number });
  await claim(world, { context }, criteria, evidence);
  const { gateId } = await world.agent('checkpoint', { reason: 'Both are met.' }, context);
  return { gateId, number: issue.number };
}

const many = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`part-${String(n).padStart(2, '0')}.rs`, `fn part_${n}() {}\n`]));

for (const way of WAYS) {
  test(`the change of a sign-off unfolds to files, 20 at a time, and to lines, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const first = { 'list.txt': 'one\ntwo\nthree\n', [HOSTILE]: '<script>alert(2)</script>\n' };
    const ids = repository(world, [first, { ...many, 'list.txt': 'one\n2\nthree\n', 'picture.bin': Buffer.from([0, 1, 2, 0]) }]);
    const { gateId } = await signOff(world, ids.map((id) => `commit:${id.slice(0, 10)}`));
    const visitor = await world.visitor(way);
    const card = visitor.gate(gateId);
    await visitor.sees('2 commits', card);
    // Its size comes after the page: git must not hold it up.
    if (way.js) for (const text of ['28 files', '+30']) await visitor.sees(text, card);
    else assert.equal(await card.getByText('files').count(), 0, 'git is not asked before the reader asks');
    await visitor.button('Show the change', card).click();
    await visitor.sees('Files 1 to 20 of 28.', card);
    await visitor.sees('28 files', card);
    await visitor.sees('+30', card);
    await visitor.sees('−1', card);
    const file = (name) => card.locator('details.file', { has: visitor.page.locator('summary', { hasText: name }) });
    await file(HOSTILE).locator('summary').click();
    await visitor.sees('+<script>alert(2)</script>', file(HOSTILE));
    await file('list.txt').locator('summary').click();
    await visitor.sees('-two', file('list.txt'));
    await visitor.sees('+2', file('list.txt').locator('pre'));
    assert.equal(await visitor.overflow(), 0);
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    await card.getByRole('link', { name: 'Show the next 8' }).click();
    await visitor.sees('Files 21 to 28 of 28.');
    await file('picture.bin').locator('summary').click();
    await visitor.sees('A binary file: there are no lines to show.', file('picture.bin'));
    // Deciding goes on beside it.
    await visitor.button('Refuse', card).click();
    await visitor.sees('What is missing?', card);
    await visitor.sees('Files 21 to 28 of 28.', card);
    await visitor.button('Cancel', card).click();
    // The page comes anew, and a press before that would be lost with the old one.
    await visitor.page.locator(`#refuse-${gateId}`).waitFor({ state: 'detached' });
    await visitor.button('Hide the change', card).click();
    await eventually(() => card.locator('details.file').count(), 0);
    await visitor.sees('+30', card);
    await visitor.button('Show the change', card).click();
    await card.locator('details.file').first().waitFor();
    await visitor.button('Sign off', card).click();
    await visitor.sees('Signed off.');
    visitor.assertClean();
  });

  test(`the issue shows its change, also after it was signed off, ${shown(way)}`, async (t) => {
    const world = await startWorld(t);
    const ids = repository(world, [{ 'a.txt': 'a\n'.repeat(450) }]);
    const { gateId, number } = await signOff(world, [`commit:${ids[0]}`]);
    const { gates } = await world.operator('gate_list', {});
    await world.operator('gate_answer', { gateId, decision: 'resume', expectedRevision: gates[0].revision });
    const visitor = await world.visitor(way);
    await visitor.open(world.path(`/issues/${number}`));
    await visitor.unfoldRail();
    const part = visitor.page.locator('#change');
    await visitor.sees('1 commit', part);
    await visitor.button('Show the change', part).click();
    const change = visitor.page.locator('#change-issue');
    // A single file is unfolded at once.
    await visitor.sees('+a', change);
    await visitor.sees('51 more lines.', change);
    await visitor.sees('+450', visitor.page.locator('.whole-change'));
    if (way.js) await eventually(() => visitor.focused(), 'change-issue');
    assert.equal(await visitor.overflow(), 0);
    if (way.js) assert.deepEqual(await visitor.axe(), []);
    visitor.assertClean();
  });
}

test('a change that cannot be read says why in a sentence', async (t) => {
  const world = await startWorld(t);
  repository(world, [{ 'a.txt': 'a\n' }]);
  const { gateId } = await signOff(world, ['commit:abcdef0123', 'commit:abcdef0124']);
  const visitor = await world.visitor();
  const card = visitor.gate(gateId);
  await visitor.button('Show the change', card).click();
  await visitor.sees('None of the commits is in the repository of this project.', card);
  rmSync(join(world.folder, 'repository'), { recursive: true });
  await visitor.page.reload();
  await visitor.sees(/The folder of this project is not on the server's machine/, card);
  visitor.assertClean();
});
