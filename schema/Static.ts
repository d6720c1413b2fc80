// Static: what a node is, as agents send it after their start and when it changes.
import { Schema } from "effect"
import { rule } from "./Rule.ts"
import {
  deviceFields,
  Instant,
  Int,
  list,
  membersMax,
  MountDetail,
  Named,
  Num,
  opt,
  Text,
  textLengthMax,
  Uint,
  Version,
  volumeFields,
  volumesMax
} from "./Wire.ts"

const isBounded = (mounts: Readonly<Record<string, typeof MountDetail.Type>>): boolean => {
  const paths = Object.keys(mounts)
  return paths.length <= volumesMax && paths.every((path) => path.length <= textLengthMax)
}

const StaticDevice = Schema.Struct(deviceFields)
const StaticLogical = Schema.Struct({
  ...volumeFields,
  fs_type: opt(Text),
  mountpoints: opt(
    Schema.Record({ key: Schema.String, value: MountDetail }).pipe(
      rule(isBounded, "meaning", `must hold at most ${volumesMax} paths of at most ${textLengthMax} characters`)
    )
  )
})
const StaticFilesystem = Schema.Struct({
  path: Named,
  device: opt(Text),
  mountpoint: opt(Text),
  total: opt(Uint),
  fs_type: opt(Text),
  inodes_total: opt(Uint)
})
const StaticArray = Schema.Struct({
  name: Named,
  level: opt(Text),
  devices: opt(Int),
  members: opt(list(Schema.Struct({ name: Named }), membersMax))
})

export const Static = Schema.Struct({
  version: Version,
  timestamp: Instant,
  report_interval_seconds: Int.pipe(rule((n: number) => n > 0, "meaning", "must be greater than 0")),
  cpu: opt(
    Schema.Struct({
      info: opt(
        Schema.Struct({
          model_name: opt(Text),
          vendor_id: opt(Text),
          sockets: opt(Int),
          cores_physical: opt(Int),
          cores_logical: opt(Int),
          frequency_mhz: opt(Num)
        })
      )
    })
  ),
  memory: opt(Schema.Struct({ total: opt(Uint), swap_total: opt(Uint) })),
  disk: opt(
    Schema.Struct({
      physical: opt(list(StaticDevice, volumesMax)),
      logical: opt(list(StaticLogical, volumesMax)),
      filesystems: opt(list(StaticFilesystem, volumesMax)),
      base_io: opt(list(Schema.Struct({ kind: Named, ...deviceFields, role: opt(Text) }), volumesMax))
    })
  ),
  system: Schema.Struct({
    hostname: Named,
    os: Named,
    platform: Named,
    platform_version: Named,
    kernel_version: Named,
    arch: Named
  }),
  raid: opt(
    Schema.Struct({
      supported: opt(Schema.Boolean),
      available: opt(Schema.Boolean),
      arrays: opt(list(StaticArray, volumesMax))
    })
  )
}).annotations({ identifier: "Static", description: "What a node is: hardware, system, capacities." })
export type Static = typeof Static.Type
