/** Everything that makes a machine a node, in order. It changes no file of others, and can be done again and taken back. */
import type { NodeLayout } from '../layout.ts'
import { accounts } from './accounts.ts'
import { directories, hasSubscriptions } from './directories.ts'
import { kernel } from './kernel.ts'
import { ports } from './ports.ts'
import { programs } from './programs.ts'
import { sftp } from './sftp.ts'
import type { Step } from './step.ts'
import { units, webService } from './units.ts'
import { view } from './view.ts'
import { web } from './web.ts'

export type SetupOptions = {
  layout: NodeLayout
  /** What the unit of the agent starts. */
  program: string
  /** Whether the web server of the distribution may be stopped and disabled. */
  takesPorts: boolean
}

export function stepsOf({ layout, program, takesPorts }: SetupOptions): Step[] {
  const hasCustomers = () => hasSubscriptions(layout)
  const freePorts = ports(layout, takesPorts)
  return [
    programs,
    accounts(hasCustomers),
    directories(layout, hasCustomers),
    kernel(),
    ...units(layout, program),
    view(layout),
    web(layout),
    sftp(layout),
    freePorts,
    webService(layout, () => freePorts.look().every(({ state }) => state === 'done')),
  ]
}
