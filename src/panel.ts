/** The panel: the platform, and the features on it, in the order in which they need each other. */
import { closeAll } from './core/close-all.ts'
import { administrationModule } from './features/account/administration/module.ts'
import { apiKeysModule } from './features/account/api-keys/module.ts'
import { credentialsModule } from './features/account/credentials/module.ts'
import { emailModule } from './features/account/email/module.ts'
import { meModule } from './features/account/me/module.ts'
import { passwordModule } from './features/account/password/module.ts'
import { proofModule } from './features/account/proof/module.ts'
import { sessionModule } from './features/account/session/module.ts'
import { twoFactorModule } from './features/account/two-factor/module.ts'
import { usersModule } from './features/account/users/module.ts'
import { certificatesModule } from './features/hosting/certificates/module.ts'
import { deploymentsModule } from './features/hosting/deployments/module.ts'
import { embeddedModule } from './features/hosting/embedded/module.ts'
import { environmentModule } from './features/hosting/environment/module.ts'
import { eventsModule } from './features/hosting/events/module.ts'
import { logsModule } from './features/hosting/logs/module.ts'
import { nodeApiModule } from './features/hosting/node-api/module.ts'
import { sitesModule } from './features/hosting/sites/module.ts'
import { sshKeysModule } from './features/hosting/ssh-keys/module.ts'
import { subscriptionsModule } from './features/hosting/subscriptions/module.ts'
import { usageModule } from './features/hosting/usage/module.ts'
import { auditModule } from './features/operation/audit/module.ts'
import { healthModule } from './features/operation/health/module.ts'
import { nodesModule } from './features/operation/nodes/module.ts'
import { settingsModule } from './features/operation/settings/module.ts'
import { startTasks } from './jobs/task.ts'
import { assemble, type Http, type Module } from './module.ts'
import { openPlatform, type Platform, type PlatformOptions } from './platform.ts'

export type Panel = Awaited<ReturnType<typeof openPanel>>

/** Add a feature here, after those that it needs. */
function addFeatures(platform: Module<Platform>) {
  return assemble(platform)
    .add(auditModule)
    .add(credentialsModule)
    .add(settingsModule)
    .add(nodesModule)
    .add(proofModule)
    .add(sessionModule)
    .add(usersModule)
    .add(passwordModule)
    .add(emailModule)
    .add(twoFactorModule)
    .add(subscriptionsModule)
    .add(sshKeysModule)
    .add(apiKeysModule)
    .add(administrationModule)
    .add(meModule)
    .add(logsModule)
    .add(usageModule)
    .add(eventsModule)
    .add(sitesModule)
    .add(environmentModule)
    .add(deploymentsModule)
    .add(certificatesModule)
    .add(nodeApiModule)
    .add(embeddedModule)
    .add(healthModule)
}

/** @throws Error when the data directory, the database or a secret cannot be used */
export async function openPanel(options: PlatformOptions) {
  // Closed again if a feature throws; the features have nothing in memory to write yet.
  await using opened = new AsyncDisposableStack()
  const platform = await openPlatform(options)
  opened.defer(platform.close)
  const { services, modules } = addFeatures(platform)
  const tasks = modules.flatMap((module) => module.tasks ?? [])
  const stopTasks = startTasks(tasks)
  opened.move()

  return {
    ...services,
    tasks,
    routes: routesOf(modules),

    /**
     * Finishes what is under way, writes what is still in memory and closes the database.
     *
     * @throws what of that failed; all the rest is done
     */
    async close(): Promise<void> {
      // From the last to the first: each may still write through the modules that it was made from.
      await closeAll([stopTasks, ...modules.toReversed().map((module) => async () => module.close?.())])
    },
  }
}

export type Routes = ReturnType<typeof routesOf>

function routesOf(modules: readonly Module[]) {
  return (http: Http) => ({
    root: modules.flatMap((module) => module.rootRoutes?.(http) ?? []),
    api: modules.flatMap((module) => module.routes?.(http) ?? []),
  })
}

/** The routes of all features, for the OpenAPI document without a panel: nothing is opened, and they cannot be called. */
export function describedRoutes(): Routes {
  return routesOf(addFeatures({ services: standIn('platform') }).modules)
}

/** Takes the place of what a route is wired to. @throws Error when it is called */
export function standIn<Service>(name: string): Service {
  const refuse = () => {
    throw new Error(`${name} was called while the routes were only described`)
  }
  return new Proxy(refuse, { get: (_, property) => standIn(`${name}.${String(property)}`) }) as Service
}
