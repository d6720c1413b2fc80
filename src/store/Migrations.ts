// Brings the schema of the database up to this version at start; each migration runs once, in one transaction.
import { Migrator } from "@effect/sql"
import { Layer } from "effect"
import engine from "./migrations/0001_engine.ts"

const migrate = Migrator.make({})({
  loader: Migrator.fromRecord({ "0001_engine": engine })
})

export const layer = Layer.effectDiscard(migrate)
