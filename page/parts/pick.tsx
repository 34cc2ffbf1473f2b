/** Fields that choose: from a list, and yes or no. */
import type { ComponentChildren } from 'preact'
import { useDescribed } from './field.tsx'
import { Mistake } from './form.tsx'

type PickProps = {
  name: string
  label: ComponentChildren
  hint?: ComponentChildren
  options: readonly { value: string | number; label: string }[]
  defaultValue?: string | number
  value?: string | number
  onChange?(value: string): void
}

export function Pick({ name, label, hint, options, defaultValue, value, onChange }: PickProps) {
  const { id, control } = useDescribed(name, hint)
  const initial = value ?? defaultValue
  return (
    <div class="field">
      <label class="label" for={id}>
        {label}
      </label>
      <select
        {...(value !== undefined && { value })}
        onChange={({ currentTarget }) => onChange?.(currentTarget.value)}
        {...control}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === initial}>
            {option.label}
          </option>
        ))}
      </select>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <Mistake id={`${id}-mistake`} name={name} />
    </div>
  )
}

type CheckProps = {
  name: string
  label: ComponentChildren
  hint?: ComponentChildren
  value?: string
  defaultChecked?: boolean
  checked?: boolean
  onChange?(isChecked: boolean): void
}

export function Check({ name, label, hint, value = 'yes', onChange, ...checked }: CheckProps) {
  const { id, control } = useDescribed(name, hint)
  return (
    <div class="check">
      <input
        type="checkbox"
        value={value}
        onChange={({ currentTarget }) => onChange?.(currentTarget.checked)}
        {...checked}
        {...control}
      />
      <div>
        <label for={id}>{label}</label>
        {hint && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}
