/** Lets drizzle-kit write the next migration from `src/db/tables.ts`: `bun run migration -- --name what-changes`. */
import { defineConfig } from 'drizzle-kit'

export default defineConfig({ dialect: 'sqlite', schema: './src/db/tables.ts', out: './drizzle' })
