/** A step of preparing a node: says what is to be done, does it, and takes it back. */

/** `todo`: the step can do it. `blocked`: the operator has to do something first. */
export type State = 'done' | 'todo' | 'blocked'

export type Finding = {
  /** A few words, such as `the user ncp-web`. */
  what: string
  state: State
  /** Of what is blocked: what to do. */
  advice?: string
}

export type Step = {
  /** Where this one is blocked, those after it are not tried. */
  isNeededByOthers?: true
  /** Changes nothing. */
  look(): Finding[]
  /** Does what is to be done; nothing if all of it is done. @throws Error that says what failed */
  apply(): void
  /** Takes back what `apply` did. @returns what stays, and why */
  undo(): string[]
}

/** Prepares the node as far as it can, in order. @returns what was found before, step by step */
export function applyAll(steps: readonly Step[]): Finding[] {
  const all: Finding[] = []
  for (const step of steps) {
    const findings = step.look()
    all.push(...findings)
    if (step.isNeededByOthers && findings.some(({ state }) => state === 'blocked')) break
    if (findings.some(({ state }) => state === 'todo')) step.apply()
  }
  return all
}

/** Takes back all steps, the last one first. @returns what stays, and why */
export const undoAll = (steps: readonly Step[]): string[] => steps.toReversed().flatMap((step) => step.undo())
