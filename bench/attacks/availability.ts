/**
 * What does an attack on the panel cost the others? Twenty customers list their sites, 40 times a second in all and
 * whether or not the answers before have come, while one attack after the other runs from the same machine.
 *
 *   bun run build && bun bench/attacks/availability.ts [seconds]      each phase takes 20 seconds unless stated
 *
 * Once a second one of them also logs in again: from a known address, which must get through, and from a new one, which is
 * reported without a bound, since logins from hundreds of addresses fill the line of unknown clients.
 *
 * The bound: p99 of the others below one second in every phase, no error for any of them, every login from a known address, and after a minute of rest
 * not more than 64 MiB above the memory of the calm before. Ends with 1 when it doesn't hold.
 */
import { connect, type Socket } from 'node:net'
import { PASSWORD, type Panel, quantile, startPanel } from './panel.ts'

const SECONDS = Number(process.argv[2] ?? 20)
const CUSTOMERS = 20
const REQUESTS_A_SECOND = 40
const ADDRESSES = 150_000
const P99_MS = 1000
const MEMORY_MIB = 64

/** Known addresses of the customer who logs in again; more than one, since an address has ten logins a minute. */
const KNOWN_PLACES = Array.from({ length: 20 }, (_, i) => `192.0.2.${100 + i}`)

/** Starts an attack. @returns what ends it and tells what it did */
type Attack = (panel: Panel) => () => Promise<string>

const panel = await startPanel({ NCP_LOG_LEVEL: 'error', NCP_LIMIT_USER: '100000' })
let failed = false
let newPlaces = 0
try {
  const keys = await customers()
  for (const place of KNOWN_PLACES) {
    await panel.post(
      '/auth/login',
      { email: 'customer0@example.com', password: PASSWORD },
      { 'x-forwarded-for': place },
    )
  }
  const rows: object[] = []
  const attacks: [string, Attack][] = [
    ['calm', () => async () => ''],
    ['200 parallel logins, each from an address of its own', loginFlood],
    ['200 parallel logins from one address', floodFromOneAddress],
    ['500 connections with slow headers', slowHeaders],
    ['500 connections with slow bodies', slowBodies],
    ['logins whose client hangs up', hangUps],
    ['150,000 addresses', manyAddresses],
    ['the costliest refused bodies', refusedBodies],
    ['calm again', () => async () => ''],
  ]
  const before = panel.memory()
  for (const [name, attack] of attacks) {
    const stop = attack(panel)
    const [{ times, errors }, logins] = await Promise.all([serveOthers(keys), logInAnew()])
    if (logins.known < SECONDS) failed = true
    const did = await stop()
    const p99 = quantile(times, 0.99)
    if (p99 > P99_MS || errors > 0) failed = true
    process.stderr.write(`${name}: done\n`)
    rows.push({
      phase: name,
      'p50 ms': quantile(times, 0.5).toFixed(1),
      'p99 ms': p99.toFixed(1),
      'max ms': Math.max(...times).toFixed(1),
      errors,
      'logins, known': `${logins.known} of ${SECONDS}`,
      'logins, new': `${logins.fresh} of ${SECONDS}`,
      'memory MiB': panel.memory().toFixed(0),
      'the attack': did,
    })
    await Bun.sleep(3000)
  }
  process.stdout.write(`${Bun.inspect.table(rows)}\n`)
  await Bun.sleep(60_000)
  const after = panel.memory()
  if (after > before + MEMORY_MIB) failed = true
  process.stdout.write(`memory: ${before.toFixed(0)} MiB before, ${after.toFixed(0)} MiB after a minute of rest\n`)
} finally {
  await panel.stop()
}
process.exit(failed ? 1 : 0)

/** @returns an API key of each customer, with a subscription and a site */
async function customers(): Promise<string[]> {
  const admin = { authorization: `Bearer ${await panel.login('admin@localhost', panel.adminPassword())}` }
  const keys: string[] = []
  for (let i = 0; i < CUSTOMERS; i++) {
    const email = `customer${i}@example.com`
    await panel.createUser(email)
    // The limit of logins is the default.
    const from = { 'x-forwarded-for': `192.0.2.${i}` }
    const body = { email, password: PASSWORD }
    const login = (await (await panel.post('/auth/login', body, from)).json()) as {
      data: { token: string; user: { id: number } }
    }
    const own = { authorization: `Bearer ${login.data.token}` }
    await panel.post('/admin/subscriptions', { user_id: login.data.user.id, name: 'Hosting' }, admin)
    await panel.post('/sites', { domain: `site${i}.example` }, own)
    const made = (await (await panel.post('/auth/api-keys', { name: 'bench' }, own)).json()) as {
      data: { key: string }
    }
    keys.push(made.data.key)
  }
  return keys
}

/** Open loop: a request begins when its time has come, so that a slow response cannot hide the ones behind it. */
async function serveOthers(keys: string[]): Promise<{ times: number[]; errors: number }> {
  const times: number[] = []
  let errors = 0
  const begun = performance.now()
  const requests: Promise<void>[] = []
  for (let i = 0; i < SECONDS * REQUESTS_A_SECOND; i++) {
    const due = begun + (i * 1000) / REQUESTS_A_SECOND
    const wait = due - performance.now()
    if (wait > 0) await Bun.sleep(wait)
    requests.push(
      (async () => {
        const authorization = `Bearer ${keys[i % keys.length]}`
        const response = await fetch(`${panel.origin}/api/v1/sites`, { headers: { authorization } }).catch(
          () => undefined,
        )
        await response?.arrayBuffer()
        times.push(performance.now() - due)
        if (response?.status !== 200) errors++
      })(),
    )
  }
  await Promise.all(requests)
  return { times, errors }
}

