/** Asks before something that cannot be undone: names all that goes, and wants a name typed. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Form, type Values } from './form.tsx'

type Props = {
  title: string
  /** What goes. */
  children: ComponentChildren
  /** What has to be typed; undefined asks for nothing. */
  typed?: string
  submit: string
  onConfirm(values: Values): Promise<unknown>
  onClose(): void
}

export function Confirm({ title, children, typed, submit, onConfirm, onClose }: Props) {
  const [text, setText] = useState('')
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        submit={submit}
        tone="bad"
        isDisabled={typed !== undefined && text.trim() !== typed}
        onCancel={onClose}
        onSubmit={onConfirm}
      >
        {children}
        {typed !== undefined && (
          <Field
            name="typed"
            label={words.common.typeToConfirm(typed)}
            autocomplete="off"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </Form>
    </Dialog>
  )
}
