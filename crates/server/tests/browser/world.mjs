// A world for a test: a fresh store, a server on it, an operator and agents who change it, and a
// browser that is signed in. It ends with the test.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { browser, closeBrowser, punchProgram } from './tools.mjs';
import { Visitor } from './visitor.mjs';

// Only in a test file: these worlds are also used by programs.
if (process.env.NODE_TEST_CONTEXT) (await import('node:test')).after(closeBrowser);

/** The four ways a person may look, and how a test's name says it. */
export const WAYS = [390, 1440].flatMap((width) => [true, false].map((js) => ({ width, js })));
export const shown = ({ width, js }) => `at ${width} px ${js ? 'with' : 'without'} JavaScript`;

/** Waits until `look` gives what is expected; fails with what it gave last. */
export async function eventually(look, expected, patience = 10_000) {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    try {
      return assert.deepEqual(found, expected);
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Starts a world that ends with the test `t`. `serve` are further words for `punch serve`. */
export async function startWorld(t, { project = 'shop', serve = [], config = '', files = {} } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'punchlist-pages-'));
  const world = new World(folder, project);
  t?.after(() => world.end());
  await world.write('config/punchlist/punchlist.toml', config.replaceAll('{folder}', folder));
  for (const [name, text] of Object.entries(files)) await world.write(name, text);
  world.operatorToken = (await world.punch(['token', 'new', '--role', 'operator'])).token;
  await world.serve(serve);
  return world;
}

export class World {
  constructor(folder, project) {
    this.folder = folder;
    this.project = project;
    this.db = join(folder, 'store.db');
    this.visitors = [];
  }

  async write(name, text) {
    const path = join(this.folder, name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
  }

  environment(token) {
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('PUNCHLIST_'));
    const env = { ...Object.fromEntries(clean), HOME: this.folder };
    env.XDG_CONFIG_HOME = join(this.folder, 'config');
    env.PUNCHLIST_PROJECT = this.project;
    delete env.OTEL_EXPORTER_OTLP_ENDPOINT;
    if (token) env.PUNCHLIST_TOKEN = token;
    return env;
  }

  /** Runs `punch WORDS --json` and returns what it prints; a failure is thrown with its answer. */
  punch(words, { token, input, cwd } = {}) {
    const args = [...words, '--json', '--db', this.db];
    const options = { cwd: cwd ?? this.folder, env: this.environment(token), maxBuffer: 1 << 26 };
    return new Promise((resolve, reject) => {
      const child = execFile(punchProgram, args, options, (error, stdout, stderr) => {
        let answer;
        try {
          answer = JSON.parse(stdout);
        } catch {
          answer = { stdout };
        }
        if (!error) return resolve(answer);
        reject(Object.assign(new Error(`punch ${words.join(' ')}: ${stdout}${stderr}`), { answer, exit: error.code }));
      });
      // A program that ends without reading is no fault of ours.
      child.stdin.on('error', () => {});
      child.stdin.end(input ?? '');
    });
  }

  /** `punch call OPERATION` in a process of its own, by the agent `primary` or with a token. */
  call(operation, input, { token, flags = [] } = {}) {
    return this.punch(['call', operation, JSON.stringify(input), ...flags], { token });
  }

  async serve(words = []) {
    const defaults = { '--listen': '127.0.0.1:0', '--jobs': '0', '--rate': '0' };
    const left = Object.entries(defaults).filter(([name]) => !words.includes(name));
    const all = ['serve', ...left.flat(), ...words, '--json', '--db', this.db, '--project', this.project];
    this.server = spawn(punchProgram, all, {
      cwd: this.folder,
      env: this.environment(this.operatorToken),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.errors = '';
    this.server.stderr.on('data', (data) => (this.errors += data));
    const lines = createInterface({ input: this.server.stdout });
    const ready = await new Promise((resolve, reject) => {
      lines.once('line', resolve);
      this.server.once('exit', (code) => reject(new Error(`punch serve ended (${code}): ${this.errors}`)));
    });
    this.ready = JSON.parse(ready);
    this.url = this.ready.url;
  }

  /** Ends the server as Ctrl-C does, and waits for it. */
  async stopServer() {
    if (!this.server || this.server.exitCode !== null) return;
    const ended = new Promise((resolve) => this.server.once('exit', resolve));
    this.server.kill('SIGTERM');
    await ended;
  }

  async end() {
    for (const visitor of this.visitors) await visitor.close();
    if (this.server && this.server.exitCode === null) {
      const ended = new Promise((resolve) => this.server.once('exit', resolve));
      this.server.kill('SIGKILL');
      await ended;
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async request(operation, input, headers) {
    const response = await fetch(`${this.url}/v1/${operation}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Punchlist-Project': this.project, ...headers },
      body: JSON.stringify(input),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    throw Object.assign(new Error(`${operation}: ${answer.code}: ${answer.detail} ${JSON.stringify(input)}`), { answer });
  }

  /** Calls an operation as the operator. */
  operator(operation, input = {}, headers = {}) {
    return this.request(operation, input, { Authorization: `Bearer ${this.operatorToken}`, ...headers });
  }

  /** Calls an operation as an agent; `session`, `turn`, `conversation` are its context. */
  agent(operation, input = {}, { session, turn, conversation, agent, token } = {}) {
    const context = { 'Punchlist-Session': session, 'Punchlist-Turn': turn, 'Punchlist-Conversation': conversation };
    const headers = { ...context, 'Punchlist-Agent': agent, Authorization: token && `Bearer ${token}` };
    return this.request(operation, input, Object.fromEntries(Object.entries(headers).filter(([, value]) => value)));
  }

  /** Calls an operation as the operator who plays `role`, with an agent's name. */
  as(role, agent, operation, input = {}, headers = {}) {
    return this.operator(operation, input, { 'Punchlist-As': role, 'Punchlist-Agent': agent, ...headers });
  }

  /** The address of a page of this project. */
  path(page = '') {
    return `/p/${this.project}${page}`;
  }

  /** A one-time link that signs a browser in. */
  async signInLink() {
    const { url } = await this.punch(['open', '--print'], { token: this.operatorToken });
    assert.match(url, /\/sign-in\?code=/);
    return url;
  }

  /** A browser that is not signed in. Widths: a phone is 390, a desktop 1440. */
  async stranger({ width = 1440, height, js = true, ...more } = {}) {
    const context = await (await browser()).newContext({
      baseURL: this.url,
      viewport: { width, height: height ?? (width < 720 ? 844 : 900) },
      javaScriptEnabled: js,
      hasTouch: width < 720,
      isMobile: width < 720,
      ...more,
    });
    const visitor = new Visitor(this, context);
    await visitor.start();
    this.visitors.push(visitor);
    return visitor;
  }

  /** A browser that is signed in, on its first page. */
  async visitor(options) {
    const visitor = await this.stranger(options);
    await visitor.page.goto(await this.signInLink());
    return visitor;
  }
}
