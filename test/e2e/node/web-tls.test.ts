/** Certificates by name, and what can be done with the name of a handshake. */
import { describe, expect } from 'bun:test'
import { nodeTest, usingNodeMachine } from '../../harness/node-machine.ts'
import { startWebNode, type WebNode } from '../../harness/web-node.ts'

const machine = await usingNodeMachine()
let web: WebNode

/** A handshake of OpenSSL's own client. @returns what it prints */
async function handshake(servername: string | undefined, ...options: string[]): Promise<string> {
  const name = servername === undefined ? ['-noservername'] : ['-servername', servername]
  const command = ['timeout', '10', 'openssl', 's_client', '-connect', '127.0.0.1:443', ...name, ...options]
  const { exitCode, stdout, stderr } = await machine.run(command, { stdin: '' })
  expect(exitCode).not.toBe(124)
  return stdout + stderr
}

const namesOf = (output: string) =>
  machine.bash(`openssl x509 -noout -ext subjectAltName`, { stdin: output.slice(output.indexOf('-----BEGIN')) })

nodeTest('starts with the configuration', async () => {
  web = await startWebNode(machine)
  await web.serve({ id: 1, subscription: 1, names: ['a.test', 'www.a.test'], files: { 'index.html': 'a' } })
  await web.serve({ id: 2, subscription: 2, names: ['b.test'], files: { 'index.html': 'b' } })
  await web.serve({ id: 3, subscription: 2, names: ['plain.test'], files: { 'index.html': 'plain' } })
  for (const name of ['a.test', 'www.a.test', 'b.test']) await web.certify(name)
})

describe('HTTPS', () => {
  nodeTest('shows each name its own certificate, and its own site', async () => {
    for (const [name, text] of [
      ['a.test', 'a'],
      ['b.test', 'b'],
    ] as const) {
      expect(await namesOf(await handshake(name))).toContain(`DNS:${name}`)
      expect((await web.ask('/', { host: name, tls: true })).text).toBe(text)
    }
  })

  nodeTest('uses a new certificate without a reload', async () => {
    await web.serve({ id: 4, subscription: 2, names: ['new.test'], files: { 'index.html': 'new' } })
    expect(await handshake('new.test')).toContain('alert')
    await web.certify('new.test')
    expect((await web.ask('/', { host: 'new.test', tls: true })).text).toBe('new')
  })

  nodeTest('speaks HTTP/2 and HTTP/1.1, TLS 1.2 and 1.3, and nothing older', async () => {
    const curl = (...options: string[]) =>
      machine.run([
        'curl',
        '-sk',
        '-o',
        '/dev/null',
        '-w',
        '%{http_version} %{http_code}',
        ...options,
        '--resolve',
        'a.test:443:127.0.0.1',
        'https://a.test/',
      ])
    expect((await curl()).stdout).toBe('2 200')
    expect((await curl('--http1.1')).stdout).toBe('1.1 200')
    expect((await curl('--tls-max', '1.2')).stdout).toBe('2 200')
    expect((await curl('--tls-max', '1.1', '--ciphers', 'DEFAULT@SECLEVEL=0')).exitCode).not.toBe(0)
  })

  nodeTest('answers over IPv6', async () => {
    expect(await machine.bash(`curl -sSk --resolve 'a.test:443:[2001:db8::7]' https://a.test/`)).toBe('a')
  })

  nodeTest('promises nothing about HTTPS for later', async () => {
    expect((await web.ask('/', { tls: true })).headers.get('strict-transport-security')).toBeNull()
  })
})

describe('HTTP of a name with a certificate', () => {
  nodeTest('is redirected, with its method, path and query', async () => {
    for (const path of ['/', '/a/b?c=d', '/none', '/.env', '/x.php', '/docs/']) {
      const answer = await web.ask(path, { method: 'POST' })
      expect([path, answer.status]).toEqual([path, 308])
      expect(answer.headers.get('location')).toBe(`https://a.test${path}`)
    }
  })

  nodeTest('is not redirected where the name has none, though another of its site has', async () => {
    expect((await web.ask('/', { host: 'plain.test' })).text).toBe('plain')
  })

  nodeTest('answers challenges of authorities before any redirect, in every state of the site', async () => {
    await machine.bash(
      'echo -n token.thumbprint >/srv/ncp/acme/token; chgrp ncp-web /srv/ncp/acme/token; chmod 640 /srv/ncp/acme/token',
    )
    const path = '/.well-known/acme-challenge/token'
    await web.serve({ id: 5, subscription: 2, names: ['off.test'], files: { 'index.html': 'off' } })
    await web.suspend('off.test')
    for (const host of ['a.test', 'plain.test', 'off.test']) {
      const answer = await web.ask(path, { host })
      expect([host, answer.status, answer.text]).toEqual([host, 200, 'token.thumbprint'])
      expect(answer.headers.get('content-type')).toStartWith('text/plain')
    }
    expect((await web.ask('/.well-known/acme-challenge/')).status).toBe(404)
    expect((await web.ask('/.well-known/acme-challenge/../../etc/passwd')).status).not.toBe(200)
  })

  nodeTest('answers challenges that a site has put into its own files', async () => {
    const files = { '.well-known/acme-challenge/own': 'of the site' }
    await web.serve({ id: 6, subscription: 2, names: ['own.test'], files })
    expect((await web.ask('/.well-known/acme-challenge/own', { host: 'own.test' })).text).toBe('of the site')
  })
})

