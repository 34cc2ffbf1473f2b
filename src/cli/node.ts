/** `ncp node …`: gives other machines a token to serve sites with, and takes it away, even while the panel runs. */
import { type Command, InvalidArgumentError } from 'commander'
import { operator } from '../core/actor.ts'
import { allRows } from '../core/page.ts'
import { NodeName, toNode } from '../features/operation/nodes/model.ts'
import type { Node } from '../features/operation/nodes/nodes.ts'
import { readStatus } from '../features/operation/nodes/said.ts'
import { checksOf } from '../http/schema.ts'
import { addAccept } from './agent.ts'
import { confirm, withYes } from './confirm.ts'
import { withSettings } from './flags.ts'
import { onInstallation } from './installation.ts'
import { addNodeSetup } from './node-setup.ts'
import { isTerminal, print, printJson } from './output.ts'
import { line, printList } from './table.ts'
import { count, humanTime } from './units.ts'

const NAMED = "name of the node, from 'ncp node list'"

export function addNode(program: Command): void {
  const node = program.command('node').description('manage the nodes that may serve sites, even while the panel runs')

  withSettings(node.command('add'), ['data'])
    .description('add a node, and print its token: the only time it is shown')
    .argument('<name>', 'a name of your choice, such as web-1', readName)
    .option('--json', 'print JSON')
    .action((name: string, { json }: { json?: true }, command: Command) =>
      onInstallation(command, async ({ nodes }) => {
        const added = await nodes.add(operator, name)
        if (json) printJson({ ...toNode(added.node), token: added.token })
        else print(isTerminal() ? `Added ${name}. Its token, shown only now:\n${added.token}` : added.token)
      }),
    )

  withSettings(node.command('list'), ['data'])
    .description('list the nodes')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }, command: Command) =>
      onInstallation(command, async ({ nodes }) =>
        printList({
          rows: await allRows(nodes.list),
          json,
          toJson: toNode,
          fields: fieldsOf,
          columns: {
            ID: (row) => row.id,
            NAME: (row) => row.name,
            SUBSCRIPTIONS: (row) => row.subscriptions,
            'NEW ONES': ({ drainedAt }) => (drainedAt === null ? 'yes' : 'no'),
            VERSION: ({ version }) => version ?? '',
            HELD: ({ status }) => readStatus(status).held?.code ?? '',
            'LAST SEEN': ({ lastSeenAt }) => (lastSeenAt === null ? 'never' : humanTime(lastSeenAt)),
          },
          empty: 'There are no nodes.',
        }),
      ),
    )

  for (const isDrained of [true, false]) {
    withSettings(node.command(isDrained ? 'drain' : 'resume'), ['data'])
      .description(isDrained ? 'give a node no new subscriptions' : 'give a node new subscriptions again')
      .argument('<name>', NAMED, readName)
      .action((name: string, _: object, command: Command) =>
        onInstallation(command, async ({ nodes }) => {
          const { id } = await nodes.findByName(name)
          const changed = await nodes.drain(operator, id, isDrained)
          const told = isDrained ? 'gets no new subscriptions' : 'gets new subscriptions'
          print(isTerminal() ? `The node ${name} ${told}.` : line(fieldsOf(changed)))
        }),
      )
  }

  addNodeSetup(node)

  const remove = withYes(withSettings(node.command('remove'), ['data']))
    .description('remove a node that serves nothing: its token stops working at once')
    .argument('<name>', NAMED, readName)
    .option('--abandon', 'remove it although it has subscriptions, whose sites are then served by nobody')
    .action((name: string, { yes, abandon = false }: { yes?: true; abandon?: boolean }) =>
      onInstallation(remove, async ({ nodes }) => {
        const found = await nodes.findByName(name)
        const left = `${count(found.subscriptions, 'subscription')} on it would be served by nobody`
        const losesData = abandon && found.subscriptions > 0
        const ask = `Remove the node ${name}?${losesData ? ` The ${left}.` : ''} This cannot be undone.`
        // One that will be refused needs no answer.
        if (abandon || found.subscriptions === 0) await confirm(remove, { ask, yes, losesData })
        const removed = await nodes.remove(operator, found.id, { abandons: abandon })
        print(isTerminal() ? `Removed the node ${name}.` : line(fieldsOf(removed)))
      }),
    )

  addAccept(node)
}

/** For a pipe. */
function fieldsOf(row: Node) {
  const { id, name, subscriptions, last_seen_at } = toNode(row)
  return [id, name, subscriptions, last_seen_at ?? 'never seen']
}

function readName(text: string): string {
  const { rule, obeys } = checksOf(NodeName) ?? {}
  if (obeys?.(text as never)) return text
  throw new InvalidArgumentError(`It ${typeof rule === 'string' ? rule : 'is not valid'}.`)
}
