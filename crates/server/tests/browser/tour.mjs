// One world with something on every page, and the list of its pages: for what must hold on all of them.
import { MISSION, claimedTodo, form, issueInSession, mission, permission, plan, proposal, question, signOffGate } from './scene.mjs';
import { startWorld } from './world.mjs';

/** A model that works a little, continues, calls a tool that fails, and waits for an answer. */
const SCRIPT = `
[[steps]]
text = "{word}I read the **issue** first, then I plan.\\n\\n- \`src/images.rs\`\\n- the [guide](https://example.org/guide)"
usage = { input = 2400, output = 90 }
[[steps.calls]]
tool = "todo"
input = { action = "set", items = ["Copy the images", "Compare the counts", "Switch the addresses"] }
[[steps]]
usage = { input = 2900, output = 60 }
[[steps.calls]]
tool = "todo"
input = { action = "done", content = "Nothing of this name" }
[[steps]]
text = "That name was wrong."
usage = { input = 3000, output = 60 }
[[steps.calls]]
tool = "todo"
input = { action = "done", content = "Copy the images" }
[[steps]]
text = "I stop here."
usage = { input = 3000, output = 20 }
[[steps]]
when = "incomplete|open|remaining"
text = "Right, I go on."
usage = { input = 3100, output = 20 }
[[steps.calls]]
tool = "ask"
input = { question = "May the old addresses stay for a week?", options = ["Yes", "No"] }
[[steps]]
text = "Thank you."
repeat = true
`;

const CONFIG = `
[agents.primary]
model = "scripted:{folder}/primary.toml"
todo_driven_execution = true
`;

