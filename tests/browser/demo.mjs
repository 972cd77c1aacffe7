// A demo of the program under test: the service, the sandbox's organizations and the sample application.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PATIENTS = 12;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function startDemo(program, more = []) {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-browser-'));
  const [port, sandboxPort] = [await freePort(), await freePort()];
  const args = ['demo', '--data', join(folder, 'lake'), '--patients', String(PATIENTS), '--listen', `127.0.0.1:${port}`,
    '--sandbox-listen', `127.0.0.1:${sandboxPort}`, ...more];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, RUST_LOG: 'warn' } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { said += chunk; });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const base = `http://127.0.0.1:${port}`;
  const sandbox = `http://127.0.0.1:${sandboxPort}`;
  const deadline = Date.now() + 120_000;
  for (;;) {
    const up = await fetch(`${sandbox}/app`).then((answer) => answer.ok, () => false)
      && await fetch(`${base}/errors`).then((answer) => answer.ok, () => false);
    if (up) break;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the demo did not start:\n${said}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    base,
    sandbox,
    said: () => said,
    // The organization and the login that the demo's text names.
    suggested() {
      const [, organization, user] = said.match(/Choose (.+), and log in as (\w+) with/);
      return { organization, user };
    },
    // A login of the sandbox's start page, by the person's number from 1 on.
    async login(number) {
      const page = await (await fetch(`${sandbox}/`)).text();
      const found = page.match(new RegExp(`<code>([a-z]+${number})</code>`));
      if (!found) throw new Error(`nobody of number ${number}: ${page}`);
      return found[1];
    },
    // What a command over the demo's lake prints. `input` is its standard input.
    async run(command, input = '') {
      const running = promisify(execFile)(program, [...command, '--data', join(folder, 'lake')], { maxBuffer: 64 << 20 });
      // A command that does not read its input may end before the input is written.
      running.child.stdin.on('error', () => {});
      running.child.stdin.end(input);
      return (await running).stdout;
    },
    // The token for one sign-in to the console.
    async consoleToken() {
      return (await this.run(['console', 'token'])).trim();
    },
    // Rows of test mode in the lake, by type.
    async rows() {
      const tables = JSON.parse(await this.run(['info', '--json'])).tables.filter((table) => table.mode === 'test' && table.rows > 0);
      return Object.fromEntries(tables.map((table) => [table.table, table.rows]));
    },
    // The source's id of a person, by the person's number from 1 on.
    async person(number) {
      const answer = await fetch(`${sandbox}/admin/logins?from=${number - 1}&count=1`);
      return (await answer.json()).logins[0];
    },
    async turn(organization, knobs) {
      const answer = await fetch(`${sandbox}/admin/${organization}/knobs`, {
        method: 'PATCH', headers: { 'content-type': 'application/json' }, body: JSON.stringify(knobs),
      });
      if (!answer.ok) throw new Error(await answer.text());
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
