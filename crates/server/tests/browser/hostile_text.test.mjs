// Text that an agent writes stays text, in every field and on every page that shows it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTEMPTS, found } from './hostile.mjs';
import { MISSION, claim, claimedTodo, mission, pillar, proposal } from './scene.mjs';
import { startWorld } from './world.mjs';

/** How many attempts share a world: their decisions are all on one page. */
const SHARE = 13;

test('there are at least sixty attempts, each of its own', () => {
  assert.ok(ATTEMPTS.length >= 60, `${ATTEMPTS.length}`);
  assert.equal(new Set(ATTEMPTS).size, ATTEMPTS.length);
});

/** Writes the text into every field that an agent can write; gives the pages that show it. */
async function plant(world, text) {
  const pages = [];
  // What is refused is not stored, and cannot be shown.
  const tried = (promise) => promise.catch((error) => (error.answer ? undefined : Promise.reject(error)));
  const { session } = await world.agent('session_start', { title: text, host: text, externalId: text });
  const context = { session: session.id };
  const { issue } = await world.agent('issue_create', { title: text, body: text, criteria: [text], forceNew: true });
  const number = issue.number;
  await world.agent('session_bind', { session: session.id, number });
  await tried(world.agent('todo', { action: 'set', phase: text, items: [`${text} step`, `# ${text}`, `${text} held`] }, context));
  await tried(world.agent('todo', { action: 'note', content: `${text} step`, text }, context));
  await tried(world.agent('todo', { action: 'block', content: `${text} held`, text }, context));
  await world.agent('issue_comment', { number, text });
  await tried(world.agent('conversation_post', { conversationId: session.conversationId, text }));
  const evidence = ['commit', 'test', 'pr', 'file', 'url', 'note'].map((kind) => `${kind}:${text}`);
  const loose = [`note:${text}`, `test:${text}`, `file:${text}`];
  for (const one of [...evidence, `url:https://example.org/${text}`, `url:javascript:alert(1)//${text}`, 'url:data:text/html,<script>alert(1)</script>']) {
    await tried(world.agent('todo', { action: 'done', content: text, evidence: [one] }, context));
  }
  await tried(claim(world, { context }, [text], loose));
  await tried(proposal(world, { context }, [{ content: `${text} proposed`, phase: text }, { content: `${text} too`, kind: 'criterion' }]));
  await tried(world.agent('delegate', { type: 'writer', mission: text, rationale: text, async: true }, context));
  await tried(world.agent('checkpoint', { reason: text }, context));
  const asking = async (operation, input) => {
    const { session: own } = await world.agent('session_start', { title: text });
    await tried(world.agent(operation, input, { session: own.id }));
  };
  await asking('ask', { question: text, options: [text, `${text} 2`] });
  const property = { type: 'string', title: text, description: text, default: text, enum: [text, `${text} 2`] };
  await asking('form', { title: text, schema: { type: 'object', title: text, properties: { field: property, [text.slice(0, 60)]: { type: 'string', title: text } } } });
  await asking('permission_ask', { tool: 'deploy', input: { to: text, [text.slice(0, 60)]: text }, definition: { command: ['sh', '-c', text] }, run: `run ${number}`, call: text });
  await tried(world.agent('agent_register', { agent: `primary.sub${number}`, type: text }));
  await tried(world.agent('agent_status', { agent: `primary.sub${number}`, status: 'blocked', note: text }));
  const turn = { conversation: `c${number}`, turn: `t${number}` };
  const made = await tried(world.agent('create_todo', { items: [{ title: text }] }, turn));
  if (made) await tried(world.agent('complete_todo', { todoId: made.created[0].id, outcome: text }, turn));
  const planFile = `plans/${number}.md`;
  const line = text.replaceAll('\n', ' ');
  await tried(world.agent('plan_import', { planFile, markdown: `# ${line}\n\n${line}\n\n## ${line}\n- [ ] ${line}\n  - [ ] below ${line}\n` }));
  const created = await world.operator('mission_todo_create', {
    missionSlug: MISSION,
    pillarSlug: 'build-performance',
    title: text,
    description: text,
    justification: text,
    completionCriteria: text,
    targetStatus: 'pending',
  });
  // Some kinds of evidence have a form of their own; the others carry any text.
  const started = claimedTodo(world, created.todo, { outcome: text, evidence: loose }).catch(() => world.as('owner', 'own1', 'todo_claim', { todoId: created.todo.id, outcome: text, evidence: [`note:${text}`] }, pillar('build-performance')));
  await tried(started);
  pages.push(`/issues/${number}`, `/sessions/${session.id}`, `/plans/${planFile}`, `/todos/${created.todo.id}`);
  return pages;
}

const groups = Array.from({ length: Math.ceil(ATTEMPTS.length / SHARE) }, (_, index) => ATTEMPTS.slice(index * SHARE, (index + 1) * SHARE));

for (const [index, group] of groups.entries()) {
  test(`hostile text stays text on every page (attempts ${index * SHARE + 1} to ${index * SHARE + group.length})`, { timeout: 300_000 }, async (t) => {
    const world = await startWorld(t);
    await mission(world, { todos: 0, limit: 100, word: (text) => `${group[0].replaceAll('\n', ' ')} ${text}` });
    const pages = ['/', '', '/inbox', '/issues', '/issues?view=board', '/missions', `/missions/${MISSION}`, '/plans', '/agents', '/activity'];
    for (const text of group) pages.push(...(await plant(world, text)));
    const visitor = await world.visitor();
    for (const [at, path] of pages.entries()) {
      const answer = await visitor.open(at === 0 ? path : world.path(path));
      assert.equal(answer.status(), 200, path);
      await visitor.page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
      assert.deepEqual(await visitor.page.evaluate(found), [], `${path} of ${JSON.stringify(group)}`);
      visitor.assertClean();
    }
    await visitor.open('/');
    const shown = await visitor.page.evaluate(() => document.body.textContent);
    assert.ok(shown.includes('alert') || shown.includes('onerror') || shown.includes('127.0.0.1'), 'the texts are on the page');
  });
}

test('what a search, an address or a cookie carries stays text too', async (t) => {
  const world = await startWorld(t);
  await world.operator('issue_create', { title: 'One' });
  const visitor = await world.visitor();
  const paths = ['/issues?text=', '/issues?label=', '/issues?status=', '/issues?assignee=', '/issues?view=', '/issues?open=', '/activity?agent=', '/activity?kind=', '/'];
  for (const text of ATTEMPTS.filter((_, index) => index % 4 === 0)) {
    const encoded = encodeURIComponent(text);
    await visitor.context.addCookies([{ name: 'punchlist_notice', value: encoded, url: world.url }]);
    for (const path of [...paths.map((start) => world.path(start) + encoded), `/${encoded}`, `/p/${encoded}`, `/sign-in?code=${encoded}`]) {
      await visitor.open(path);
      assert.deepEqual(await visitor.page.evaluate(found), [], path);
    }
  }
  visitor.assertClean();
});