/** Starts it. `word` changes every text, so that all of them can be made long. */
export async function startTour(t, { word = (text) => text, much = 0, serve = [] } = {}) {
  const prefix = word('').trim();
  const files = { 'primary.toml': SCRIPT.replace('{word}', prefix && `${prefix} `) };
  const world = await startWorld(t, { config: CONFIG, files, serve: ['--jobs', '2', ...serve] });
  const criteria = ['A refund over 500 € waits for a second approver', 'The list shows who approved what'].map(word);
  const signOff = await signOffGate(world, {
    title: word('Refunds over 500 € need a second approver'),
    criteria,
    reason: word('Both criteria are met. The approver is asked by mail, and nobody approves their own refund.'),
  });
  await question(world, word('Which of the two ways shall I take?'), ['Keep the alias', 'Rename it at once'].map(word));
  const properties = {
    region: { type: 'string', title: word('Region'), enum: ['eu', 'us'] },
    copies: { type: 'integer', title: word('Copies'), description: word('How many there are to be.') },
    canary: { type: 'boolean', title: word('Canary') },
  };
  await form(world, word('Where shall it run?'), properties, ['region']);
  await permission(world, 'deploy', ['./deploy.sh', '--to', 'staging'], { to: 'staging' });
  const images = await issueInSession(world, {
    title: word('Move the product images'),
    body: word('They are on one disk.\n\n1. Copy\n2. Compare\n\n```sh\ncp -a images bucket\n```'),
    criteria: [word('Every image is in the bucket'), word('Old addresses redirect'), word('Nothing is slower')],
    steps: ['Create the bucket', 'Copy in batches', '# Later', 'Remove the disk'].map(word),
  });
  await world.agent('todo', { action: 'done', content: word('Create the bucket') }, images.context);
  await world.agent('todo', { action: 'done', content: word('Old addresses redirect'), evidence: ['test:old_addresses', 'url:https://example.org/run/1'] }, images.context);
  await world.agent('todo', { action: 'block', content: word('Copy in batches'), text: word('The key is missing.') }, images.context);
  await world.agent('todo', { action: 'note', content: word('# Later'), text: word('After the holidays.') }, images.context).catch(() => {});
  await world.agent('issue_comment', { number: images.number, text: word('It is **twice** as many as we thought.') });
  await proposal(world, images, [{ content: word('Count the images') }, { content: word('Every count is written down'), kind: 'criterion' }]);
  const { issue: child } = await world.operator('issue_create', { title: word('Switch the old disk off'), criteria: [word('The disk is off')] });
  await world.operator('issue_link', { number: child.number, kind: 'blocked_by', to: images.number });
  await world.operator('issue_update', { number: child.number, labels: ['storage', 'later'], priority: 'high' });
  await world.agent('issue_create', { title: word('The list of orders is slow'), criteria: [word('It takes less than a second')] });
  const closed = (await world.operator('issue_create', { title: word('A page without a title') })).issue;
  await world.operator('issue_transition', { number: closed.number, status: 'resolved', confirm: true });
  for (let index = 0; index < much; index += 1) {
    await world.operator('issue_create', { title: `${word('Look at module')} ${index}`, criteria: ['It is looked at'], forceNew: true });
  }
  const { todos } = await mission(world, { word, todos: much ? 10 : 6 });
  await claimedTodo(world, todos[0], { outcome: word('It takes 58 s now.') });
  const { file } = await plan(world, { markdown: planText(word) });
  const run = await world.operator('session_send_to_agent', { number: child.number, message: word('Begin with the tests.') });
  const runs = await finished(world, run.session.id);
  const pages = [
    ['sign-in', '/sign-in'],
    ['home', '/'],
    ['project', world.path()],
    ['inbox', world.path('/inbox')],
    ['issues', world.path('/issues')],
    ['issues-board', world.path('/issues?view=board')],
    ['issue', world.path(`/issues/${images.number}`)],
    ['issue-sign-off', world.path(`/issues/${signOff.number}`)],
    ['session', world.path(`/sessions/${run.session.id}`)],
    ['run', world.path(`/runs/${runs.id}`)],
    ['missions', world.path('/missions')],
    ['mission', world.path(`/missions/${MISSION}`)],
    ['todo', world.path(`/todos/${todos[0].id}`)],
    ['todo-pending', world.path(`/todos/${todos[1].id}`)],
    ['plans', world.path('/plans')],
    ['plan', world.path(`/plans/${file}`)],
    ['agents', world.path('/agents')],
    ['activity', world.path('/activity')],
    ['not-found', world.path('/issues/999')],
  ].map(([name, path]) => ({ name, path }));
  return { world, pages, images, signOff, todos, child };
}

function planText(word) {
  const tasks = ['Store carts in the database', 'Give every cart an id'].map((text) => `- [x] ${word(text)}`);
  const open = ['Ask the address service', 'Show suggestions'].map((text) => `  - [ ] ${word(text)}`);
  return `# ${word('Checkout that does not lose carts')}\n\n## ${word('Foundation')}\n${tasks.join('\n')}\n## ${word('Address')}\n- [ ] ${word('Check the address')}\n${open.join('\n')}\n- [ ] ${word('Delivery times')}\n`;
}

/** The run of a session, once it waits or has ended. */
async function finished(world, session) {
  for (;;) {
    const { runs } = await world.operator('run_list', { session });
    if (runs.length && runs[0].state !== 'running') return runs[0];
    await world.punch(['wait', '--timeout', '1s'], { token: world.operatorToken }).catch(() => {});
  }
}

/** Empty pages: a project with nothing in it but one issue that is closed. */
export async function startEmpty(t) {
  const world = await startWorld(t);
  const { issue } = await world.operator('issue_create', { title: 'The only one' });
  await world.operator('issue_transition', { number: issue.number, status: 'rejected', reason: 'Not wanted.', confirm: true });
  const names = ['', '/inbox', '/issues', '/issues?view=board', '/missions', '/plans', '/agents', '/activity'];
  const pages = names.map((path) => ({ name: `empty${path.replaceAll(/[/?=]/g, '-') || '-project'}`, path: world.path(path) }));
  return { world, pages: [{ name: 'empty-home', path: '/' }, ...pages] };
}
