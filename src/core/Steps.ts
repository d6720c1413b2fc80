// A long computation as steps: whoever runs it decides what happens in between.

/** Runs all steps without giving way, and without what they would wait for. */
export const atOnce = <A>(steps: Iterator<unknown, A>): A => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
