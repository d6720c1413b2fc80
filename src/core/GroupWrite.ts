// Checks the write form of a group; creating and changing have codes of their own.
import { Either } from "effect"
import { InvalidFields, InvalidName, InvalidRequest, NoFields } from "../../schema/Errors.ts"
import { groupNameMax, groupRemarkMax, type GroupWrite } from "../../schema/Group.ts"
import { lineOf, paragraphOf } from "./Line.ts"

export interface NewGroup {
  readonly name: string
  readonly remark: string
}

/** Absent members stay as they are. */
export interface GroupChanges {
  readonly name?: string
  readonly remark?: string
}

const nameOf = (write: GroupWrite) => lineOf(write.name ?? "", groupNameMax)
const remarkOf = (write: GroupWrite) => paragraphOf(write.remark ?? "", groupRemarkMax)

/** A group to create: the name is required, the remark defaults to nothing. */
export const newGroup = (write: GroupWrite): Either.Either<NewGroup, InvalidName | InvalidRequest> =>
  Either.gen(function* () {
    const name = yield* Either.mapLeft(nameOf(write), (why) => new InvalidName({ message: `name ${why}` }))
    const remark = yield* Either.mapLeft(remarkOf(write), (why) => new InvalidRequest({ message: `remark ${why}` }))
    return { name, remark }
  })

/** What a group is to become; null means "not given". */
export const groupChanges = (write: GroupWrite): Either.Either<GroupChanges, InvalidFields | NoFields> =>
  Either.gen(function* () {
    const refuse = (member: string) => (why: string) => new InvalidFields({ message: `${member} ${why}` })
    const isNamed = (write.name ?? null) !== null
    const isRemarked = (write.remark ?? null) !== null
    const name = isNamed ? { name: yield* Either.mapLeft(nameOf(write), refuse("name")) } : {}
    const remark = isRemarked ? { remark: yield* Either.mapLeft(remarkOf(write), refuse("remark")) } : {}
    if (!isNamed && !isRemarked) {
      return yield* Either.left(new NoFields({ message: "the body holds neither name nor remark" }))
    }
    return { ...name, ...remark }
  })
