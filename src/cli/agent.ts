/** `ncp agent`: what runs on a node, and `ncp node accept`, with which its operator lets it go on. */
import type { Command } from 'commander'
import { nodeLayout } from '../agent/layout.ts'
import { acceptHeld, readHeld } from '../agent/memory.ts'
import { confirm, withYes } from './confirm.ts'
import { isTerminal, print } from './output.ts'

export function addAgent(program: Command): void {
  program
    .command('agent')
    .description("serve the sites of this node as its panel says, as root; 'ncp node setup' prepares the node")
    .action(async () => {
      const { run } = await import('./agent-process.ts')
      process.exitCode = await run()
    })
}

/** @param node the command `node` */
export function addAccept(node: Command): void {
  const accept = withYes(node.command('accept'))
    .description(
      'let the agent of this node do what it holds back: follow a restored panel, or one that names far fewer sites',
    )
    .action(async ({ yes }: { yes?: true }) => {
      const layout = nodeLayout()
      const held = readHeld(layout)
      if (!held) throw new Error('the agent of this node holds nothing back')
      const ask = `The agent changes nothing, because ${held.message}. Let it do what the panel says?`
      await confirm(accept, { ask, yes, losesData: held.absent > 0 })
      acceptHeld(layout)
      if (isTerminal()) print('Accepted. The agent goes on within a second.')
    })
}
