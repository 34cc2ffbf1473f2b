/** An agent that is killed between any two of its steps, and started again, ends as one that was never killed. */
import { afterAll, describe, expect } from 'bun:test'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

const node = await usingAgentNode()
const { machine, panel, create, visit } = node
/** Otherwise the tests are skipped. */
const hasNode = machine !== undefined
const WITH_STEPS = ['bun', '--preload', '/opt/ncp/test/harness/agent-steps.ts', '/opt/ncp/src/main.ts', 'agent']

/** Not before a step: while one goes on. */
const UNPACKING = 'while it unpacks'
/** The exit code of a program that SIGKILL has ended. */
const KILLED = 137

type Owner = Customer & { subscription: number }
type Kind = keyof typeof POINTS

const SITE = '/srv/ncp/ncp-sSUB/sites/SITE'

/** By what is to be done, all steps that are taken for it, in order; a step of several kinds stands with the first. */
const POINTS = {
  'a first site': [
    'report description',
    'write /srv/ncp/.agent/memory.json.new',
    'rename /srv/ncp/.agent/memory.json',
    'spawn groupadd ncp-sSUB',
    'spawn useradd ncp-sSUB',
    ...['/srv/ncp/ncp-sSUB', '/srv/ncp/ncp-sSUB/sites', SITE, `${SITE}/releases`].flatMap((path) => [
      `mkdir ${path}`,
      `acl ${path}`,
      `chown ${path}`,
    ]),
    ...['shared', 'tmp', 'sessions'].flatMap((name) => [
      `mkdir ${SITE}/${name}`,
      `chmod ${SITE}/${name}`,
      `chown ${SITE}/${name}`,
    ]),
    'mkdir /srv/ncp/.staging/gen-SITE',
    'write /srv/ncp/.staging/gen-SITE/generation',
    'chown /srv/ncp/.staging/gen-SITE/generation',
    'chmod /srv/ncp/.staging/gen-SITE/generation',
    'symlink /srv/ncp/.staging/gen-SITE/pub',
    'chown /srv/ncp/.staging/gen-SITE',
    'chmod /srv/ncp/.staging/gen-SITE',
    'rename /srv/ncp/gen/SITE.N',
    'symlink /srv/ncp/.staging/name-SITE',
    'rename /srv/ncp/www/site-KEY.example',
    'rename /srv/ncp/www/alias-KEY.example',
    'report site SITE serving',
  ],
  'a deployment': [
    'write /srv/ncp/.agent/archive-N',
    'rm /srv/ncp/.agent/archive-N',
    `spawn rm ${SITE}/releases/.unpacking-N`,
    `mkdir ${SITE}/releases/.unpacking-N`,
    `chown ${SITE}/releases/.unpacking-N`,
    `spawn unpack ${SITE}/releases/.unpacking-N`,
    `spawn sync ${SITE}/releases`,
    `spawn rm ${SITE}/releases/N`,
    `rename ${SITE}/releases/N`,
    'report release of SITE ready',
    'symlink /srv/ncp/.staging/current-SITE',
    `rename ${SITE}/current`,
    'rm /srv/ncp/gen/SITE.N',
  ],
  'another domain': ['rename /srv/ncp/www/renamed-KEY.example', 'rm /srv/ncp/www/site-KEY.example'],
  'a deletion': [
    'rm /srv/ncp/www/alias-KEY.example',
    'rename /srv/ncp/.trash/SUB-SITE-N',
    'report site SITE removed',
    'spawn userdel ncp-sSUB',
    'rmdir /srv/ncp/ncp-sSUB/sites',
    'rmdir /srv/ncp/ncp-sSUB',
    'report subscription SUB removed',
  ],
} as const satisfies Record<string, string[]>
const KINDS = Object.keys(POINTS) as Kind[]
const POINTS_OF_ALL = KINDS.flatMap((kind) => POINTS[kind].map((step) => [step, kind] as const))
/** The same code has been killed there in the directories before them: only listed. */
const REPEATED = ['/srv/ncp/ncp-sSUB/sites', `${SITE}/releases`, `${SITE}/tmp`, `${SITE}/sessions`].map(
  (path) => ` ${path}`,
)
const KILLED_BEFORE = POINTS_OF_ALL.filter(
  ([step]) => !REPEATED.some((path) => step.endsWith(path) && !step.startsWith('rmdir') && !step.startsWith('spawn')),
)

