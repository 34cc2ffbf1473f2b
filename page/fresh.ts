/** Builds the page before tests, if its sources have changed. */
import { buildPageIfStale } from './build.ts'

await buildPageIfStale()
