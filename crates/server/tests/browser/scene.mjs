// Data for worlds: the parts that tests put together, and one scene with something on every page.
// Every text can be given by the test, so that long words and hostile ones go the same way.

export const MISSION = 'developer-experience';

/** An issue by the operator, bound to a session of the agent; the criteria are ratified. */
export async function issueInSession(world, { title, criteria = [], steps = [], body, agent } = {}) {
  const { issue } = await world.operator('issue_create', { title, body, criteria, forceNew: true });
  const { session } = await world.agent('session_start', { title }, { agent });
  const context = { session: session.id, agent };
  await world.agent('session_bind', { session: session.id, number: issue.number }, { agent });
  if (steps.length) await world.agent('todo', { action: 'set', items: steps }, context);
  return { number: issue.number, session, context };
}

/** Claims every criterion, with evidence. */
export async function claim(world, { context }, criteria, evidence = ['commit:4f2a91c', 'test:refund_needs_two']) {
  for (const content of criteria) await world.agent('todo', { action: 'done', content, evidence }, context);
}

/** An issue whose agent asks for sign-off. */
export async function signOffGate(world, { title, criteria, reason, steps = ['Change it', 'Test it'], agent } = {}) {
  const bound = await issueInSession(world, { title, criteria, steps, agent });
  await claim(world, bound, criteria);
  const asked = await world.agent('checkpoint', { reason }, bound.context);
  return { ...bound, gateId: asked.gateId };
}

/** A question of an agent, in a session of its own. */
export async function question(world, text, options, { agent } = {}) {
  const { session } = await world.agent('session_start', { title: 'Ask' }, { agent });
  const asked = await world.agent('ask', { question: text, options }, { session: session.id, agent });
  return { session, gateId: asked.gateId };
}

/** A form of an agent, from a flat JSON Schema. */
export async function form(world, title, properties, required = []) {
  const { session } = await world.agent('session_start', { title: 'Form' });
  const schema = { type: 'object', required, properties };
  const asked = await world.agent('form', { title, schema }, { session: session.id });
  return { session, gateId: asked.gateId };
}

/** A permission that a tool needs. */
export async function permission(world, tool, command, input = {}) {
  const { session } = await world.agent('session_start', { title: 'Permission' });
  const definition = { command };
  const asked = { tool, input, definition, run: `run-${tool}`, call: `call-${tool}` };
  return world.agent('permission_ask', asked, { session: session.id });
}

/** A child's report with a proposal that waits for a decision on its parent's list. */
export async function proposal(world, { context }, items) {
  await world.agent('delegate', { type: 'researcher', mission: 'Find what is missing.', async: true }, context);
  const taken = await world.as('worker', 'primary.researcher', 'delegation_take', { types: ['researcher'] });
  const report = { delegationId: taken.delegation.id, epoch: taken.epoch, result: 'Found it.', proposal: { items } };
  await world.as('worker', 'primary.researcher', 'delegation_report', report);
  return taken.delegation.id;
}

const DAY = 86_400_000;

/** A mission with two pillars, readings over two months, and todos in every state. */
export async function mission(world, { name = 'Developer Experience', word = (text) => text, todos = 6, limit = 10 } = {}) {
  const metric = (title, slug, target, unit) => ({ name: word(title), slug, type: 'duration', unit, target });
  const { mission: made } = await world.operator('mission_init', {
    name: word(name),
    slug: MISSION,
    description: word('A build nobody waits for, and a first day that ends with a change.'),
    cadence: { cron: '0 9 * * 1', timezone: 'Europe/Berlin' },
    todo: { activeTodoLimit: limit, backlogTodoLimit: 50 },
    pillars: [
      {
        name: word('Build Performance'),
        slug: 'build-performance',
        metrics: [
          metric('Local build time', 'local-build-time', { operator: '<', value: 60, warningThreshold: 90 }, 's'),
          metric('Pipeline time', 'pipeline-time', { operator: '<', value: 480, warningThreshold: 600 }, 's'),
        ],
        strategies: [{ description: word('Measure before changing anything'), status: 'active' }],
      },
      {
        name: word('Onboarding'),
        slug: 'onboarding',
        metrics: [metric('First change', 'first-change', { operator: '<', value: 86_400, warningThreshold: 172_800 }, 's')],
      },
    ],
  });
  const readings = { 'local-build-time': [130, 121, 118, 104, 96, 88, 79, 72], 'pipeline-time': [560, 540, 470, 420, 390], 'first-change': [260_000] };
  for (const [slug, values] of Object.entries(readings)) {
    for (const [index, value] of values.entries()) {
      const at = new Date(Date.now() - (values.length - index) * 7 * DAY).toISOString();
      await world.operator('metric_record', { mission: MISSION, metric: slug, value, at });
    }
  }
  const titles = ['Profile the build of the shop front', 'Replace the loader', 'Cache the test images', 'Split the slow suite', 'One script for the set-up', 'Write the first-day guide'];
  const made_todos = [];
  for (let index = 0; index < todos; index += 1) {
    const title = titles[index] ?? `Look at module ${index}`;
    const { todo } = await world.operator('mission_todo_create', {
      missionSlug: MISSION,
      pillarSlug: index < 4 || index % 2 ? 'build-performance' : 'onboarding',
      title: word(title),
      description: word('What was found is in the notes of the last cycle.'),
      justification: word('It takes 72 s, and the target is under 60 s.'),
      completionCriteria: word('A build takes less than 60 s on three machines.'),
      targetStatus: index % 3 === 2 ? 'backlog' : 'pending',
    });
    made_todos.push(todo);
  }
  return { mission: made, todos: made_todos };
}

/** Starts a todo of the mission and claims it, so that it waits for a review. */
export async function claimedTodo(world, todo, { outcome = 'It takes 58 s now.', evidence = ['commit:4f2a91c'] } = {}) {
  const start = { missionSlug: MISSION, todoId: todo.id, action: 'start', reason: 'It is the slowest.' };
  await world.as('lead', 'boss', 'mission_todo_update', start);
  await world.as('owner', 'own1', 'todo_claim', { todoId: todo.id, outcome, evidence }, pillar('build-performance'));
}

/** An agent's attempt at a todo of the mission that failed. */
export async function failedAttempt(world, todo, error, type = 'builder') {
  await world.as('lead', 'boss', 'delegate', { type, mission: 'Profile it.', todoId: todo.id, async: true }, { 'Punchlist-Mission': MISSION });
  const worker = `boss.${type}`;
  const { delegation, epoch } = await world.as('worker', worker, 'delegation_take', { types: [type] });
  await world.as('worker', worker, 'delegation_report', { delegationId: delegation.id, epoch, error });
}

/** The headers that make an owner the owner of this pillar. */
export function pillar(slug) {
  return { 'Punchlist-Mission': MISSION, 'Punchlist-Pillar': slug };
}

export const PLAN = `# Checkout that does not lose carts

What we agreed on in October.

## Foundation
- [x] Store carts in the database
- [x] Give every cart an id
## Address and delivery
- [x] Store addresses per customer
- [ ] Check the address
  - [ ] Ask the address service
  - [ ] Show suggestions
- [ ] Delivery times per region
## Payment
- [ ] Two approvers over 500 €
`;

export async function plan(world, { file = 'docs/checkout.md', markdown = PLAN } = {}) {
  await world.operator('plan_import', { planFile: file, markdown });
  await world.operator('agent_register', { agent: 'primary.subagents.backend', type: 'backend' });
  const { tasks } = await world.operator('plan_tree', { planFile: file });
  return { file, tasks };
}