/** What is changed while no agent runs. `key`: in its names. */
type Subject = { kind: Kind; key: number; owner: Owner; site: Site }

let agent: ReturnType<typeof machine.spawn> | undefined
let keys = 0

async function killed(): Promise<void> {
  agent?.kill('SIGKILL')
  await agent?.ended()
}

const newSite = (owner: Owner, key: number) =>
  create(owner, { domain: `site-${key}.example`, aliases: [`alias-${key}.example`] })

/** What has to be there before the change: nothing for a first site, whose subscription is to be the newest. */
async function prepare(kind: Kind): Promise<Subject> {
  const key = ++keys
  if (kind === 'a first site') return { kind, key } as Subject
  const owner = await node.customer()
  return { kind, key, owner, site: await newSite(owner, key) }
}

async function change(subject: Subject): Promise<void> {
  const { kind, key } = subject
  if (kind === 'a first site') {
    subject.owner = await node.customer()
    subject.site = await newSite(subject.owner, key)
  }
  const { owner, site } = subject
  if (kind === 'a deployment') await node.upload(owner, site, { 'index.html': `deployed ${key}` })
  if (kind === 'another domain') {
    await panel.patch(`/sites/${site.id}`, owner.token, { domain: `renamed-${key}.example` })
  }
  if (kind === 'a deletion') {
    await panel.delete(`/admin/subscriptions/${owner.subscription}?delete_sites=true`, await panel.admin())
  }
}

/** As a whole line. */
const patternOf = (step: string, { key, owner, site }: Subject) =>
  `^${step
    .replaceAll('.', '\\.')
    .replace(/\bN\b/, '\\d+')
    .replaceAll('SUB', `${owner.subscription}`)
    .replaceAll('SITE', `${site.id}`)
    .replaceAll('KEY', `${key}`)}$`

async function isServed({ owner, site }: Subject, isDeployed = false): Promise<boolean> {
  const { data } = await panel.get<Site>(`/sites/${site.id}`, owner.token)
  const isCurrent = data.status === 'active' && data.generation === data.observed_generation
  return isCurrent && (!isDeployed || data.current_deployment_id !== null)
}

async function isDone(subject: Subject): Promise<boolean> {
  const { kind, owner } = subject
  if (kind !== 'a deletion') return isServed(subject, kind === 'a deployment')
  const { status } = await panel.get(`/admin/subscriptions/${owner.subscription}`, await panel.admin())
  return status === 404 && !existsSync(machine.path(`${layout.sites}/ncp-s${owner.subscription}`))
}

/** All that is there of a subject, on disk and for visitors, without its numbers. */
async function endOf(subject: Subject) {
  const { key, owner, site } = subject
  const { subscription } = owner
  const lines = await files()
  const numbers: [RegExp, string][] = [
    [new RegExp(`ncp-s${subscription}\\b`, 'g'), 'USER'],
    [new RegExp(`\\b${200_000 + subscription}\\b`, 'g'), 'UID'],
    [new RegExp(`sites/${site.id}\\b`, 'g'), 'sites/SITE'],
    [new RegExp(`gen/${site.id}\\.`, 'g'), 'gen/SITE.'],
    [new RegExp(`trash/${subscription}-${site.id}-\\d+`, 'g'), 'trash/SITE'],
    [new RegExp(`-${key}\\.example`, 'g'), '-KEY.example'],
  ]
  const own = lines.flatMap((line) => {
    const without = numbers.reduce((text, [number, word]) => text.replaceAll(number, word), line)
    return /USER|UID|SITE|KEY/.test(without) ? [without] : []
  })
  const hosts = [`site-${key}.example`, `alias-${key}.example`, `renamed-${key}.example`]
  const seen = await Promise.all(hosts.map((host) => visit(host)))
  return {
    own: own.sort(),
    seen: seen.map(({ status, text }) => [status, text.replace(`deployed ${key}`, 'deployed KEY')]),
  }
}

/** Every file of the node, with its owner, modes and lists, and its users: once, when nothing is under way. */
let found: Promise<string[]> | undefined
const files = () => {
  found ??= machine
    .bash(
      `cd ${layout.sites}
       find . -path ./.web -prune -o -path ./.keys -prune -o -printf '%p %y %U:%G %m %l\\n'
       getfacl --recursive --numeric --skip-base --absolute-names . | awk '/^# file/ {file=$3} /^[a-z]/ {print file, $0}'
       getent passwd | sed 's/.*ncp-s/passwd ncp-s/'
       getent group | grep ncp-s | sed 's/.*ncp-s/group ncp-s/'`,
    )
    .then((text) => text.split('\n'))
  return found
}

