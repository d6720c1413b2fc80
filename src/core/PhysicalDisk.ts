// Which SMART devices are real disks whose temperature is worth keeping (contract 3.3.1), all case-insensitive.
import type { SmartDevice } from "../../schema/Report.ts"

const virtualStart = /^(?:md|dm-|vd|xvd)/
const virtualPart = /raid:|:md|\/dev\/md|\/dev\/dm-|\/dev\/mapper|\/dev\/vd|\/dev\/xvd/
const virtualModel = /raid|virtual|virtio|qemu|vmware|xen|vbox|hyper-v/
const diskProtocol = /nvme|ata|sata|sat/

const low = (text: string | null | undefined): string => text?.trim().toLowerCase() ?? ""

/** True when the device has a temperature above zero and nothing about it looks virtual. */
export const hasDiskTemperature = (device: SmartDevice): boolean => {
  const temp = device.temp_c
  if (temp === undefined || temp === null || temp <= 0) return false
  const names = [low(device.name), low(device.device_path), low(device.ref)]
  if (names.some((name) => virtualStart.test(name) || virtualPart.test(name))) return false
  const protocol = `${low(device.protocol)} ${low(device.device_type)}`
  if (virtualModel.test(`${protocol} ${low(device.model)}`)) return false
  return (
    diskProtocol.test(protocol) || (protocol.includes("scsi") && (low(device.serial) !== "" || low(device.wwn) !== ""))
  )
}

/** Names of the devices with a temperature, without repeats, in report order. */
export const temperatureDevices = (devices: ReadonlyArray<SmartDevice>): ReadonlyArray<string> => [
  ...new Set(devices.filter(hasDiskTemperature).map((device) => device.name.trim()))
]
