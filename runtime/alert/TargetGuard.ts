// The way out as the settings have it now: whether notifications may go to private addresses is asked for each of them.
import { Effect, Layer } from "effect"
import { AlertBook } from "./AlertBook.ts"
import { Guard, make } from "./Guard.ts"

export const layer = Layer.effect(
  Guard,
  Effect.map(AlertBook, (book) => {
    const [strict, open] = [make({ allowPrivate: false }), make({ allowPrivate: true })]
    const guard = () => (book.page().settings.allowPrivateTargets ? open : strict)
    return Guard.of({
      ca: strict.ca,
      post: (post) => Effect.suspend(() => guard().post(post)),
      connect: (host, port) => Effect.suspend(() => guard().connect(host, port))
    })
  })
)