const stepsPath = join(tmpdir(), `ncp-agent-steps-${process.pid}`)
afterAll(() => rmSync(stepsPath, { force: true }))
const unkilled = new Map<Kind, Subject>()
const victims = new Map<string, Subject>()
if (hasNode) {
  agent = node.start()
  for (const kind of KINDS) unkilled.set(kind, await prepare(kind))
  for (const [step, kind] of KILLED_BEFORE) victims.set(step, await prepare(kind))
  victims.set(UNPACKING, await prepare('a deployment'))
  const all = [...unkilled.values(), ...victims.values()].filter(({ site }) => site)
  for (const subject of all) await until('the site', () => isServed(subject))
  await killed()
}

nodeTest('these are the steps', async () => {
  for (const subject of unkilled.values()) await change(subject)
  agent = machine.spawn(WITH_STEPS, { environment: { AGENT_STEPS: stepsPath } })
  for (const subject of unkilled.values()) await until('the end', () => isDone(subject))
  await killed()
  const others = [...victims.values()].flatMap(({ site }) => (site ? [`report site ${site.id} serving`] : []))
  const isOther = (step: string) => others.includes(step) || step === 'report node'
  const taken = readFileSync(stepsPath, 'utf8')
    .split('\n')
    .filter((step) => step !== '' && !isOther(step))
  const patterns = POINTS_OF_ALL.map(([step]) => ({
    step,
    patterns: [...unkilled.values()].map((subject) => new RegExp(patternOf(step, subject))),
  }))
  const named = taken.map(
    (one) => patterns.find((point) => point.patterns.some((pattern) => pattern.test(one)))?.step ?? one,
  )
  expect([...new Set(named)].sort()).toEqual(POINTS_OF_ALL.map(([step]) => step as string).sort())
})

describe('killed before', () => {
  nodeTest.each(KILLED_BEFORE)('%s (%s)', async (step) => {
    const victim = victims.get(step) as Subject
    await change(victim)
    agent = machine.spawn(WITH_STEPS, { environment: { AGENT_DIES_BEFORE: patternOf(step, victim) } })
    expect(await agent.ended()).toBe(KILLED)
  })
})

nodeTest('an unpacker ends with its agent', async () => {
  const victim = victims.get(UNPACKING) as Subject
  const uid = 200_000 + victim.owner.subscription
  await change(victim)
  agent = machine.spawn(WITH_STEPS, { environment: { AGENT_DIES_UNPACKING: 'yes' } })
  expect(await agent.ended()).toBe(KILLED)
  // It is stopped: by itself it would never end.
  await until('its end', async () => (await machine.run(['pgrep', '-U', `${uid}`])).exitCode === 1)
})

nodeTest('a site that is deleted before its node has reported it leaves nothing', async () => {
  const victim = await prepare('a first site')
  await change(victim)
  const { owner, site } = victim
  const environment = { AGENT_DIES_BEFORE: patternOf('report site SITE serving', victim) }
  agent = machine.spawn(WITH_STEPS, { environment })
  expect(await agent.ended()).toBe(KILLED)
  const directory = `${layout.sites}/ncp-s${owner.subscription}/sites/${site.id}`
  expect(existsSync(machine.path(directory))).toBeTrue()
  await panel.delete(`/sites/${site.id}`, owner.token)
  agent = node.start()
  await until('its end', () => !existsSync(machine.path(directory)))
  await until('the report', () =>
    node.reports.some(({ sites }) => sites.some((one) => one.siteId === site.id && one.state === 'removed')),
  )
  await killed()
  expect(node.reports.findLast((report) => report.node)?.node?.orphans).toEqual([])
  expect((await visit(site.domain)).status).toBe(404)
  expect(await machine.bash(`ls -d ${layout.trash}/${owner.subscription}-${site.id}-*`)).not.toBe('')
})

nodeTest('all ends as without a kill', async () => {
  agent = node.start()
  for (const subject of [...victims.values(), ...unkilled.values()]) await until('the end', () => isDone(subject))
  await killed()
  for (const [step, subject] of victims) {
    expect([step, await endOf(subject)]).toEqual([step, await endOf(unkilled.get(subject.kind) as Subject)])
  }
  expect(await machine.bash(`ls -A ${layout.staging}; ls -A ${layout.agent}`)).toBe('memory.json\n')
})
