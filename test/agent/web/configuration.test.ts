/** The text of nginx's configuration, where it depends on the machine. What it does is tested on a node. */
import { describe, expect, test } from 'bun:test'
import { nodeLayout } from '../../../src/agent/layout.ts'
import { webConfiguration } from '../../../src/agent/web/configuration.ts'
import { type NginxVersion, nginxVersion } from '../../../src/agent/web/version.ts'

const configurationOf = (
  version: NginxVersion,
  options: { hasIpv6?: boolean; refusesLinks?: 'mount' | 'nginx' } = {},
) => webConfiguration({ layout: nodeLayout(), version, refusesLinks: 'mount', hasIpv6: true, ...options })

describe('HTTP/2', () => {
  test.each<NginxVersion>([
    [1, 22, 1],
    [1, 25, 0],
    [0, 99, 99],
  ])('is a parameter of listen in %d.%d.%d', (major, minor, patch) => {
    const text = configurationOf([major, minor, patch])
    expect(text).toContain('listen 443 ssl http2 default_server')
    expect(text).not.toContain('http2 on;')
  })

  test.each<NginxVersion>([
    [1, 25, 1],
    [1, 26, 0],
    [1, 30, 0],
    [2, 0, 0],
  ])('is a directive in %d.%d.%d', (major, minor, patch) => {
    const text = configurationOf([major, minor, patch])
    expect(text).toContain('listen 443 ssl default_server')
    expect(text).toContain('http2 on;')
  })
})

test('the version is read from what nginx writes', () => {
  expect(nginxVersion('nginx version: nginx/1.22.1')).toEqual([1, 22, 1])
  expect(nginxVersion('nginx version: nginx/1.26.3 (Ubuntu)')).toEqual([1, 26, 3])
  expect(nginxVersion('nginx version: openresty')).toBeUndefined()
})

test('a machine without IPv6 listens on IPv4 alone', () => {
  expect(configurationOf([1, 22, 1])).toContain('listen [::]:80 ')
  expect(configurationOf([1, 22, 1], { hasIpv6: false })).not.toContain('[::]')
})

test('nginx looks at links itself only where the kernel does not', () => {
  expect(configurationOf([1, 22, 1])).not.toContain('disable_symlinks')
  expect(configurationOf([1, 22, 1], { refusesLinks: 'nginx' })).toContain('disable_symlinks if_not_owner')
})

test('no variable that a stranger fills gets into a path', () => {
  const paths = configurationOf([1, 22, 1])
    .split('\n')
    .filter((line) =>
      /^\s*(?:root|ssl_certificate|ssl_certificate_key|fastcgi_pass|if \(!?-[defx]|access_log|error_log)/.test(line),
    )
  expect(paths.length).toBeGreaterThan(20)
  const variables = new Set(paths.flatMap((line) => line.match(/\$\w+/g) ?? []))
  variables.delete('$host')
  variables.delete('$request_uri')
  expect([...variables].sort()).toEqual(['$document_root', '$ncp_name', '$ncp_read_directory', '$ncp_site', '$ncp_sni'])
})

test('an `if` holds nothing but `return`, and nothing sends HSTS', () => {
  const text = configurationOf([1, 22, 1])
  const conditions = text.split('\n').filter((line) => /^\s*if /.test(line))
  expect(conditions.length).toBeGreaterThan(5)
  for (const line of conditions) expect(line).toMatch(/^\s*if \(.+\) \{ return \d{3}[^;]*; \}$/)
  expect(text.toLowerCase()).not.toContain('strict-transport-security')
})