/** @returns how many logins, one a second, got through */
async function logInAnew(): Promise<{ known: number; fresh: number }> {
  const body = { email: 'customer0@example.com', password: PASSWORD }
  const login = (address: string) =>
    panel.post('/auth/login', body, { 'x-forwarded-for': address }).then(({ status }) => Number(status === 200))
  const logins: Promise<[number, number]>[] = []
  for (let i = 0; i < SECONDS; i++) {
    const known = login(KNOWN_PLACES[i % KNOWN_PLACES.length] ?? '')
    logins.push(Promise.all([known, login(`198.18.${newPlaces >> 8}.${newPlaces++ & 255}`)]))
    await Bun.sleep(1000)
  }
  const through = await Promise.all(logins)
  return {
    known: through.reduce((sum, [known]) => sum + known, 0),
    fresh: through.reduce((sum, [, fresh]) => sum + fresh, 0),
  }
}

/** `parallel` loops, each of which sends the next when the last has been answered, until they are stopped. */
function repeat(parallel: number, send: (n: number) => Promise<string>): () => Promise<string> {
  let running = true
  let sent = 0
  const outcomes = new Map<string, number>()
  const loops = Array.from({ length: parallel }, async () => {
    while (running) {
      const outcome = await send(sent++).catch(async (error: Error) => {
        // One that fails at once must not make a loop that leaves no room for anything else.
        await Bun.sleep(1)
        return error.name
      })
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  })
  return async () => {
    running = false
    await Promise.all(loops)
    return [...outcomes].map(([outcome, count]) => `${count} × ${outcome}`).join(', ')
  }
}

function addressOf(n: number): string {
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
}

async function statusOf(response: Response): Promise<string> {
  await response.arrayBuffer()
  return `${response.status}`
}

function loginFlood({ post }: Panel) {
  return repeat(200, async (n) =>
    statusOf(
      await post(
        '/auth/login',
        { email: `nobody${n}@example.com`, password: 'x' },
        { 'x-forwarded-for': addressOf(n) },
      ),
    ),
  )
}

function floodFromOneAddress({ post }: Panel) {
  return repeat(200, async () => {
    const status = await statusOf(await post('/auth/login', { email: 'nobody@example.com', password: 'x' }))
    await Bun.sleep(20)
    return status
  })
}

function hangUps({ post }: Panel) {
  return repeat(50, async (n) => {
    const signal = AbortSignal.timeout(5 + (n % 50))
    const from = { 'x-forwarded-for': addressOf(n) }
    return statusOf(await post('/auth/login', { email: `nobody${n}@example.com`, password: 'x' }, from, { signal }))
  })
}

function manyAddresses({ origin }: Panel) {
  return repeat(20, async (n) => {
    // The limiter's table holds fewer: it must neither grow nor be emptied by this.
    if (n < ADDRESSES)
      return statusOf(await fetch(`${origin}/api/v1/sites`, { headers: { 'x-forwarded-for': addressOf(n) } }))
    await Bun.sleep(50)
    return 'idle'
  })
}

/** What costs most to be refused: bodies at the cap, of which each would have thousands of mistakes. */
function refusedBodies({ origin }: Panel) {
  const fill = (length: number, item: (i: number) => string) => Array.from({ length }, (_, i) => item(i)).join(',')
  const bodies = [
    `{"email":[${fill(32_000, () => '1')}]}`,
    `{${fill(64, (i) => `"x${i}${'x'.repeat(900)}":1`)}}`,
    `{"email":{${fill(60, (i) => `"x${i}":{${fill(64, (j) => `"${j}":1`)}}`)}}}`,
    `{"email":"${'\u00e9'.repeat(32_000)}"}`,
    `[${fill(16_000, () => '{}')}]`,
  ]
  return repeat(4, async (n) =>
    statusOf(
      await fetch(`${origin}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': addressOf(n) },
        body: bodies[n % bodies.length] ?? '',
      }),
    ),
  )
}

function slowHeaders(target: Panel) {
  return trickle(target, 'GET /api/v1/sites HTTP/1.1\r\nHost: localhost\r\n', (n) => `X-${n}: x\r\n`)
}

function slowBodies(target: Panel) {
  const head =
    'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n'
  return trickle(target, head, () => ' ')
}

/** 500 connections that send a little every second, and are opened again when the panel closes them. */
function trickle({ origin }: Panel, head: string, next: (n: number) => string): () => Promise<string> {
  const { hostname, port } = new URL(origin)
  const sockets = new Set<Socket>()
  let closed = 0
  let running = true
  const open = () => {
    if (!running) return
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(head))
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('data', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (running) closed++
      open()
    })
  }
  for (let i = 0; i < 500; i++) open()
  let n = 0
  const timer = setInterval(() => {
    n++
    for (const socket of sockets) if (socket.writable) socket.write(next(n))
  }, 1000)
  return async () => {
    running = false
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
    return `${closed} closed by the panel`
  }
}
