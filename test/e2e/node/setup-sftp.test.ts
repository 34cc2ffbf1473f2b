/** What the system's OpenSSH allows the user of a subscription, as set-up has told it. */
import { describe, expect } from 'bun:test'
import { type NodeMachine, nodeTest, startNodeMachine, usingNodeMachine } from '../../harness/node-machine.ts'
import { setUp } from '../../harness/node-setup.ts'
import { until } from '../../harness/until.ts'

const machine = await usingNodeMachine()
const DROP_IN = '/etc/ssh/sshd_config.d/50-ncp.conf'
const SSH =
  '-i /root/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR'

/** As the agent does it. */
async function addSubscription(id: number): Promise<void> {
  const user = `ncp-s${id}`
  const home = `/srv/ncp/${user}`
  await machine.bash(
    `useradd --uid ${200_000 + id} --user-group --no-create-home --home-dir ${home} --shell /usr/sbin/nologin --groups ncp-sftp --password '*' ${user}
     install -d -m 710 ${home}
     setfacl -m u:${user}:rx,u:ncp-web:x ${home}
     install -d -m 711 ${home}/sites
     setfacl -m u:${user}:rx ${home}/sites
     install -d -m 755 -o ${user} -g ${user} ${home}/sites/shared
     install -m 640 -g ${user} /root/key.pub /etc/ncp/ssh/${user}`,
  )
}

const sftp = (user: string, commands: string, options = '') =>
  machine.run(['bash', '-c', `sftp ${SSH} ${options} -b - ${user}@127.0.0.1`], { stdin: commands })

async function startSshd(of: NodeMachine): Promise<void> {
  await of.bash('ssh-keygen -A >/dev/null; mkdir -p /run/sshd')
  const sshd = of.spawn(['/usr/sbin/sshd', '-D', '-e'])
  await until('sshd', async () => {
    if (sshd.hasEnded()) throw new Error(sshd.stderr())
    return (await of.run(['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/22'])).exitCode === 0
  })
}

nodeTest('starts sshd with the settings', async () => {
  await setUp(machine, 'apply')
  await machine.bash("ssh-keygen -q -t ed25519 -N '' -f /root/key; echo local >/root/upload.txt")
  await addSubscription(1)
  await addSubscription(2)
  await startSshd(machine)
})

describe('the user of a subscription', () => {
  nodeTest('sees its own directory as the root, and nothing above it', async () => {
    const { exitCode, stdout } = await sftp('ncp-s1', 'ls -1 /\nls -1 /sites\n')
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('/sites/shared')])
    for (const path of ['/etc/passwd', '/srv/ncp/ncp-s2', '/../ncp-s2', '/../../../etc']) {
      expect((await sftp('ncp-s1', `ls ${path}\n`)).exitCode).not.toBe(0)
    }
  })

  nodeTest('uploads files that the web server can read, by sftp, lftp and rclone', async () => {
    expect((await sftp('ncp-s1', 'put /root/upload.txt /sites/shared/a.txt\nmkdir /sites/shared/d\n')).exitCode).toBe(0)
    await machine.bash(
      `lftp -c 'set sftp:connect-program "ssh -a -x ${SSH}"; open sftp://ncp-s1:@127.0.0.1; put /root/upload.txt -o /sites/shared/b.txt'`,
    )
    await machine.bash(
      'rclone --config /dev/null --sftp-host 127.0.0.1 --sftp-user ncp-s1 --sftp-key-file /root/key copyto /root/upload.txt :sftp:/sites/shared/c.txt 2>&1',
    )
    const shared = '/srv/ncp/ncp-s1/sites/shared'
    expect(await machine.bash(`cd ${shared}; stat -c '%n %a %U' *`)).toBe(
      'a.txt 644 ncp-s1\nb.txt 644 ncp-s1\nc.txt 644 ncp-s1\nd 755 ncp-s1\n',
    )
    expect((await machine.run(['cat', `${shared}/a.txt`], { as: 'ncp-web' })).stdout).toBe('local\n')
    expect((await machine.run(['cat', `${shared}/a.txt`], { as: 'ncp-s2' })).stderr).toContain('Permission denied')
  })

  nodeTest('writes nowhere else', async () => {
    for (const path of ['/x', '/sites/x']) {
      expect((await sftp('ncp-s1', `put /root/upload.txt ${path}\n`)).stderr).toContain('Permission denied')
    }
  })

  nodeTest('gets no shell, no command, no forwarding and no other subsystem', async () => {
    for (const command of ['id', "bash -c 'id'", 'rsync --server .']) {
      const { stdout } = await machine.run([
        'bash',
        '-c',
        `timeout 5 ssh ${SSH} ncp-s1@127.0.0.1 "${command}" </dev/null`,
      ])
      expect(stdout).not.toContain('uid=')
    }
    // Through the SSH server to a port of its own machine.
    const { stdout } = await machine.run([
      ...['bash', '-c', `timeout 5 ssh ${SSH} -W 127.0.0.1:22 ncp-s1@127.0.0.1 </dev/null`],
    ])
    expect(stdout).not.toContain('SSH-2.0')
  })

  nodeTest('needs a key of its own, and no password helps', async () => {
    await machine.bash("echo 'ncp-s2:password' | chpasswd; rm /etc/ncp/ssh/ncp-s2")
    const { exitCode, stderr } = await machine.run(['bash', '-c', `sftp ${SSH} ncp-s2@127.0.0.1 </dev/null`])
    expect([exitCode, stderr]).toEqual([255, expect.stringContaining('Permission denied (publickey)')])
  })

  nodeTest('changes nothing for other users', async () => {
    const settings = await machine.bash('sshd -T -C user=root,host=a,addr=127.0.0.1; true')
    await machine.bash(`mv ${DROP_IN} /root/`)
    expect(await machine.bash('sshd -T -C user=root,host=a,addr=127.0.0.1; true')).toBe(settings)
    await machine.bash(`mv /root/50-ncp.conf ${DROP_IN}`)
  })
})

describe('set-up', () => {
  nodeTest('leaves no settings behind that sshd refuses', async () => {
    await using own = await startNodeMachine()
    await own.bash("ssh-keygen -A >/dev/null; echo 'NoSuchSetting yes' >>/etc/ssh/sshd_config")
    const { exitCode, stderr } = await setUp(own, 'apply')
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain('sshd refuses its configuration')
    expect(stderr).toContain('NoSuchSetting')
    expect((await own.run(['ls', DROP_IN])).exitCode).not.toBe(0)
  })

  nodeTest('says what to do where sshd reads no further files', async () => {
    await using own = await startNodeMachine()
    await own.bash("sed -i '/^Include/d' /etc/ssh/sshd_config")
    const { findings } = await setUp(own, 'apply')
    expect(findings.filter(({ state }) => state === 'blocked')).toEqual([
      {
        what: `${DROP_IN}, which sshd would not read`,
        state: 'blocked',
        advice: 'put this line at the top of /etc/ssh/sshd_config: Include /etc/ssh/sshd_config.d/*.conf',
      },
    ])
    expect((await own.run(['ls', DROP_IN])).exitCode).not.toBe(0)
  })
})
