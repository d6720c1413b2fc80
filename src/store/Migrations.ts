// Brings the schema of the database up to this version at start; each migration runs once, in one transaction.
import { Migrator } from "@effect/sql"
import { Layer } from "effect"
import engine from "./migrations/0001_engine.ts"
import history from "./migrations/0002_history.ts"
import traffic from "./migrations/0003_traffic.ts"
import alerts from "./migrations/0004_alerts.ts"

const migrate = Migrator.make({})({
  loader: Migrator.fromRecord({
    "0001_engine": engine,
    "0002_history": history,
    "0003_traffic": traffic,
    "0004_alerts": alerts
  })
})

export const layer = Layer.effectDiscard(migrate)
