/** What is mounted where, as this process sees it. */
import { readFileSync } from 'node:fs'

/** The options of the topmost mount on a path; undefined if nothing is mounted on it. */
export function mountOptions(path: string): string[] | undefined {
  const found = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .findLast(([, , , , point]) => point === path)
  return found?.[5]?.split(',')
}

export const isMounted = (path: string): boolean => mountOptions(path) !== undefined

/** Whether no symbolic link below a path is followed. */
export const followsNoLinks = (path: string): boolean => mountOptions(path)?.includes('nosymfollow') ?? false
