/** What a module is: the services of a feature, its routes, its recurring tasks, and what it does when the panel closes. */
import type { AnyElysia } from 'elysia'
import type { Guard } from './http/guard.ts'
import type { AnswerOnce } from './http/idempotency/answer-once.ts'
import type { NodeGuard } from './http/node-guard.ts'
import type { ReceiveUpload } from './http/upload.ts'
import type { Task } from './jobs/task.ts'

/** What a module makes its routes with. */
export type Http = { guard: Guard; nodeGuard: NodeGuard; answerOnce: AnswerOnce; receiveUpload: ReceiveUpload }

export type Module<Services extends object = object> = {
  /** For modules after it, the command line and tests, under names that no other module gives. */
  services: Services
  /** Under `/api/v1`. */
  routes?(http: Http): AnyElysia[]
  /** Beside `/api/v1`. */
  rootRoutes?(http: Http): AnyElysia[]
  tasks?: Task[]
  /** Writes what is still in memory; the modules before it are still open. @throws Error when that fails */
  close?(): Promise<void>
}

export type Assembly<Services extends object> = {
  services: Services
  /** In the order in which they were added. */
  modules: readonly Module[]
  /** Makes a module from the services of those before it. The type of its parameter says which ones it needs. */
  add<Added extends object>(
    make: (services: Services) => Module<Added & { [Name in keyof Services]?: never }>,
  ): Assembly<Services & Added>
}

/** @param first what all modules build on; their services are added to its own */
export function assemble<Services extends object>(
  first: Module<Services>,
  modules: readonly Module[] = [first],
): Assembly<Services> {
  const { services } = first
  return {
    services,
    modules,
    add<Added extends object>(make: (services: Services) => Module<Added>) {
      const module = make(services)
      const all: Services & Added = Object.assign(services, module.services)
      return assemble({ services: all }, [...modules, module])
    },
  }
}