describe('the name of a handshake', () => {
  nodeTest('that has no certificate is refused, and nobody else’s is shown', async () => {
    for (const name of ['none.test', 'plain.test', 'A.TEST', 'a.test.', '-', '.', undefined]) {
      const output = await handshake(name)
      expect(output).toContain('alert')
      expect(output).not.toContain('BEGIN CERTIFICATE')
    }
  })

  nodeTest('is never a path: no certificate of a customer’s directory is shown', async () => {
    const root = await web.serve({ id: 7, subscription: 2, names: ['evil.test'], files: { 'index.html': 'evil' } })
    await machine.bash(
      `mkdir -p ${root}/k; cd ${root}/k
       openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=evil -keyout key -out cert 2>/dev/null
       cat cert key >pem; chmod 644 pem`,
      { as: 'ncp-s2' },
    )
    for (const name of [
      `../..${root.replace('/srv/ncp', '')}/k`,
      `../certs/a.test`,
      `..${root}/k`,
      './a.test',
      'a.test/.',
    ]) {
      const output = await handshake(name)
      expect(output).toContain('alert')
      expect(output).not.toContain('BEGIN CERTIFICATE')
    }
  })

  nodeTest('cannot put a worker to sleep with a pipe', async () => {
    const root = await web.serve({ id: 8, subscription: 2, names: ['pipe.test'], files: { 'index.html': 'pipe' } })
    await machine.bash(`mkdir ${root}/k; mkfifo ${root}/k/pem`, { as: 'ncp-s2' })
    for (let attempt = 0; attempt < 8; attempt++) {
      expect(await handshake(`../..${root.replace('/srv/ncp', '')}/k`)).toContain('alert')
    }
    for (let attempt = 0; attempt < 8; attempt++) {
      expect((await web.ask('/', { host: 'plain.test' })).text).toBe('plain')
    }
  })

  nodeTest('must be the host of the request', async () => {
    for (const [tls, host] of [
      ['a.test', 'b.test'],
      ['a.test', 'www.a.test'],
      ['a.test', 'none.test'],
      ['a.test', 'plain.test'],
    ] as const) {
      expect([tls, host, (await web.ask('/', { tls, host })).status]).toEqual([tls, host, 421])
    }
    expect((await web.ask('/', { tls: 'a.test', host: 'A.test.:443' })).status).toBe(200)
  })

  for (const version of ['-tls1_2', '-tls1_3']) {
    nodeTest(`of a session that is resumed under another name gives nothing of that name (${version})`, async () => {
      // With the session of a.test, and a request for b.test that names either of them in the handshake.
      await handshake('a.test', version, '-sess_out', '/run/session')
      const request = 'GET / HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n'
      const resumed = (name: string) =>
        machine.bash(
          `printf '${request}' | timeout 10 openssl s_client -quiet -connect 127.0.0.1:443 -servername ${name} ${version} -sess_in /run/session 2>/dev/null || true`,
        )
      expect(await resumed('a.test')).toStartWith('HTTP/1.1 421 ')
      const other = await resumed('b.test')
      // TLS 1.2 keeps the name of the session. With 1.3 this is an ordinary request for b.test.
      expect(other).toStartWith(version === '-tls1_2' ? 'HTTP/1.1 421 ' : 'HTTP/1.1 200 ')
    })
  }

  nodeTest('when refused, writes nothing to the log of errors', async () => {
    const before = web.nginx.stderr().length
    for (let attempt = 0; attempt < 20; attempt++) await handshake('none.test')
    expect(web.nginx.stderr().slice(before)).toBe('')
  })
})
