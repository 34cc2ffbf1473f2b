/** What commands print: text for people, one JSON document for scripts. */

export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

export function printError(line: string): void {
  process.stderr.write(`${line}\n`)
}
