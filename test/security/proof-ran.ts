/**
 * Ends with 1 when a test that a table of docs/security names did not run and pass: `bun test/security/proof-ran.ts
 * <report>`, where the report is of a run with `--reporter=junit`.
 */
import { readFileSync } from 'node:fs'
import { notPassed, readRows, TABLES } from './proof.ts'

const report = readFileSync(process.argv[2] ?? '', 'utf8').replaceAll(/>\s+</g, '><')
if (report === '') {
  process.stdout.write('no report: the tests did not run to their end\n')
  process.exit(1)
}
const tests = TABLES.flatMap(readRows).flatMap(({ tests }) => tests)
const missing = notPassed(tests, report)
process.stdout.write(`${tests.length - missing.length} of ${tests.length} named tests ran and passed\n`)
for (const name of missing) process.stdout.write(`not passed: ${name}\n`)
process.exit(missing.length === 0 ? 0 : 1)
