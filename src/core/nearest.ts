/** Suggests the name that a mistyped one probably meant. */

/** Beyond it, two names have nothing to do with each other. */
const MOST_SLIPS = 2

/** @returns the candidate with the fewest slips from `typed`, whatever its case and its dashes; undefined where none is near */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  const [best] = [...candidates]
    .map((name) => ({ name, distance: slips(plain(typed), plain(name)) }))
    .filter(({ name, distance }) => distance <= Math.min(MOST_SLIPS, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return best?.name
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('-', '_')
}

/** Letters added, left out, exchanged for another, or for their neighbour (optimal string alignment). */
function slips(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)]
  for (let row = 1; row <= from.length; row++) {
    const [above = [], twoAbove = []] = [rows[row - 1], rows[row - 2]]
    const current = [row]
    for (let at = 1; at <= to.length; at++) {
      const cost = from[row - 1] === to[at - 1] ? 0 : 1
      const isSwap = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1]
      current[at] = Math.min(
        (above[at] ?? 0) + 1,
        (current[at - 1] ?? 0) + 1,
        (above[at - 1] ?? 0) + cost,
        isSwap ? (twoAbove[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    rows.push(current)
  }
  return rows[from.length]?.[to.length] ?? 0
}
