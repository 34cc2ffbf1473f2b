/** Keys for SFTP, from the API to the system's OpenSSH: who holds one may work on the files of the subscription, and nothing else. */
import { describe, expect } from 'bun:test'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import { setUp } from '../../harness/node-setup.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

type Owner = Customer & { subscription: number }

const SSH = '-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR'

const node = await usingAgentNode()
const { machine, panel } = node
let ada: Owner
let bob: Owner
let site: Site
if (machine) {
  await setUp(machine, 'apply')
  await machine.bash(`
    ssh-keygen -A >/dev/null; mkdir -p /run/sshd
    for name in ada bob; do ssh-keygen -q -t ed25519 -N '' -C $name -f /root/$name; done
    echo uploaded >/root/upload.txt
  `)
  const sshd = machine.spawn(['/usr/sbin/sshd', '-D', '-e'])
  await until('sshd', async () => {
    if (sshd.hasEnded()) throw new Error(sshd.stderr())
    return (await machine.run(['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/22'])).exitCode === 0
  })
  node.start()
  ada = await node.customer()
  bob = await node.customer()
  site = await node.create(ada)
  await node.deploy(ada, site, { 'index.html': 'deployed' })
  await node.deploy(bob, await node.create(bob), { 'index.html': 'of bob' })
}

const userOf = ({ subscription }: Owner) => `ncp-s${subscription}`
const fileOf = (owner: Owner) => `${layout.sshKeys}/${userOf(owner)}`
const root = () => `/sites/${site.id}/releases/1`

async function addKey(owner: Owner, name: string): Promise<number> {
  const key = await machine.bash(`cat /root/${name}.pub`)
  const { status, data } = await panel.post<{ id: number }>(
    `/subscriptions/${owner.subscription}/ssh-keys`,
    owner.token,
    { public_key: key },
  )
  expect(status).toBe(201)
  return data.id
}

const sftp = (owner: Owner, name: string, commands: string) =>
  machine.run(['bash', '-c', `sftp -i /root/${name} ${SSH} -b - ${userOf(owner)}@127.0.0.1`], { stdin: commands })
const opens = async (owner: Owner, name: string) => (await sftp(owner, name, 'ls /\n')).exitCode === 0
const isWritten = (owner: Owner) => async () => (await machine.run(['test', '-e', fileOf(owner)])).exitCode === 0

describe('a key', () => {
  nodeTest('opens nothing before it is added', async () => {
    const { exitCode, stderr } = await sftp(ada, 'ada', 'ls /\n')
    expect([exitCode, stderr]).toEqual([255, expect.stringContaining('Permission denied (publickey)')])
  })

  nodeTest('is written for its user, by root, and without its comment', async () => {
    await addKey(ada, 'ada')
    await addKey(bob, 'bob')
    await until('the keys', async () => (await isWritten(ada)()) && isWritten(bob)())
    expect(await machine.bash(`stat -c '%U %G %a' ${fileOf(ada)}`)).toBe(`root ${userOf(ada)} 640\n`)
    const [type, blob] = (await machine.bash('cat /root/ada.pub')).split(' ')
    expect(await machine.bash(`cat ${fileOf(ada)}`)).toBe(`${type} ${blob}\n`)
    expect((await machine.run(['cat', fileOf(ada)], { as: userOf(bob) })).stderr).toContain('Permission denied')
  })

  nodeTest('shows the files of its subscription as the root, and those of no other', async () => {
    const { exitCode, stdout } = await sftp(ada, 'ada', `ls -1 /\nls -1 /sites\nls -1 ${root()}\n`)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`${root()}/index.html`)])
    for (const path of ['/etc/passwd', `${layout.sites}/${userOf(bob)}`, `/../${userOf(bob)}`, '/../../../etc']) {
      expect((await sftp(ada, 'ada', `ls ${path}\n`)).exitCode).not.toBe(0)
    }
    expect(await opens(bob, 'ada')).toBeFalse()
  })

  nodeTest('uploads what visitors get, by sftp, lftp and rclone', async () => {
    expect((await sftp(ada, 'ada', `put /root/upload.txt ${root()}/a.txt\n`)).exitCode).toBe(0)
    await machine.bash(`
      lftp -c 'set sftp:connect-program "ssh -a -x -i /root/ada ${SSH}"; open sftp://${userOf(ada)}:@127.0.0.1; put /root/upload.txt -o ${root()}/b.txt'
      rclone --config /dev/null --sftp-host 127.0.0.1 --sftp-user ${userOf(ada)} --sftp-key-file /root/ada copyto /root/upload.txt :sftp:${root()}/c.txt 2>&1
    `)
    for (const path of ['/a.txt', '/b.txt', '/c.txt']) {
      expect(await node.visit(site.domain, path)).toMatchObject({ status: 200, text: 'uploaded\n' })
    }
  })

  nodeTest('gives no shell and no command', async () => {
    for (const command of ['', 'id', "bash -c 'id'"]) {
      const { stdout } = await machine.run([
        ...['bash', '-c', `timeout 5 ssh -i /root/ada ${SSH} ${userOf(ada)}@127.0.0.1 ${command} </dev/null`],
      ])
      expect(stdout).not.toContain('uid=')
    }
  })

  nodeTest('that someone else has put there is removed', async () => {
    await machine.bash(`cat /root/bob.pub >>${fileOf(ada)}`)
    expect(await opens(ada, 'bob')).toBeTrue()
    node.compare()
    await until('the keys of the panel', async () => !(await opens(ada, 'bob')))
    expect(await opens(ada, 'ada')).toBeTrue()
  })

  nodeTest('opens nothing while its subscription is suspended', async () => {
    const status = async (status: string) =>
      panel.patch(`/admin/subscriptions/${ada.subscription}`, await panel.admin(), { status })
    await status('suspended')
    await until('no keys', async () => !(await isWritten(ada)()))
    expect(await opens(ada, 'ada')).toBeFalse()
    expect(await opens(bob, 'bob')).toBeTrue()
    await status('active')
    await until('the keys', isWritten(ada))
    expect(await opens(ada, 'ada')).toBeTrue()
  })

  nodeTest('that is deleted opens nothing, also where no site is left', async () => {
    const { data } = await panel.get<{ id: number }[]>(`/subscriptions/${ada.subscription}/ssh-keys`, ada.token)
    await panel.delete(`/sites/${site.id}`, ada.token)
    await until('the end of the site', async () => (await panel.get(`/sites/${site.id}`, ada.token)).status === 404)
    for (const { id } of data) await panel.delete(`/subscriptions/${ada.subscription}/ssh-keys/${id}`, ada.token)
    await until('no keys', async () => !(await isWritten(ada)()))
    expect(await opens(ada, 'ada')).toBeFalse()
  })
})
