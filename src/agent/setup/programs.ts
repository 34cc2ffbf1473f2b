/** The programs that a node needs, and the packages that bring them. */
import { isThere } from './program.ts'
import type { Step } from './step.ts'

type Need = {
  program: string
  /** Of Debian. */
  package: string
}

const NEEDED: readonly Need[] = [
  { program: 'nginx', package: 'nginx' },
  { program: 'setfacl', package: 'acl' },
  { program: 'sshd', package: 'openssh-server' },
  { program: 'useradd', package: 'passwd' },
  { program: 'setpriv', package: 'util-linux' },
]

/** @returns Debian's packages that are missing */
export const missingPackages = (): string[] =>
  NEEDED.filter(({ program }) => !isThere(program)).map(({ package: name }) => name)

export const installLine = (packages: readonly string[]): string => `apt-get install ${packages.join(' ')}`

export const programs: Step = {
  isNeededByOthers: true,
  look() {
    const missing = missingPackages()
    if (missing.length === 0) return [{ what: 'the programs of the system', state: 'done' }]
    return [{ what: `the packages ${missing.join(', ')}`, state: 'blocked', advice: installLine(missing) }]
  },
  apply: () => undefined,
  undo: () => [],
}
