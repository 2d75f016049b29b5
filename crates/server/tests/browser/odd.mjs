// States that a tour of the pages does not come by: much of one thing, a conflict, errors, proposals and
// escalations in full. Each is a page, and what a reader does on it before it is looked at.
import { MISSION, failedAttempt, form, issueInSession, mission, proposal } from './scene.mjs';
import { startWorld } from './world.mjs';

const many = (count, word) => Array.from({ length: count }, (_, index) => `${word} ${index + 1}`);

/** Starts a world for them. */
export async function startOdd(t) {
  const world = await startWorld(t);
  const images = await issueInSession(world, {
    title: 'Move the product images',
    criteria: ['Every image is in the bucket', 'Old addresses redirect'],
    steps: ['Create the bucket', 'Copy in batches', '# Switch', 'Redirect old addresses'],
  });
  const delegation = await proposal(world, images, [
    { content: 'Count the images' },
    { content: 'Copy in batches' },
    { content: 'Compare the counts', phase: 'Switch' },
    { content: 'Delete the old folder', phase: 'Afterwards' },
    { content: 'Every count is written down', kind: 'criterion' },
  ]);
  await mission(world, { todos: 0 });
  const { todo } = await world.operator('mission_todo_create', {
    missionSlug: MISSION,
    pillarSlug: 'build-performance',
    title: 'Profile the build of the shop front',
    justification: 'It takes 72 s, and the target is under 60 s.',
    completionCriteria: 'The three slowest plugins are named.',
    deadline: '2026-01-01',
  });
  await world.operator('mission_cycle', { mission: MISSION });
  await failedAttempt(world, todo, 'The profiler needs a licence that this machine does not have.');
  const { gates } = await world.operator('gate_list', { state: 'open', kind: 'escalation' });
  const properties = Object.fromEntries(many(100, 'field').map((name, index) => [name.replace(' ', '_'), FIELDS[index % FIELDS.length](index + 1)]));
  const wide = await form(world, 'Describe the hundred machines', properties, ['field_1', 'field_7']);
  const long = await issueInSession(world, { title: 'Look at every module', criteria: ['All are looked at'] });
  await world.agent('todo', { action: 'add', items: many(1000, 'Look at module') }, long.context);
  await world.agent('todo', { action: 'add', items: many(999, 'Test module') }, long.context);
  const chat = await issueInSession(world, { title: 'A long talk', criteria: ['Talked about'] });
  for (const text of many(500, 'Message')) await world.operator('conversation_post', { conversationId: chat.session.conversationId, text: `${text}: the counts are the same as yesterday.` });
  let changes = 0;
  const issue = world.path(`/issues/${images.number}`);
  const pages = [
    { name: 'proposal', path: `${issue}?open=list-${delegation}` },
    { name: 'proposal-lines', path: `${issue}?open=list-${delegation}`, async prepare({ page }) {
      await page.getByText('Change the lines').click();
    } },
    { name: 'escalation', path: `/?open=tried-${gates[0].id}` },
    { name: 'form-of-100', path: world.path(`/sessions/${wide.session.id}`) },
    { name: 'form-of-100-refused', path: world.path(`/sessions/${wide.session.id}`), async prepare(visitor) {
      await visitor.button('Answer', visitor.gate(wide.gateId)).click();
      await visitor.page.getByRole('alert').first().waitFor();
    } },
    { name: 'checklist-of-2000', path: world.path(`/issues/${long.number}`) },
    { name: 'chat-of-500', path: world.path(`/sessions/${chat.session.id}`) },
    { name: 'conflict', path: `${issue}?open=edit`, async prepare(visitor) {
      const field = visitor.page.getByLabel('Checklist', { exact: true });
      await field.fill(`${(await field.inputValue()).trimEnd()}\n- [ ] Mine, typed by hand\n`);
      const content = (changes += 1) % 2 ? 'Theirs, added meanwhile' : undefined;
      if (content) await world.agent('todo', { action: 'add', items: [content] }, images.context);
      else await world.agent('todo', { action: 'drop', content: 'Theirs, added meanwhile' }, images.context);
      await visitor.button('Save').locator('visible=true').last().click();
      await visitor.page.getByText('Yours', { exact: true }).waitFor();
    } },
    { name: 'row-menu', path: issue, async prepare(visitor) {
      const row = visitor.page.locator('.checklist > li', { has: visitor.page.getByText('Every image is in the bucket', { exact: true }) });
      await row.hover();
      await row.locator('details.row-menu > summary').click();
    } },
    { name: 'row-accept', path: issue, async prepare(visitor) {
      const shown = await world.operator('issue_show', { number: images.number });
      await visitor.open(`${issue}?open=accept-${shown.criteria[0].id}`);
    } },
    { name: 'error-no-issue', path: world.path('/issues/999') },
    { name: 'error-no-project', path: '/p/nowhere' },
    { name: 'error-no-page', path: world.path('/nothing') },
  ];
  return { world, pages };
}

const FIELDS = [
  (n) => ({ type: 'string', title: `Name of machine ${n}` }),
  (n) => ({ type: 'integer', title: `Cores of machine ${n}`, minimum: 1 }),
  (n) => ({ type: 'boolean', title: `Machine ${n} is in use` }),
  (n) => ({ type: 'string', title: `Region of machine ${n}`, enum: ['eu', 'us'] }),
];
