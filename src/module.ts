/** What a module is: a feature with its services, its routes, what it does from time to time and what it leaves to write at the end. */
import type { AnyElysia } from 'elysia'
import type { Guard } from './http/guard.ts'
import type { AnswerOnce } from './http/idempotency/answer-once.ts'
import type { Task } from './jobs/task.ts'

/** What a module makes its routes with. */
export type Http = { guard: Guard; answerOnce: AnswerOnce }

export type Module<Services extends object = object> = {
  /** For modules after it, the command line and tests, under names that no other module gives. */
  services: Services
  /** Under `/api/v1`. */
  routes?(http: Http): AnyElysia[]
  /** Beside `/api/v1`. */
  rootRoutes?(http: Http): AnyElysia[]
  tasks?: Task[]
  /** Writes what is in memory, with the help of the modules before it. @throws Error when that fails */
  close?(): Promise<void>
}

export type Assembly<Services extends object> = {
  services: Services
  /** In the order in which they were added. */
  modules: readonly Module[]
  /** Makes a module of what the modules before it provide: which of them it needs is in its parameter's type. */
  add<Added extends object>(
    make: (services: Services) => Module<Added & { [Name in keyof Services]?: never }>,
  ): Assembly<Services & Added>
}

/** @param first what all modules stand on; its `services` become those of all */
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
