// A long computation as steps: whoever runs it decides what happens in between.

/** Runs all steps without giving way. */
export const atOnce = <A>(steps: Iterator<void, A>): A => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
