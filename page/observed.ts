/** A value that components follow. */
import { useEffect, useState } from 'preact/hooks'

export type Observed<T> = {
  get(): T
  set(value: T): void
  subscribe(changed: () => void): () => void
}

export function observed<T>(initial: T): Observed<T> {
  let value = initial
  const subscribers = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      value = next
      for (const changed of subscribers) changed()
    },
    subscribe(changed) {
      subscribers.add(changed)
      return () => subscribers.delete(changed)
    },
  }
}

export function useObserved<T>({ get, subscribe }: Observed<T>): T {
  const [value, setValue] = useState(get)
  useEffect(() => {
    const update = () => setValue(get)
    // It may have changed between the first render and this effect.
    update()
    return subscribe(update)
  }, [get, subscribe])
  return value
}
